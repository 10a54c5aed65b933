"""The set-up's decisions, as pure functions; and its refusals, as a process."""

import importlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"


@pytest.fixture
def parts(monkeypatch):
    """The modules of packaging/, which import each other by their bare names."""
    monkeypatch.syspath_prepend(str(PACKAGING))
    names = ("steps", "system_libraries", "environment", "bootstrap")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    loaded = SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    yield loaded
    for name in names:
        sys.modules.pop(name, None)


def test_words(parts):
    read = parts.bootstrap.read_words
    assert read(["run"]) == parts.bootstrap.Words("run", "", [])
    assert read(["run", "--headless", "--torch", "x"]).rest == ["--headless", "--torch", "x"]
    assert read(["run", "--torch", "cpu", "--json"]) == parts.bootstrap.Words("run", "cpu", ["--json"])
    assert read(["test", "--torch=cu130", "-k", "x"]) == parts.bootstrap.Words("test", "cu130", ["-k", "x"])
    for wrong in ([], ["go"], ["--help"], ["run", "--torch"], ["run", "--torch", "--json"], ["run", "--torch="]):
        with pytest.raises(parts.steps.SetupProblem):
            read(wrong)


def test_stamp(parts, tmp_path):
    environment = parts.environment
    stamp = tmp_path / "stamp"
    key = environment.stamp_key(b"pyproject", "3.11", "")
    assert not environment.is_installed(stamp, key, ("train",))
    stamp.write_text(json.dumps({"key": key, "extras": ["train", "app", "dev"]}))
    assert environment.is_installed(stamp, key, ("train", "app"))
    stamp.write_text(json.dumps({"key": key, "extras": ["train"]}))
    assert not environment.is_installed(stamp, key, ("train", "app"))
    others = {
        environment.stamp_key(*changed)
        for changed in ((b"x", "3.11", ""), (b"pyproject", "3.12", ""), (b"pyproject", "3.11", "cpu"))
    }
    assert len(others) == 3
    assert key not in others
    for damaged in ("", "[]", "{}", '{"key": 1, "extras": 5}', "\xff"):
        stamp.write_text(damaged, encoding="latin-1")
        assert not environment.is_installed(stamp, key, ("train",))


def test_requirements(parts):
    wanted = parts.environment.requirements
    assert wanted(("train", "app"), "", "") == ["--editable", ".[train,app]"]
    assert wanted(("train",), "cpu", '"torch==2.13.0",')[-1] == "torch==2.13.0+cpu"
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert wanted(("train",), "cpu", pyproject)[-1].startswith("torch==2")


def test_pip_steps(parts):
    step = parts.steps.pip_step
    assert step("Collecting torch==2.13.0 (from potluck==0.1.0)") == "fetching torch"
    assert step("  Collecting setuptools>=75") == "fetching setuptools"
    assert step("Installing collected packages: a, b, c") == "unpacking 3 packages"
    assert step("Requirement already satisfied: x") is None


LDD = """\
/v/PySide6/Qt/plugins/platforms/libqxcb.so:
\tlinux-vdso.so.1 (0x00007ffd)
\tlibxcb-cursor.so.0 => not found
\tlibQt6Gui.so.6 => not found
\tlibxkbcommon-x11.so.0 => not found
\tlibc.so.6 => /lib/libc.so.6 (0x00007f)
/v/PySide6/Qt/lib/libQt6Gui.so.6:
\tlibEGL.so.1 => not found
\tlibxcb-cursor.so.0 => not found
"""


def test_missing_libraries(parts):
    libraries = parts.system_libraries
    missing = libraries.missing_in(LDD)
    assert missing == ["libEGL.so.1", "libxcb-cursor.so.0", "libxkbcommon-x11.so.0"]
    assert libraries.packages_for(missing, "apt-get") == ["libegl1", "libxcb-cursor0", "libxkbcommon-x11-0"]
    assert libraries.packages_for(missing, "dnf") == ["libglvnd-egl", "libxkbcommon-x11", "xcb-util-cursor"]
    assert libraries.packages_for(missing, "pacman") == ["libglvnd", "libxkbcommon-x11", "xcb-util-cursor"]
    assert libraries.packages_for(["libunknown.so.1"], "apt-get") == []
    assert libraries.install_command(["libegl1"], "apt-get")[0] == "apt-get"
    assert libraries.missing_in("") == []


