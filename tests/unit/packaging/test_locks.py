"""What is installed has the hash that the lock names: with real pip, tiny wheels in a folder, and no network."""

import base64
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
BACKEND = f"""
import zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "potluck-1.0-py3-none-any.whl"
    with zipfile.ZipFile(folder + "/" + name, "w") as file:
        file.writestr("potluck-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: potluck\\nVersion: 1.0\\n")
        file.writestr("potluck-1.0.dist-info/WHEEL", {WHEEL!r})
        file.writestr("potluck-1.0.dist-info/RECORD", "")
    return name
"""
PYPROJECT = """
[build-system]
requires = ["backend==1.0"]
build-backend = "backend"
[project]
name = "potluck"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["torch==1.0", "alpha==1.0"]
"""
INSTALL = """
import sys
sys.path.insert(0, "packaging")
import environment, steps
sys.path.append(".")
from core.parts import choice
choice.look = lambda: choice.Hardware(system="linux", driver=tuple(map(int, sys.argv[2:])))
choice.PYTORCH = "http://127.0.0.1:9/whl/"
try:
    environment.install(environment.venv_python(environment.VENV), ("build", "base", "run"), sys.argv[1], steps.Steps())
except steps.SetupProblem as problem:
    sys.exit(str(problem))
"""


def make_wheel(folder: Path, name: str, version: str = "1.0", *, needs: str = "", source: str = "") -> Path:
    """A wheel with one module."""
    head = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": source,
        f"{head}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{head}/WHEEL": WHEEL,
    }
    digests = {
        path: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        for path, text in files.items()
    }
    record = [f"{path},sha256={digest},{len(files[path])}" for path, digest in digests.items()]
    files[f"{head}/RECORD"] = "\n".join([*record, f"{head}/RECORD,,", ""])
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for path, text in files.items():
            file.writestr(path, text)
    return wheel


class Checkout:
    """A copy of packaging/ with a project of its own, its lock, and the wheels that pip finds."""

    def __init__(self, folder: Path, venv: Path, lock_files) -> None:
        self.folder = folder
        self.wheels = folder / "wheels"
        self.lock_files = lock_files
        shutil.copytree(ROOT / "packaging", folder / "packaging", ignore=shutil.ignore_patterns("__pycache__", "*.txt"))
        shutil.copytree(venv, folder / ".venv", symlinks=True)
        for name in ("core/__init__.py", "core/parts/__init__.py", "core/parts/choice.py"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        (folder / "pyproject.toml").write_text(PYPROJECT)
        self.wheels.mkdir()
        make_wheel(self.wheels, "backend", source=BACKEND)
        make_wheel(self.wheels, "alpha", needs="beta")
        make_wheel(self.wheels, "beta")
        make_wheel(self.wheels, "cuda")
        make_wheel(self.wheels, "torch", needs="cuda")
        make_wheel(self.wheels, "torch", "1.0+cpu")
        self.lock("build", "backend==1.0")
        self.lock("run", "alpha==1.0", "beta==1.0")
        for name in ("base", "organiser", "dev", "pip", "release", "uv"):
            self.lock(name)
        self.lock("torch", "torch==1.0", "cuda==1.0")
        self.lock("torch-cpu", "torch==1.0+cpu")

    def path(self, name: str) -> Path:
        return self.lock_files.lock_path(name, self.folder)

    def lock(self, name: str, *wanted: str) -> None:
        """Write one file of the lock, whole and fitting."""
        lines = ""
        for pin in wanted:
            wheel = self.wheels / f"{pin.replace('==', '-')}-py3-none-any.whl"
            lines += f"{pin} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(self.lock_files.sealed("for a test", lines, self.folder))

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run this Python in the checkout; it finds the wheels, and nothing else."""
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("PIP_")},
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(self.wheels),
                "PIP_CONFIG_FILE": os.devnull,
                "PIP_NO_CACHE_DIR": "1",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def install(self, torch: str = "", *, driver: str = "") -> subprocess.CompletedProcess[str]:
        """Install on a Linux machine, with a card of NVIDIA if it has a driver."""
        return self.python("-c", INSTALL, torch, *([driver] if driver else []))

    def installed(self) -> set[str]:
        """Names of what lies in the environment, but pip and what came with it."""
        found = (path.name.removesuffix(".dist-info") for path in (self.folder / ".venv").rglob("*.dist-info"))
        return {name for name in found if not name.startswith(("pip-", "setuptools-"))}


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """An environment with the pip of this one, which is not imported here: setuptools' shim gives up distutils then."""
    folder = tmp_path_factory.mktemp("locks") / ".venv"
    venv.create(folder, symlinks=os.name != "nt")
    [site] = folder.rglob("site-packages")
    packages = Path(importlib.metadata.distribution("pip").locate_file(""))
    for package in (packages / "pip", *packages.glob("pip-*.dist-info")):
        shutil.copytree(package, site / package.name)
    return folder


@pytest.fixture
def checkout(tmp_path, environment, parts) -> Checkout:
    return Checkout(tmp_path, environment, parts.lock_files)


def test_bootstrap_installs_and_builds_with_what_the_lock_names(checkout):
    tamper(checkout.folder / "pyproject.toml", "backend==1.0", "backend")
    make_wheel(checkout.wheels, "backend", "2.0", source="raise SystemExit('this is not the one in the lock')")
    for name in ("build", "base", "run", "organiser", "dev", "pip", "release", "uv", "torch", "torch-cpu"):
        checkout.lock(name, *checkout.lock_files.pins(checkout.path(name).read_text()))
    done = checkout.install()
    assert done.returncode == 0, done.stderr
    assert checkout.installed() == {"backend-1.0", "alpha-1.0", "beta-1.0", "torch-1.0+cpu", "potluck-1.0"}
    log = checkout.folder / ".venv" / "install.log"
    before = log.read_bytes()
    assert checkout.install().returncode == 0
    assert log.read_bytes() == before  # pip was not asked again


def test_bootstrap_installs_the_companions_of_the_build_of_torch_found(checkout):
    (checkout.wheels / "torch-1.0+cpu-py3-none-any.whl").unlink()
    done = checkout.install(driver="580")
    assert done.returncode == 0, done.stderr
    assert {"torch-1.0", "cuda-1.0"} < checkout.installed()


def test_bootstrap_never_takes_cuda_without_a_card(checkout):
    (checkout.wheels / "torch-1.0+cpu-py3-none-any.whl").unlink()
    done = checkout.install()
    assert done.returncode == 1
    assert "give torch==1.0+cpu, the build for cpu" in done.stderr
    assert "--torch plain" in done.stderr
    assert checkout.installed() == set()
    assert checkout.install("plain").returncode == 0
    assert {"torch-1.0", "cuda-1.0"} < checkout.installed()


@pytest.mark.parametrize("name", ["backend", "beta"])
def test_bootstrap_refuses_a_package_that_has_changed(checkout, name):
    make_wheel(checkout.wheels, name, source=BACKEND + "# and something else")
    done = checkout.install()
    assert done.returncode == 1
    assert "A package is not the one that resources/locked names" in done.stderr
    assert f"{name}-1.0" not in checkout.installed()
    assert not (checkout.folder / ".venv" / "potluck-stamp.json").exists()


def test_bootstrap_refuses_a_build_of_torch_that_has_changed(checkout):
    make_wheel(checkout.wheels, "torch", "1.0+cpu", source="# something else")
    done = checkout.install()
    assert "A package is not the one that resources/locked names" in done.stderr
    assert "lock.py torch LABEL" in done.stderr
    assert not any(name.startswith("torch") for name in checkout.installed())


def test_bootstrap_refuses_a_needed_package_without_a_hash(checkout):
    checkout.lock("run", "alpha==1.0")  # whole and fitting, but alpha needs beta
    done = checkout.install()
    assert done.returncode == 1
    assert "resources/locked lacks a package" in done.stderr
    assert "lock.py renew" in done.stderr
    assert not {"alpha-1.0", "beta-1.0"} & checkout.installed()


def tamper(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("resources/locked/run.txt", "--hash=sha256:", "--hash=sha256:0"),
        ("resources/locked/run.txt", "beta==1.0", "beta==1.1"),
        ("resources/locked/run.txt", "# digest", "# no digest"),
        ("resources/locked/torch-cpu.txt", "+cpu", "+cpu2"),
        ("pyproject.toml", '"alpha==1.0"', '"alpha==1.0", "gamma==1.0"'),
        ("pyproject.toml", '"backend==1.0"', '"backend==1.1"'),
        ("pyproject.toml", ">=3.11", ">=3.12"),
    ],
)
def test_a_lock_that_does_not_fit_is_refused(checkout, file, old, new):
    tamper(checkout.folder / file, old, new)
    for done in (checkout.install(), checkout.python("packaging/lock.py", "check")):
        assert done.returncode in {1, 2}
        assert "is not what was made for this pyproject.toml" in done.stderr
        assert "lock.py renew" in done.stderr
    assert checkout.installed() == set()


