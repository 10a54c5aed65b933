"""The set-up's decisions, as pure functions; and its refusals, as a process."""

import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"


def test_words(parts):
    read = parts.bootstrap.read_words
    assert read(["run"]) == parts.bootstrap.Words("run", "", [])
    assert read(["run", "--headless", "--torch", "x"]).rest == ["--headless", "--torch", "x"]
    assert read(["run", "--torch", "cpu", "--json"]) == parts.bootstrap.Words("run", "cpu", ["--json"])
    assert read(["test", "--torch=cu130", "-k", "x"]) == parts.bootstrap.Words("test", "cu130", ["-k", "x"])
    for wrong in ([], ["go"], ["--help"], ["run", "--torch"], ["run", "--torch", "--json"], ["server", "x"]):
        with pytest.raises(parts.steps.SetupProblem):
            read(wrong)


def test_stamp(parts, tmp_path):
    environment = parts.environment
    stamp = tmp_path / "stamp"
    key = environment.stamp_key([b"pyproject", b"lock"], "3.11", "")
    assert not environment.is_installed(stamp, key, ("build",))
    stamp.write_text(json.dumps({"key": key, "locks": ["build", "run", "dev"]}))
    assert environment.is_installed(stamp, key, ("build", "run"))
    stamp.write_text(json.dumps({"key": key, "locks": ["build"]}))
    assert not environment.is_installed(stamp, key, ("build", "run"))
    others = {
        environment.stamp_key(*changed)
        for changed in (
            ([b"x", b"lock"], "3.11", ""),
            ([b"pyproject", b"x"], "3.11", ""),
            ([b"pyproject", b"lock"], "3.12", ""),
            ([b"pyproject", b"lock"], "3.11", "cpu"),
        )
    }
    assert len(others) == 4
    assert key not in others
    for damaged in ("", "[]", "{}", '{"key": 1, "locks": 5}', "\xff"):
        stamp.write_text(damaged, encoding="latin-1")
        assert not environment.is_installed(stamp, key, ("build",))


def test_package_that_pip_fetches_is_named(parts, tmp_path):
    progress = parts.pip_progress.PipProgress(tmp_path)

    def heard(line: str) -> str:
        progress.hear(line)
        return progress.text()

    assert heard("Requirement already satisfied: x") == "asking pip what is needed"
    assert heard("Collecting torch==2.13.0 (from potluck==0.1.0)") == "fetching torch (1 package so far)"
    assert heard("  Collecting setuptools>=75") == "fetching setuptools (2 packages so far)"
    assert heard("  Downloading torch-2.13.0-cp311.whl.metadata (26 kB)") == "fetching setuptools (2 packages so far)"
    assert heard("Processing /wheels/numpy-2.4.6-cp311.whl (from x)") == "fetching numpy (3 packages so far)"
    said = heard("  Downloading https://example.org/a/nvidia_cublas-13.0-py3.whl (821.0 MB)")
    assert said == "fetching nvidia_cublas, 821.0 MB (3 packages so far)"


def complete(site: Path, name: str, *, at: int) -> None:
    """As pip leaves a package that it has unpacked at a certain time."""
    mark = site / f"{name}-1.0.dist-info" / "INSTALLER"
    mark.parent.mkdir(exist_ok=True)
    mark.write_text("pip")
    os.utime(mark, ns=(at, at))


def test_packages_that_pip_unpacks_are_counted(parts, monkeypatch, tmp_path):
    free = 10_000_000_000
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    progress = parts.pip_progress.PipProgress(tmp_path)
    complete(tmp_path, "pip", at=1)
    complete(tmp_path, "psutil", at=1)
    progress.hear("Installing collected packages: psutil, torch, potluck")
    assert progress.text() == "unpacking psutil, 1 of 3"
    complete(tmp_path, "psutil", at=2)  # in place of an older one
    free -= 1_234_000_000
    assert progress.text() == "unpacking torch, 2 of 3, 1,234 MB written"
    (tmp_path / "torch-1.0.dist-info").mkdir()
    free += 5_000_000_000  # somebody else made room
    assert progress.text() == "unpacking torch, 2 of 3, 1,234 MB written"
    complete(tmp_path, "torch", at=3)
    assert progress.text() == "unpacking potluck, 3 of 3, 1,234 MB written"
    complete(tmp_path, "potluck", at=4)
    assert progress.text().startswith("unpacked 3 packages")


def test_pip_unpacks_where_we_look(parts):
    venv = Path(sys.prefix)
    python = parts.environment.venv_python(venv)
    if sys.prefix == sys.base_prefix or not python.exists():
        pytest.skip("this Python is of no virtual environment")
    question = "import sysconfig; print(sysconfig.get_path('purelib'))"
    said = subprocess.run([str(python), "-c", question], capture_output=True, text=True, check=True).stdout
    assert parts.environment.site_packages(venv) == Path(said.strip())


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

    def run(command, log, _steps, progress):
        assert progress.text()
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
    assert parts.steps.run_quietly([sys.executable, "-c", script], log, steps, parts.steps.Progress("x")) == 3
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


