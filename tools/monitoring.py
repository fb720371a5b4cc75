"""What is made for Grafana and Kubernetes of the dashboard and the rules: `python -m tools.monitoring write | check`.

deploy/grafana/rummyd.json                        of tools/dashboard.py
deploy/k8s/components/monitoring/rules.yaml       of deploy/prometheus/rules.yaml
"""

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tools.dashboard import dashboard

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


def main(command: str) -> None:
    """Writes the files, or fails if one has another text."""
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