def test_a_lock_that_is_missing_is_refused(checkout):
    checkout.path("dev").unlink()
    done = checkout.python("packaging/lock.py", "check")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_an_unknown_build_of_torch_is_refused(checkout):
    done = checkout.install("rocm7")
    assert "python3 packaging/lock.py torch rocm7" in done.stderr
    assert checkout.installed() == set()


def test_build_of_torch_is_written_down_with_its_companions(checkout):
    make_wheel(checkout.wheels, "hip")
    make_wheel(checkout.wheels, "torch", "1.0+rocm7", needs="hip")
    assert "torch-1.0+rocm7" not in checkout.installed()
    done = checkout.python("packaging/lock.py", "torch", "rocm7")
    assert done.returncode == 0, done.stderr
    done = checkout.install("rocm7")
    assert done.returncode == 0, done.stderr
    assert {"torch-1.0+rocm7", "hip-1.0"} < checkout.installed()


def test_builds_of_another_version_of_torch_are_dropped(checkout):
    renewing = "import sys; sys.path.insert(0, 'packaging'); import lock; lock.seal_other_builds(sys.argv[1])"
    checkout.python("-c", renewing, "1.0")
    assert checkout.path("torch-cpu").exists()
    checkout.python("-c", renewing, "2.0")
    assert not checkout.path("torch-cpu").exists()


@pytest.mark.parametrize("words", [[], ["go"], ["check", "x"], ["torch"], ["torch", "../x"], ["torch", "a", "b"]])
def test_words_that_make_no_sense_are_refused(checkout, words):
    done = checkout.python("packaging/lock.py", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "check, renew, upgrade, or torch LABEL" in done.stderr


def test_the_lock_of_this_program_fits(parts):
    parts.lock_files.check()
    texts = {path.stem: path.read_text() for path in (ROOT / "resources" / "locked").glob("*.txt")}
    pins = {pin: lines for text in texts.values() for pin, lines in parts.lock_files.pins(text).items()}
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, building = tables["project"], tables["build-system"]["requires"]
    extras = [one for of in project["optional-dependencies"].values() for one in of]
    locked = {parts.lock_files.name_and_version(pin) for pin in pins}
    for wanted in (*building, *project["dependencies"], *extras):
        name, version = parts.lock_files.name_and_version(wanted.partition(";")[0])
        assert (name.lower().replace(".", "-"), version) in locked
    assert all("--hash=sha256:" in lines for lines in pins.values())
    assert not any("://" in text for text in texts.values())
