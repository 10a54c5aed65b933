"""Makes and checks the lock of what is installed (`resources/locked`, explained in lock_files.py).

    python3 packaging/lock.py check          whether the lock fits pyproject.toml; no network
    python3 packaging/lock.py renew          after a change of pyproject.toml; keeps versions that still fit
    python3 packaging/lock.py upgrade        takes the newest versions of what pyproject.toml does not pin
    python3 packaging/lock.py torch LABEL    writes down torch's build LABEL, such as cpu, as pip finds it here

Standard library only.  Versions are chosen by uv, for all systems at once; uv comes by its own hash into an environment
that is thrown away.  `renew` and `upgrade` read the public index, or the one that uv's own settings name; `torch` reads
pip's.  No place that packages come from stands in the lock.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

import lock_files
from environment import venv_python
from steps import ROOT, SetupProblem

WORDS = "Say what to do: python3 packaging/lock.py check, renew, upgrade, or torch LABEL"
EXTRAS = {
    "base": ("app",),
    "run": ("train", "app"),
    "organiser": ("train", "app", "organiser"),
    "test": ("train", "app", "organiser", "dev"),
}
ALONE = {"uv": "lock", "pip": "packaged", "release": "release"}
"""Files of what is installed apart from the rest, each with the extra that names it."""
SOURCE_ONLY = ("xcffib",)
"""Packages without wheels.  They are built with what `build.txt` locks; a new one here has to be looked at for that."""
SYSTEMS = {
    "Linux, x86-64, glibc 2.34": "x86_64-manylinux_2_34",
    "Linux, aarch64, glibc 2.39": "aarch64-manylinux_2_39",
    "Windows, x86-64": "x86_64-pc-windows-msvc",
    "macOS 14, arm64": "aarch64-apple-darwin",
}
LABEL = re.compile(r"[a-z0-9.]+")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
BUILDING = ("--only-binary", ":all:", *(word for name in SOURCE_ONLY for word in ("--no-binary", name)))
COMMENT = "Made by packaging/lock.py; do not edit: docs/decisions/0021-locks.md says how it is renewed."


class Tools:
    """uv and pip in an environment of their own, which goes with the folder that it lies in.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder / "tools", with_pip=True)
        self._python = venv_python(folder / "tools")

    def run(self, *words: str, **variables: str) -> str:
        """What `python -m WORDS` prints.

        Args:
            words: The module and its words.
            variables: What its environment has besides.

        Raises:
            SetupProblem: it failed; with what it said.
        """
        return self._run(["-m", *words], variables)

    def script(self, path: Path, *words: str, **variables: str) -> None:
        """Run a program of this checkout with what is installed.

        Args:
            path: The program.
            words: Its words.
            variables: What its environment has besides.

        Raises:
            SetupProblem: it failed; with what it said.
        """
        self._run([str(path), *words], variables)

    def _run(self, words: list[str], variables: dict[str, str]) -> str:
        environ = {"MACOSX_DEPLOYMENT_TARGET": "14.0", **os.environ, **variables}
        done = subprocess.run(
            [str(self._python), *words], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SetupProblem(f"{' '.join(words[:2])} failed:\n{done.stderr or done.stdout}".rstrip())
        return done.stdout

    def install_locked(self, name: str) -> None:
        """Install what a file of the lock names, by its hashes."""
        hashed = ("--require-hashes", "--only-binary", ":all:", "-r", str(lock_files.lock_path(name)))
        self.run("pip", "install", "--quiet", *hashed)

    def install_uv(self) -> None:
        """Install uv as locked, or as pinned in pyproject.toml where no lock of it exists or another one is pinned."""
        pinned = project()["optional-dependencies"]["lock"][0]
        path = lock_files.lock_path("uv")
        if path.exists() and pinned in lock_files.pins(path.read_text(encoding="utf-8")):
            self.install_locked("uv")
        else:
            self.run("pip", "install", "--quiet", "--only-binary", ":all:", pinned)

    def compile(self, *wanted: str, known: str = "", words: tuple[str, ...] = ("--universal",)) -> str:
        """The packages that requirements lead to, with hashes, as pip reads them.

        Args:
            wanted: Requirements, and `extra:NAME` for those of pyproject.toml with that extra.
            known: An earlier result: its versions are kept where they fit.
            words: For which system; all of them at once unless something else is said.
        """
        asked, made = self.folder / "asked.in", self.folder / "made.txt"
        asked.write_text("\n".join(word for word in wanted if not word.startswith("extra:")), encoding="utf-8")
        made.write_text(known, encoding="utf-8")
        extras = [word.replace("extra:", "--extra=") for word in wanted if word.startswith("extra:")]
        sources = [str(asked), *(["pyproject.toml"] if extras else [])]
        version = () if "--python-version" in words else ("--python-version", PYTHONS[0])
        options = ("--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(made))
        self.run("uv", "pip", "compile", "--quiet", *words, *version, *BUILDING, *options, *extras, *sources)
        return made.read_text(encoding="utf-8")


def project() -> dict[str, dict[str, list[str]]]:
    """The table `project` of pyproject.toml."""
    loaded: dict[str, dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return loaded


def write(name: str, chosen: dict[str, str], options: str = "") -> None:
    """Write one file of the lock."""
    path = lock_files.lock_path(name)
    path.write_text(lock_files.sealed(COMMENT, options + "".join(chosen.values())), encoding="utf-8", newline="\n")
    print(f"{path.relative_to(ROOT)}: {len(chosen)} packages")


def renew(tools: Tools, *, upgrade: bool) -> None:
    """Write the lock anew, all but other builds of torch, and see that each system finds a file for each package."""
    tools.install_uv()
    building = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    names = ("build", "base", "run", "organiser", "dev", "torch")
    old = [path.read_text("utf-8") for path in map(lock_files.lock_path, names) if path.exists()]
    kept = "" if upgrade else "".join(lines for text in old for lines in lock_files.pins(text).values())
    extras = {name: [f"extra:{extra}" for extra in of] for name, of in EXTRAS.items()}
    everything = lock_files.pins(tools.compile(*building, *extras["test"], known=kept))
    whole = "".join(everything.values())

    def closure(*wanted: str, words: tuple[str, ...] = ("--universal",)) -> set[str]:
        """Names of what requirements lead to, in the versions chosen."""
        pins = lock_files.pins(tools.compile(*wanted, known=whole, words=words))
        versions, chosen = (set(map(lock_files.name_and_version, of)) for of in (pins, everything))
        assert words != ("--universal",) or versions <= chosen, "versions chosen twice differ"
        return {lock_files.name_and_version(pin)[0] for pin in pins}

    torch = next(pin for pin in everything if pin.startswith("torch=="))
    plain = closure(torch, words=("--python-platform", SYSTEMS["macOS 14, arm64"]))
    parts = {"build": closure(*building), "torch": closure(torch) - plain | {"torch"}}
    for name in ("base", "run", "organiser"):
        parts[name] = closure(*extras[name]).difference(*parts.values())
    parts["dev"] = {lock_files.name_and_version(pin)[0] for pin in everything}.difference(*parts.values())
    options = "".join(f"{BUILDING[i]} {BUILDING[i + 1]}\n" for i in range(0, len(BUILDING), 2))
    for name, members in parts.items():
        chosen = {pin: text for pin, text in everything.items() if lock_files.name_and_version(pin)[0] in members}
        write(name, chosen, options if name == "base" else "")
    for name, extra in ALONE.items():
        write(name, lock_files.pins(tools.compile(*project()["optional-dependencies"][extra])))
    seal_other_builds(lock_files.name_and_version(torch)[1])
    for said, system in SYSTEMS.items():
        for version in PYTHONS:
            words = ("--python-platform", system, "--python-version", version)
            count = len(lock_files.pins(tools.compile(*building, *extras["test"], known=whole, words=words)))
            print(f"{said}, Python {version}: {count} packages, a file for each")


def seal_other_builds(version: str) -> None:
    """Keep other builds of torch that are of this version, and drop those of another one."""
    for path in sorted(lock_files.lock_path("torch").parent.glob("torch-*.txt")):
        chosen = lock_files.pins(path.read_text(encoding="utf-8"))
        if ("torch", version) in map(lock_files.name_and_version, chosen):
            write(path.stem, chosen)
        else:
            path.unlink()
            print(f"{path.relative_to(ROOT)}: removed, it was of another version; make it again: lock.py torch LABEL")


def add_torch(tools: Tools, label: str) -> None:
    """Write down a build of torch as pip finds it on this machine, and what it needs beyond the rest of the lock.

    What was written down on machines of other kinds stays.
    """
    lock_files.check()
    rest = {name: lock_files.lock_path(name).read_text("utf-8") for name in lock_files.SETS["test"]}
    locked = {lock_files.name_and_version(pin)[0] for text in rest.values() for pin in lock_files.pins(text)}
    constraints = tools.folder / "constraints.txt"
    constraints.write_text("".join(f"{pin}\n" for text in rest.values() for pin in lock_files.pins(text)), "utf-8")
    report = tools.folder / "report.json"
    wanted = f"{lock_files.torch_pin()}+{label}"
    options = ("--dry-run", "--ignore-installed", "--only-binary", ":all:", "--constraint", str(constraints))
    tools.run("pip", "install", "--quiet", *options, "--report", str(report), wanted)
    path = lock_files.lock_path(f"torch-{label}")
    chosen = lock_files.pins(path.read_text(encoding="utf-8")) if path.exists() else {}
    here = f"sys_platform == '{sys.platform}' and platform_machine == '{platform.machine()}'"
    for found in json.loads(report.read_text(encoding="utf-8"))["install"]:
        name, version = found["metadata"]["name"].lower().replace("_", "-"), found["metadata"]["version"]
        if name in locked:
            continue
        pin = f"{name}=={version}" + ("" if name == "torch" else f" ; {here}")
        line = f"    --hash=sha256:{found['download_info']['archive_info']['hashes']['sha256']}\n"
        if line.strip() not in chosen.get(pin, ""):
            chosen[pin] = (chosen.get(pin, pin).rstrip("\n")) + " \\\n" + line
    write(path.stem, chosen)


def carry_out(command: str, label: str) -> None:
    """Do what a command says.

    Raises:
        SetupProblem: the lock is not right, or cannot be made.
    """
    if command == "check":
        lock_files.check()
        return
    with tempfile.TemporaryDirectory() as folder:
        tools = Tools(Path(folder))
        if command == "torch":
            add_torch(tools, label)
        else:
            renew(tools, upgrade=command == "upgrade")


def main(argv: list[str]) -> int:
    """Do what the words say; returns the exit code."""
    command, label = (argv[0] if argv else ""), "".join(argv[1:])
    labelled = command == "torch"
    understood = command in {"check", "renew", "upgrade", "torch"} and len(argv) == 1 + labelled
    if not understood or (labelled and not LABEL.fullmatch(label)):
        sys.stderr.write(f"{WORDS}\n")
        return 2
    try:
        carry_out(command, label)
    except SetupProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