def on_a_terminal(monkeypatch, columns: int = 80) -> io.StringIO:
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda **_: os.terminal_size((columns, 24)))
    return stream


@pytest.mark.parametrize(("columns", "shown"), [(30, 29), (60, 59)])
def test_the_terminal_of_stderr_counts_wherever_stdout_goes(parts, monkeypatch, columns, shown):
    stream = on_a_terminal(monkeypatch)
    stream.fileno = lambda: 2
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    parts.steps.Steps().passing("x" * 200)
    assert len(stream.getvalue().removeprefix("\r\x1b[K")) == shown


def test_progress_on_a_terminal_is_overwritten(parts, monkeypatch):
    stream = on_a_terminal(monkeypatch, columns=40)
    clock = itertools.count().__next__
    steps = parts.steps.Steps(clock)
    steps.passing("fetching torch")
    steps.passing("fetching something with a long name")
    steps.say("installed, with more words than fit on it")
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines == [
        "",
        "[    1 s]   fetching torch",
        "[    2 s]   fetching something with a l",
        "[    3 s] installed, with more words than fit on it\n",
    ]


def test_progress_in_a_file_is_a_line_now_and_then(parts, capsys):
    now = 0.0
    steps = parts.steps.Steps(lambda: now)
    steps.say("installing")
    for _ in range(100):
        now += 1.0
        steps.passing(f"unpacking torch at {now:.0f}")
    assert capsys.readouterr().err.splitlines() == [
        "[    0 s] installing",
        "[   30 s]   unpacking torch at 30",
        "[   60 s]   unpacking torch at 60",
        "[   90 s]   unpacking torch at 90",
    ]


def test_progress_is_shown_repeatedly_while_a_command_is_silent(parts, monkeypatch, tmp_path):
    stream = on_a_terminal(monkeypatch)
    monkeypatch.setattr(parts.steps, "LOOK_EVERY_S", 0.001)
    go = tmp_path / "go"
    looks = itertools.count(1)

    class Looked(parts.steps.Progress):
        def text(self) -> str:
            number = next(looks)
            if number == 3:
                go.write_text("")
            return f"look {number}"

    script = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)"
    assert (
        parts.steps.run_quietly([sys.executable, "-c", script], tmp_path / "log", parts.steps.Steps(), Looked("")) == 0
    )
    assert all(f"look {number}" in stream.getvalue() for number in (1, 2))
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_all_checks_run_and_are_summed_up(parts, monkeypatch, capsys):
    codes = {"ruff": 1}

    def run(command, **options):
        assert options["stdin"] == subprocess.DEVNULL
        return SimpleNamespace(returncode=next((code for name, code in codes.items() if name in command), 0))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: SimpleNamespace(wait=lambda: 0))
    words = parts.bootstrap.Words("test", "", ["-k", "x"])
    assert parts.bootstrap.run_tests(Path("python"), words, parts.steps.Steps()) == 1
    assert "FAILED (exit code 1)" in (said := capsys.readouterr().err)
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


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy in which nothing is set up."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("packaging", "core", "resources"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def bare(checkout: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a copy's set-up with the standard library alone; it could fetch nothing."""
    return subprocess.run(
        [sys.executable, "-S", "-E", str(checkout / "packaging" / "bootstrap.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=checkout,
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull},
        timeout=120,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--epochs x", "--epochs: 'x' is not a whole number"),
        ("--peers 99", "--peers: 99 is not between 1 and 16"),
        ("--recipe chess", "There is no recipe 'chess'"),
        ("--torch cpu --headles --nothing", "--nothing"),
        ("--headless --torch cpu", "--torch"),
        ("--text nowhere", "There is no folder"),
        ("--home pyproject.toml", "pyproject.toml"),
        ("--home ~nobody-of-that-name/potluck", "home directory"),
        ("--text ~nobody-of-that-name/text", "home directory"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_installed(checkout, words, said):
    done = bare(checkout, "run", *words.split())
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert said in done.stderr
    assert "Nothing was installed" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (checkout / ".venv").exists()


def test_help_needs_no_set_up(checkout):
    done = bare(checkout, "run", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--epochs N" in done.stdout
    assert not (checkout / ".venv").exists()


def test_options_of_the_demo_are_passed_through(parts, tmp_path):
    read = parts.demo_options.read_demo_options
    assert not read([]).headless
    options = read(["--head", "--epochs", "5", "--text", str(tmp_path), "--home", str(tmp_path / "home"), "--json"])
    assert options.headless
    assert options.epochs == 5


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

    own = {path.stem for path in PACKAGING.rglob("*.py")} | {"core", "app"}
    for path in set(PACKAGING.glob("*.py")) - {PACKAGING / "bill.py"}:  # which runs among a release's own tools
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in names:
                assert name.partition(".")[0] in sys.stdlib_module_names | own, (path.name, name)
