"""The files in `resources/locked`: each package that is installed, with the SHA-256 of every file it may come as.

Standard library only.  pip reads them (`--require-hashes`); `lock.py` writes them.

    build.txt          what builds Potluck itself, and packages of which only the source is published
    base.txt           what the engine, the command line and the window need: what a package of the system brings
    run.txt            what `run` and `server` install besides: what training needs, but torch
    organiser.txt      what `organiser` installs besides
    dev.txt            what `test` installs besides that
    torch.txt          the builds of torch that the index offers, and what only they need (NVIDIA's libraries)
    torch-LABEL.txt    another build of torch, such as 2.13.0+cpu, and what only it needs
    pip.txt            pip, which a package of the system brings besides
    release.txt        what makes packages and a release
    uv.txt             the tool that makes these files
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from steps import ROOT, SetupProblem

FOLDER = Path("resources") / "locked"
SETS = {
    "run": ("build", "base", "run"),
    "server": ("build", "base", "run"),
    "organiser": ("build", "base", "run", "organiser"),
    "test": ("build", "base", "run", "organiser", "dev"),
}
"""What each command of the bootstrap installs, besides a build of torch."""
RENEW = "python3 packaging/lock.py renew"
_DIGEST = "# digest: "
_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)")


def lock_path(name: str, root: Path = ROOT) -> Path:
    """Where the file of that name lies."""
    return root / FOLDER / f"{name}.txt"


def pins(text: str) -> dict[str, str]:
    """Each pin of a file, such as `numpy==2.4.6 ; MARKER`, with its lines, in order."""
    found: dict[str, str] = {}
    pin = ""
    for line in text.splitlines():
        if _PIN.match(line):
            pin = line.rstrip("\\ ")
            found[pin] = ""
        if pin and not line.startswith(("#", "--")):
            found[pin] += line + "\n"
    return found


def name_and_version(pin: str) -> tuple[str, str]:
    """A pin's package, and its version without the label of a build, as in 2.13.0+cpu."""
    match = _PIN.match(pin)
    assert match, pin
    return match[1], match[2].partition("+")[0]


def torch_pin(root: Path = ROOT) -> str:
    """The locked version of torch, as in `torch==2.13.0`."""
    return next(pin for pin in pins(lock_path("torch", root).read_text("utf-8")) if pin.startswith("torch=="))


def torch_lock(label: str, root: Path = ROOT) -> Path:
    """The file for the build of torch with that label; without one, for the index's own builds.

    Raises:
        SetupProblem: no such build is locked.
    """
    path = lock_path(f"torch-{label}" if label else "torch", root)
    if not path.exists():
        raise SetupProblem(
            f"The lock knows no build '{label}' of torch, so nothing was installed. If you trust the place that pip"
            f" takes it from, write its hash down with: python3 packaging/lock.py torch {label}"
        )
    return path


def digest(text: str, root: Path = ROOT) -> str:
    """Changes with a lock file's lines, and with what pyproject.toml asks for."""
    import tomllib  # noqa: PLC0415 - a Python without it is told what is needed, by bootstrap.py

    asked = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = asked["project"]
    names = ("requires-python", "dependencies", "optional-dependencies")
    wanted = [asked["build-system"]["requires"], *(project.get(name) for name in names)]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return hashlib.sha256(json.dumps([wanted, lines], sort_keys=True).encode()).hexdigest()


def sealed(comment: str, lines: str, root: Path = ROOT) -> str:
    """A lock file of these lines."""
    return f"# {comment}\n{_DIGEST}{digest(lines, root)}\n{lines}"


def check(root: Path = ROOT) -> None:
    """See that the lock is whole, and made for this pyproject.toml; takes milliseconds and no network.

    Raises:
        SetupProblem: it is not.
    """
    paths = {lock_path(name, root) for name in (*SETS["test"], "pip", "release", "torch", "uv")}
    for path in sorted(paths | set(lock_path("base", root).parent.glob("*.txt"))):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SetupProblem(f"{path} cannot be read ({error}). Write it anew with: {RENEW}") from None
        if f"{_DIGEST}{digest(text, root)}\n" not in text:
            raise SetupProblem(
                f"{path} is not what was made for this pyproject.toml: one of them has been changed since, so nothing"
                f" was installed. See what changed, then write the lock anew with: {RENEW}"
            )