def test_the_person_gets_the_exact_command(parts, monkeypatch):
    libraries = parts.system_libraries
    monkeypatch.setattr(libraries, "installer", lambda: "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(parts.steps.SetupProblem, match="sudo apt-get install -y --no-install-recommends libegl1"):
        libraries.system_install(["libegl1"], "the window needs it", parts.steps.Steps())
    monkeypatch.setattr(libraries, "installer", lambda: None)
    with pytest.raises(parts.steps.SetupProblem, match="Install: libegl1"):
        libraries.system_install(["libegl1"], "the window needs it", parts.steps.Steps())


def test_root_installs_and_updates_first_when_needed(parts, monkeypatch):
    libraries = parts.system_libraries
    codes = iter([100, 0, 0])
    commands: list[list[str]] = []

    def run(command, log, _steps):
        log.write_text("")
        commands.append(command)
        return next(codes)

    monkeypatch.setattr(libraries, "installer", lambda: "apt-get")
    monkeypatch.setattr(libraries, "run_quietly", run)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    libraries.system_install(["libegl1"], "the window needs it", parts.steps.Steps())
    assert [command[1] for command in commands] == ["install", "update", "install"]


def test_a_failed_command_shows_its_end(parts, tmp_path):
    log = tmp_path / "log"
    steps = parts.steps.Steps()
    script = "for i in range(100): print('line', i)\nraise SystemExit(3)"
    assert parts.steps.run_quietly([sys.executable, "-c", script], log, steps) == 3
    shown = parts.steps.last_lines(log).splitlines()
    assert len(shown) == parts.steps.LOG_LINES_SHOWN
    assert shown[-1] == "    line 99"


def test_a_broken_environment_is_noticed(parts, tmp_path):
    works = parts.environment.works
    assert not works(tmp_path / "none")
    broken = tmp_path / "python"
    broken.write_text("")
    broken.chmod(0o755)
    assert not works(broken)
    (tmp_path / "other").write_text("#!/bin/sh\necho 3.10\n")
    (tmp_path / "other").chmod(0o755)
    assert not works(tmp_path / "other")
    assert works(Path(sys.executable))


def test_screen(parts, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert not parts.bootstrap.has_screen({"DISPLAY": ""})
    assert parts.bootstrap.has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    monkeypatch.setattr(sys, "platform", "darwin")
    assert parts.bootstrap.has_screen({})


def test_progress_on_a_terminal_is_overwritten(parts, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    steps = parts.steps.Steps()
    steps.passing("fetching torch")
    steps.say("installed")
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().count("\r\x1b[K") == 2


def test_all_checks_run_and_are_summed_up(parts, monkeypatch, capsys):
    codes = {"ruff": 1}

    def run(command, **options):
        assert options["stdin"] == subprocess.DEVNULL
        return SimpleNamespace(returncode=next((code for name, code in codes.items() if name in command), 0))

    monkeypatch.setattr(subprocess, "run", run)
    words = parts.bootstrap.Words("test", "", ["-k", "x"])
    assert parts.bootstrap.run_tests(Path("python"), words, parts.steps.Steps()) == 1
    said = capsys.readouterr().err
    assert "FAILED (exit code 1)" in said
    assert said.count("passed in") == 3
    codes.clear()
    assert parts.bootstrap.run_tests(Path("python"), words, parts.steps.Steps()) == 0


def bootstrap(*words: str, python: str = sys.executable, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    command = [python, str(PACKAGING / "bootstrap.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


def test_nonsense_is_refused(tmp_path):
    done = bootstrap("nonsense", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bootstrap.py run" in done.stderr


def old_python() -> str | None:
    for name in ("python3.8", "python3.9", "python3.10"):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode == 0:
            return found
    return None


@pytest.mark.skipif(old_python() is None, reason="there is no old Python here")
def test_an_old_python_gets_a_sentence():
    done = bootstrap("run", python=old_python() or "")
    assert done.returncode == 2
    assert "needs Python 3.11" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", sorted(PACKAGING.glob("*.py")), ids=lambda path: path.name)
def test_it_parses_with_python_3_8(path):
    import ast

    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_only_the_standard_library_is_used():
    import ast

    own = {path.stem for path in PACKAGING.glob("*.py")}
    for path in PACKAGING.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in names:
                assert name.partition(".")[0] in sys.stdlib_module_names | own, (path.name, name)
