"""The dashboard and the rules of Prometheus: every name in them is of a metric that there is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from prometheus_client import REGISTRY

from service.observability import metrics
from service.observability.account import FAULTS
from tools import monitoring
from tools.dashboard import ROWS
from tools.monitoring import written

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"

SUFFIXES = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "gauge": [""]}
BY_SCRAPE = {"instance", "job", "namespace", "le"}
"""Labels that a scrape or a kind of metric adds."""


class Rule(NamedTuple):
    """An alert or a recorded series, by its name."""

    name: str
    expression: str
    alert: dict[str, str] | None


def rules() -> Iterator[Rule]:
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            yield Rule(rule.get("alert") or rule["record"], rule["expr"], rule.get("annotations"))


def shown() -> Iterator[tuple[str, str]]:
    """The title and an expression of each line on the dashboard."""
    for panels in ROWS.values():
        for panel in panels:
            for expression in panel.lines.values():
                yield panel.title, expression


def expressions() -> list[str]:
    return [expression for _, expression in monitoring.expressions()]


def series(expression: str) -> set[str]:
    """The names of the series in an expression, but for those that a rule records."""
    return set(re.findall(r"(?<![\w:])(?:rummyd|process)_\w+(?![\w:])", expression))


def given() -> dict[str, set[str]]:
    """The labels of each series that a server gives, by its name: rummyd's own, and those of the process."""
    own = {
        metric._name + suffix: set(metric._labelnames)
        for metric in metrics.every()
        for suffix in SUFFIXES[metric._type or ""]
    }
    process = {
        family.name + suffix: {"worker"}
        for family in REGISTRY.collect()
        if family.name.startswith("process_")
        for suffix in SUFFIXES[family.type]
    }
    return own | process


def test_every_series_exists() -> None:
    """What the dashboard shows and the rules look at is given by the servers."""
    used = set().union(*map(series, expressions()))
    assert len(used) > 15
    assert used - given().keys() == set()


def test_every_expression_is_one() -> None:
    """Each expression of the rules and of the dashboard is PromQL."""
    found = list(monitoring.expressions())
    assert len(found) == len(list(rules())) + len(list(shown()))
    assert [(name, fault) for name, text in found if (fault := monitoring.misread(text))] == []


@pytest.mark.parametrize(
    "wrong",
    ["sum by (job (rate(up[5m]))", "rate(up)", "histogram_quantile(0.9)", 'up{job="a}', "up[$__interval]", "a b"],
)
def test_what_is_no_expression_is_named(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """A bracket too few, a wrong argument and a variable that nobody fills in fail the check, by name."""
    monkeypatch.setattr(
        monitoring, "expressions", lambda: iter([("Fine", "rate(up[$__rate_interval])"), ("Bad", wrong)])
    )
    with pytest.raises(SystemExit, match=r"^Bad: ") as ended:
        monitoring.main("check")
    assert wrong in str(ended.value)


def test_every_recorded_series_is_read() -> None:
    """What the rules record is what alerts and the dashboard read of it, and no more."""
    recorded = {rule.name for rule in rules() if rule.alert is None}
    read = set(re.findall(r"rummyd:\w+:\w+", " ".join(expressions())))
    assert len(recorded) > 12
    assert read == recorded


def test_rummyds_are_kept_apart() -> None:
    """No rule adds up, or compares, what is of two jobs or two namespaces: each sum keeps both labels."""
    added_up = [
        (rule.name, found)
        for rule in rules()
        for found in re.findall(r"\b(?:sum|max|min|avg|count)\b(?! by \(job, namespace[,)])[^_\w]", rule.expression)
    ]
    assert added_up == []
    assert [rule.name for rule in rules() if re.search(r"\b(?:on|ignoring|group_left|vector)\b", rule.expression)] == []


def test_the_faults_that_are_promised_against_are_those_that_are_logged_as_such() -> None:
    """Alerts and dashboard count as failed what the log has as a warning or an error, but for servers that stop."""
    asked = {
        (code, reason)
        for expression in expressions()
        for code, reason in re.findall(r'code=~"([^"]*)"(?:,reason!="(\w*)")?', expression)
    }
    assert asked == {("|".join(sorted(FAULTS)), "SERVER_DRAINING")}


def test_every_metric_is_shown() -> None:
    """Each metric of rummyd's own is on the dashboard."""
    on_it = set().union(*(series(expression) for _, expression in shown()))
    own = {
        metric._name: {metric._name + suffix for suffix in SUFFIXES[metric._type or ""]} for metric in metrics.every()
    }
    assert len(own) > 12
    assert [name for name, names in own.items() if not names & on_it] == []


def test_every_label_exists() -> None:
    """What is summed by a label, or chosen by one, has that label."""
    labels = given()
    wrong = []
    for expression in expressions():
        grouped = {label.strip() for found in re.findall(r"by \(([^)]*)\)", expression) for label in found.split(",")}
        known = set().union(*(labels.get(name, set()) for name in series(expression)))
        if series(expression):
            wrong += [(expression, label) for label in grouped - known - BY_SCRAPE]
        for name, chosen in re.findall(r"(rummyd_\w+)\{([^}]*)\}", expression):
            named = set(re.findall(r"(\w+)[=!]~?", chosen)) - BY_SCRAPE
            wrong += [(expression, label) for label in named - labels.get(name, named)]
    assert wrong == []


def test_what_is_kept_covers_the_month_of_the_budgets() -> None:
    """A Prometheus of the compose file or of the guide keeps what the dashboard looks back on."""
    looked_back = [int(days) for text in expressions() for days in re.findall(r"\[(\d+)d\]", text)]
    compose = (ROOT / "deploy" / "docker-compose.yaml").read_text()
    guide = (ROOT / "docs" / "operations.md").read_text()
    for text in (compose, guide):
        (kept,) = re.findall(r"storage\.tsdb\.retention\.time=(\d+)d", text)
        assert int(kept) >= max(looked_back)
    assert f"`retention: {kept}d`" in guide


def test_promised_times_are_bounds_of_buckets() -> None:
    """A rule that counts what took no longer than a time finds a bucket that ends there."""
    bounds = {str(bound) for bound in metrics.call_seconds._upper_bounds}
    asked = set(re.findall(r'le="([^"]*)"', RULES.read_text()))
    assert asked
    assert asked <= bounds


@pytest.mark.parametrize("rule", [rule for rule in rules() if rule.alert], ids=lambda rule: rule.name)
def test_every_alert_has_a_runbook_and_a_test(rule: Rule) -> None:
    """Each alert says what is wrong, has its section in docs/operations.md, and is seen firing by promtool's test."""
    assert rule.alert
    assert rule.alert["summary"]
    assert rule.alert["description"]
    page, _, anchor = rule.alert["runbook"].partition("#")
    assert anchor == rule.name.lower()
    assert f"### {rule.name}\n" in (ROOT / page).read_text()
    assert f'alertname="{rule.name}"' in RULES.with_name("rules_test.yaml").read_text()


@pytest.mark.parametrize(
    ("path", "text"), list(written()), ids=lambda value: value.name if isinstance(value, Path) else ""
)
def test_what_is_made_is_up_to_date(path: Path, text: str) -> None:
    """The dashboard's file and the rules for Kubernetes are what `make monitoring` writes."""
    assert path.read_text() == text
