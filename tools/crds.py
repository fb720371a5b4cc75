"""The schemas of kinds that others add to Kubernetes, as deploy/k8s/schemas keeps them, from their definitions.

    .venv-deploy/bin/python tools/crds.py SOURCE FILE...    as in: tools/crds.py 'gateway-api v1.4.0' httproutes.yaml

Each FILE is a CustomResourceDefinition. Of the schema of the version that is stored the prose is left out, and no
object may have a field that the schema does not name.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

SCHEMAS = Path(__file__).resolve().parent.parent / "deploy" / "k8s" / "schemas"


def main(source: str, *files: str) -> None:
    """Writes a file for each kind."""
    for file in files:
        defined = yaml.safe_load(Path(file).read_text())["spec"]
        (version,) = (version for version in defined["versions"] if version["storage"])
        schema = strict(version["schema"]["openAPIV3Schema"])
        schema["$comment"] = (
            f"{defined['names']['kind']} of {defined['group']}/{version['name']}, from {source} (Apache-2.0)"
        )
        schema["properties"]["metadata"] = {"type": "object"}
        target = SCHEMAS / f"{defined['names']['kind']}.json"
        target.write_text(json.dumps(schema, indent=1, sort_keys=True) + "\n")


def strict(schema: Any) -> Any:
    """The schema without prose, and without room for what it does not name."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: strict(part) for name, part in schema.items() if not _is_prose(name, part)}
    if isinstance(kept.get("properties"), dict) and "type" in kept:
        kept.setdefault("additionalProperties", kept.get("x-kubernetes-preserve-unknown-fields") is True)
    return kept


def _is_prose(name: str, part: Any) -> bool:
    """Whether it is a text for people or a rule in a language of its own; a field of that name is no text."""
    return (name == "description" and isinstance(part, str)) or name == "x-kubernetes-validations"


if __name__ == "__main__":
    main(*sys.argv[1:])
