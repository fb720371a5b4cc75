"""What is made from proto/, and what is checked of it: `python tools/protos.py generate | check | baseline`.

proto/gen is committed, so that running rummyd needs no compiler; `check` proves that it is what the protos give.
Nothing here uses the network: what the protos import is vendored in proto/third_party.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
THIRD_PARTY = PROTO / "third_party"
GENERATED = PROTO / "gen"
BASELINE = PROTO / "baseline.binpb"
BIN = Path(sys.executable).parent

# Google's own packages bring the code of google.api; nobody ships buf.validate for Google's runtime.
VENDORED = ["buf/validate/validate.proto"]

# What protoc generates by itself, for clients in other languages.
LANGUAGES = ["cpp", "csharp", "java", "kotlin", "objc", "php", "ruby"]


def generate() -> None:
    """Replace proto/gen by the Python of every proto; where a proto is at fault, leave it as it was."""
    with tempfile.TemporaryDirectory() as scratch:
        _write_python(Path(scratch))
        shutil.rmtree(GENERATED, ignore_errors=True)
        shutil.copytree(scratch, GENERATED)


def check() -> None:
    """Fail if a proto breaks style or compatibility or gives no stubs, or if the generated code is stale."""
    _buf("lint", str(PROTO))
    _buf("format", str(PROTO), "--path", str(PROTO / "rummy"), "--diff", "--exit-code")
    with tempfile.TemporaryDirectory() as scratch:
        image = _build(Path(scratch) / "image.binpb")
        _buf(
            "breaking", str(image), "--against", str(BASELINE), "--config", str(PROTO / "buf.yaml"), "--exclude-imports"
        )
        _check_stubs(Path(scratch))
        fresh = Path(scratch) / "gen"
        fresh.mkdir()
        _write_python(fresh)
        stale = differing(fresh, GENERATED)
    if stale:
        sys.exit("\n".join([*stale, "proto/gen is not what the protos give: run `make proto` and commit it"]))


def baseline() -> None:
    """Make the API of now what later protos are held to. A release does so; between releases it stands still."""
    _build(BASELINE)


def differing(one: Path, other: Path) -> list[str]:
    """Each file that only one of two trees has or that differs between them, as a line of text."""
    left, right = _contents(one), _contents(other)
    return [f"{name}: differs" for name in sorted(left.keys() | right.keys()) if left.get(name) != right.get(name)]


def ours() -> list[str]:
    """The protos of the API, as imports name them."""
    return sorted(path.relative_to(PROTO).as_posix() for path in (PROTO / "rummy").rglob("*.proto"))


def _check_stubs(scratch: Path) -> None:
    """Fail if protoc refuses stubs or warns. What it renames silently, tests/test_protos.py catches."""
    outputs = []
    for language in LANGUAGES:
        (scratch / language).mkdir()
        outputs.append(f"--{language}_out={scratch / language}")
    command = [str(BIN / "protoc"), f"-I{PROTO}", f"-I{THIRD_PARTY}", *outputs, *ours()]
    told = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if told.returncode or told.stderr:
        sys.exit(f"{told.stderr}protoc refuses stubs in another language, or warns of them")


def _write_python(into: Path) -> None:
    services = [name for name in ours() if re.search(r"^service ", (PROTO / name).read_text(), re.MULTILINE)]
    _protoc([f"--python_out={into}", f"--mypy_out=quiet:{into}"], ours() + VENDORED)
    _protoc([f"--grpc_python_out={into}", f"--mypy_grpc_out=quiet:{into}"], services)
    # The Python has no comments; the description of the REST API is made of them.
    _protoc(["--include_source_info", f"--descriptor_set_out={into}/rummy/v1/descriptors.binpb"], ours())


def _build(image: Path) -> Path:
    _buf("build", str(PROTO), "--path", str(PROTO / "rummy"), "--exclude-source-info", "--output", str(image))
    return image


def _contents(tree: Path) -> dict[str, bytes]:
    files = (path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in files}


def _protoc(outputs: Sequence[str], names: Sequence[str]) -> None:
    plugins = [f"--plugin=protoc-gen-{name}={BIN / f'protoc-gen-{name}'}" for name in ("mypy", "mypy_grpc")]
    _run(sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"-I{THIRD_PARTY}", *plugins, *outputs, *names)


def _buf(*arguments: str) -> None:
    _run(str(BIN / "buf"), *arguments)


def _run(*command: str) -> None:
    if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"failed with {code}: {' '.join(command)}")


COMMANDS: dict[str, Callable[[], None]] = {"generate": generate, "check": check, "baseline": baseline}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python tools/protos.py {' | '.join(COMMANDS)}")
    COMMANDS[sys.argv[1]]()
