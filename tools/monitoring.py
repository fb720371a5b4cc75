"""What is made for Grafana and Kubernetes of the dashboard and the rules: `python -m tools.monitoring write | check`.

The check reads each expression of PromQL, too.

deploy/grafana/rummyd.json                        of tools/dashboard.py
deploy/k8s/components/monitoring/rules.yaml       of deploy/prometheus/rules.yaml
"""

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import promql_parser
import yaml

from tools.dashboard import ROWS, dashboard

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
HEAD = """\
# Written by `make monitoring` from deploy/prometheus/rules.yaml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: rummyd
  namespace: rummyd
spec:
"""


def written() -> Iterator[tuple[Path, str]]:
    """Each file with its text."""
    yield DEPLOY / "grafana" / "rummyd.json", json.dumps(dashboard(), indent=1) + "\n"
    rules = (DEPLOY / "prometheus" / "rules.yaml").read_text()
    groups = rules[rules.index("groups:") :]
    yield DEPLOY / "k8s" / "components" / "monitoring" / "rules.yaml", HEAD + textwrap.indent(groups, "  ")


def expressions() -> Iterator[tuple[str, str]]:
    """Each expression of the rules and of the dashboard, with the name of its alert, series or panel."""
    for group in yaml.safe_load((DEPLOY / "prometheus" / "rules.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule.get("alert") or rule["record"], rule["expr"]
    for panels in ROWS.values():
        for panel in panels:
            for expression in panel.lines.values():
                yield panel.title, expression


def misread(expression: str) -> str:
    """What is wrong with an expression, once Grafana has put a duration into it; empty: nothing."""
    try:
        promql_parser.parse(expression.replace("$__rate_interval", "1m"))
    except ValueError as fault:
        return str(fault)
    return ""


def main(command: str) -> None:
    """Writes the files, or fails if one has another text, or an expression is none."""
    if faults := [f"{name}: {fault}: {text}" for name, text in expressions() if (fault := misread(text))]:
        sys.exit("\n".join(faults))
    for path, text in written():
        if command == "write":
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(
                f"{path.relative_to(DEPLOY.parent)} is not what it is made of: run `make monitoring` and commit it"
            )


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit("usage: python -m tools.monitoring write | check")
    main(sys.argv[1])
