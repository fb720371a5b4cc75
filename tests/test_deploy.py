"""The checks of deploy/: each finds what it is there for."""

from pathlib import Path

import pytest

from tests.conftest import Lacking
from tools import deploy

ROOT = Path(__file__).parent.parent
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [one.yaml]\n"
FINE = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  namespace: there
data:
  key: value
"""
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: one
spec:
  containers:
    - name: one
      image: one
"""


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: Lacking) -> Path:
    """An overlay of the test's own, for the tools that `make lint` installs."""
    monkeypatch.setattr(deploy, "BIN", ROOT / ".venv-deploy" / "bin")
    if not (deploy.BIN / "checkov").exists() or deploy.kubectl() is None:
        lacking("the tools of `make lint` are not installed: it was not tried what they find")
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATION)
    return tmp_path


def test_what_is_fine_passes(overlay: Path) -> None:
    """A manifest that Kubernetes knows, with nothing unsafe in it, passes, and nothing was lacking."""
    (overlay / "one.yaml").write_text(FINE)
    assert list(deploy.manifests(overlay)) == []


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (FINE.replace("\ndata:", "\ndada:"), "dada"),
        (FINE.replace("ConfigMap", "ConfigMop"), "kinds that nobody knows a schema of: ConfigMop"),
        (POD, "CKV_K8S"),
        ("kind: [", "kubectl kustomize"),
    ],
    ids=["misspelt", "unknown", "unsafe", "broken"],
)
def test_what_is_wrong_is_found(overlay: Path, manifest: str, said: str) -> None:
    """A misspelt field, an unknown kind, an unsafe pod and a file that is no manifest each fail, and are named."""
    (overlay / "one.yaml").write_text(manifest)
    with pytest.raises(deploy.CheckFailed, match=said):
        list(deploy.manifests(overlay))


@pytest.mark.parametrize(("field", "right"), [("hostnames", True), ("hostname", False)])
def test_kinds_that_others_add_are_held_to_their_schemas(overlay: Path, field: str, right: bool) -> None:
    """Kinds of the Gateway API and of the Prometheus Operator are known, and a misspelt field of theirs is found."""
    route = FINE.replace("apiVersion: v1", "apiVersion: gateway.networking.k8s.io/v1").replace("ConfigMap", "HTTPRoute")
    (overlay / "one.yaml").write_text(route.replace("data:\n  key: value", f"spec:\n  {field}: [rummy.example.com]"))
    if right:
        assert list(deploy.manifests(overlay)) == []
    else:
        with pytest.raises(deploy.CheckFailed, match=r"HTTPRoute one: \$\.spec: .*'hostname' was unexpected"):
            list(deploy.manifests(overlay))


def test_what_is_lacking_is_told_and_does_not_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that lacks its program passes in part, and the summary counts it; one that finds something fails."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(deploy, "checks", lambda: [("rules", deploy.rules)])
    assert deploy.main() == 0
    assert "rules: in part\n1 not available here:\n  rules: no promtool on PATH" in capsys.readouterr().out

    def found() -> deploy.Lacking:
        raise deploy.CheckFailed("what it says")

    monkeypatch.setattr(deploy, "checks", lambda: [("image", found)])
    assert deploy.main() == 1
    assert capsys.readouterr().out == "image: FAILED\nwhat it says\n"
