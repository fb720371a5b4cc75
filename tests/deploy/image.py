"""The image without an engine for containers: the steps of deploy/Dockerfile, done in a folder as an unprivileged user.

    with tempfile.TemporaryDirectory() as folder:
        image = build(Path(folder), python="/usr/bin/python3")
        image.start(RUMMYD_REDIS_URL=…)         what `docker run` starts, with the image's variables and no others
        image.healthy(RUMMYD_REDIS_URL=…)       what its health check ends with

What cannot be had so is the base image itself, in whose place the machine's own Python stands, and the limits of a
container. An instruction that is not known here is an error, so that nothing in the Dockerfile is passed over.
"""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dockerfile_parse

ROOT = Path(__file__).parents[2]
NOBODY = 65532
"""Who the steps are done as, where the tests run as root."""
_STEP_S = 300
_FOR_ENGINES = {"EXPOSE"}


@dataclass
class Image:
    """What a stage has come to: `/` is the folder `root`; `user` is who runs in it."""

    root: Path
    python: str
    user: int | None = None
    name: str = ""
    folder: Path = Path("/")
    variables: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)

    def start(self, **variables: str) -> subprocess.Popen[str]:
        """The container's process, which ends when it is told to; its output can be read."""
        return self._popen(self.entrypoint, self.variables | variables)

    def healthy(self, **variables: str) -> tuple[int, str]:
        """The exit status of the health check, and what it says."""
        with self._popen(self.check, self.variables | variables) as process:
            said, _ = process.communicate(timeout=_STEP_S)
        return process.returncode, said

    def run(self, command: str) -> str:
        """Does a RUN step and gives its output. pip has its settings on this machine: they say where packages are."""
        pip = {name: text for name, text in os.environ.items() if name.startswith("PIP_") or name == "SSL_CERT_FILE"}
        with self._popen(["/bin/sh", "-ec", command], pip | self.variables) as process:
            said, _ = process.communicate(timeout=_STEP_S)
        if process.returncode:
            raise RuntimeError(f"RUN {command}: {process.returncode}\n{said}")
        return said

    def set(self, name: str, text: str) -> None:
        """Sets a variable, in whose text those that are known may stand, as in `$PATH`."""
        known = {"PATH": self._path, **self.variables}
        self.variables[name] = re.sub(r"\$(\w+)", lambda found: known[found[1]], self.inside(text))

    def inside(self, text: str) -> str:
        """A text in which each absolute path is one below `root`."""
        return re.sub(r"(?<![^\s=:\"'])/(?=\w)", f"{self.root}/", text)

    @property
    def _path(self) -> str:
        return f"{Path(self.python).parent}:/usr/bin:/bin"

    def _popen(self, command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
        known = {"PATH": self._path, **variables}
        folder = Path(f"{self.root}{self.folder}")
        program = [shutil.which(command[0], path=known["PATH"]) or command[0], *command[1:]]
        return subprocess.Popen(
            program,
            cwd=folder if folder.is_dir() else self.root,
            env=known,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def build(folder: Path, python: str, dockerfile: Path = ROOT / "deploy" / "Dockerfile") -> Image:
    """The last stage of the Dockerfile, made in `folder`, which everybody may enter. `python` is the base image's."""
    user = NOBODY if os.getuid() == 0 else None
    context = folder / "context"
    for path in context_files():
        (context / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, context / path)
    stages: list[Image] = []
    text = io.BytesIO(dockerfile.read_bytes())
    for step in dockerfile_parse.DockerfileParser(fileobj=text, env_replace=False).structure:
        if step["instruction"] == "FROM":
            _finish(folder, stages)
            stages.append(_begin(folder, python, user, step["value"]))
        elif step["instruction"] != "COMMENT":
            _do(stages, context, step["instruction"], step["value"])
    return stages[-1]


def context_files() -> Iterator[str]:
    """The files that .dockerignore lets reach the builder, of those that git knows or would take in."""
    everything, *kept = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")
    ]
    if everything != "*":
        raise RuntimeError(".dockerignore leaves nothing out at first: this does not know how to read it")
    wanted = tuple(line.removeprefix("!") for line in kept if line.startswith("!"))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607  git is wherever it is
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for path in listed.stdout.splitlines():
        if (ROOT / path).is_file() and any(path == name or path.startswith(f"{name}/") for name in wanted):
            yield path


def _begin(folder: Path, python: str, user: int | None, value: str) -> Image:
    """A stage's first state: `/` is empty, but for a way to the Python of the base image."""
    root = folder / "root"
    base = folder / "base"
    root.mkdir()
    base.mkdir(exist_ok=True)
    _give(root, user)
    way = base / "python"
    way.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    way.chmod(0o755)
    return Image(root, str(way), user, name=value.partition(" AS ")[2])


def _finish(folder: Path, stages: list[Image]) -> None:
    """Puts the stage before this one aside: what is not copied from it is not there any more."""
    if stages:
        stages[-1].root = stages[-1].root.rename(folder / f"stage-{len(stages)}")


def _do(stages: list[Image], context: Path, instruction: str, value: str) -> None:  # noqa: C901  a case an instruction
    stage = stages[-1]
    match instruction:
        case "RUN":
            stage.run(stage.inside(value))
        case "COPY":
            _copy(stages, context, value)
        case "ENV":
            for pair in shlex.split(value):
                stage.set(*pair.split("=", 1))
        case "WORKDIR":
            stage.folder = Path(value)
            Path(stage.inside(value)).mkdir(parents=True, exist_ok=True)
            _give(stage.root, stage.user)
        case "USER":
            if not re.fullmatch(r"[1-9]\d{4,}:[1-9]\d{4,}", value):
                raise RuntimeError(f"USER {value}: an unprivileged user by number is wanted")
        case "HEALTHCHECK":
            stage.check = json.loads(stage.inside(value.partition(" CMD ")[2]))
        case "ENTRYPOINT":
            stage.entrypoint = json.loads(value)
        case _ if instruction not in _FOR_ENGINES:
            raise RuntimeError(f"{instruction}: this instruction is not known here")


def _copy(stages: list[Image], context: Path, value: str) -> None:
    """What is copied belongs to whoever does the steps, as it does in an engine, where that is root."""
    stage = stages[-1]
    *words, target = shlex.split(value)
    origins = {f"--from={other.name}": other.root for other in stages[:-1]}
    origin = origins[words.pop(0)] if words[0].startswith("--") else context
    end = Path(stage.inside(target)) if target.startswith("/") else Path(f"{stage.root}{stage.folder}", target)
    end.parent.mkdir(parents=True, exist_ok=True)
    for begin in (Path(f"{origin}/{word}") for word in words):
        if begin.is_dir():
            shutil.copytree(begin, end, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(begin, end / begin.name if target.endswith("/") else end)
    _give(stage.root, stage.user)


def _give(root: Path, user: int | None) -> None:
    """Makes a user the owner of all that lies there."""
    if user is not None:
        for path in (root, *root.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
