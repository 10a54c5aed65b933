"""The training part is got through a real pip from a mirror on this computer that breaks, lies or is not there."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.api.training_part import PartState
from core.base.problems import BadInput, Busy, NoSpace, UserProblem
from core.parts import choice, part
from core.parts.getting import Getting
from core.parts.wheels import pins_of
from tests.process.mirror import Mirror, lock, mirrored, wheel
from tests.process.small_disk import small_disk

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore::DeprecationWarning:pip")]
TORCH = {"torch/__init__.py": b"", "torch/lib/big.bin": random.Random(1).randbytes(2_000_000)}


class World:
    """A lock of tiny wheels, the mirror that has them, and a home."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.locked, self.wheels = folder, folder / "home", folder / "locked", folder / "wheels"
        self.other = wheel(self.wheels, "transformers", files={"transformers.py": b"", "tf-1.0.data/scripts/run": b"x"})
        self.put_torch(TORCH)
        lock(self.locked, "build")
        lock(self.locked, "run", self.other)
        self.waits: list[float] = []
        self.steps: list[str] = []

    def put_torch(self, files: dict[str, bytes]) -> Path:
        """Have the mirror give this torch, and the lock name it."""
        self.torch = wheel(self.wheels, "torch", "1.0+cpu", files=files)
        lock(self.locked, choice.lock_name("cpu"), self.torch)
        return self.torch

    def get(self, build: str = "cpu", *, folder: Path | None = None) -> Path:
        def tell(progress) -> None:
            assert 0 <= progress.share <= 1
            assert progress.done_bytes <= progress.total_bytes
            self.steps.append(progress.step)

        getting = Getting(self.home, build, tell, folder=folder, locked=self.locked, sleep=self.waits.append)
        return asyncio.run(getting.run())

    @property
    def state(self) -> PartState:
        return part.current(self.home, self.locked)[0]

    def kept(self) -> set[str]:
        return {path.name.partition("-")[0] for path in part.room(self.home).iterdir()}


@pytest.fixture(autouse=True)
def plain_pip(monkeypatch):
    """Only the mirror is asked."""
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr("core.parts.choice.PYTORCH", "http://127.0.0.1:9/whl/")
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


@pytest.fixture
def mirror(world, monkeypatch):
    with mirrored(world.wheels) as server:
        monkeypatch.setenv("PIP_INDEX_URL", server.index)
        yield server


def test_part_is_got_and_used(world, mirror: Mirror, monkeypatch):
    assert part.state_of(world.home, world.locked) is not PartState.HERE
    path = world.get()
    assert {"torch", "transformers.py", "part.json"} < {each.name for each in path.iterdir()}
    assert world.kept() == {"cpu", "current", "lock"}
    assert world.steps[0] == "looking"
    assert {"downloading", "unpacking", "trying"} < set(world.steps)
    assert part.state_of(world.home, world.locked) is PartState.HERE
    monkeypatch.setenv("PYTHONPATH", "/own")
    part.use(world.home, locked=world.locked, whole=True)
    assert os.environ["PYTHONPATH"] == os.pathsep.join((str(path), "/own"))
    said = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__file__)"], capture_output=True, text=True, check=True
    )
    assert said.stdout.startswith(str(path))
    part.remove(world.home)
    part.use(world.home, locked=world.locked)
    assert os.environ["PYTHONPATH"] == "/own"
    assert world.state is PartState.MISSING


def test_download_cut_off_twenty_times_goes_on(world, mirror: Mirror):
    mirror.cut_after, mirror.cuts = 90_000, 20
    size = world.torch.stat().st_size + world.other.stat().st_size
    world.get()
    assert mirror.cuts == 0
    assert len([begin for begin in mirror.begun if begin]) == 20
    assert mirror.sent == size  # nothing twice
    assert world.state is PartState.HERE


def test_attempt_goes_on_where_the_last_one_ended(world, mirror: Mirror):
    mirror.cut_after, mirror.cuts = 1_500_000, 1
    hidden = world.other.rename(world.folder / "hidden.whl")
    with pytest.raises(UserProblem, match=r"No place that pip asks has transformers 1\.0"):
        world.get()
    hidden.rename(world.other)
    cache = part.room(world.home) / "downloads"
    (cache / f"{world.torch.name}.part").write_bytes(world.torch.read_bytes()[:1_500_000])
    world.get()
    assert 1_500_000 in mirror.begun
    assert mirror.sent < 1_000_000


def test_connection_that_never_comes_back_is_told(world, mirror: Mirror):
    mirror.cut_after, mirror.cuts = 0, 1000
    with pytest.raises(UserProblem, match="broke, and does not come back") as told:
        world.get()
    assert "goes on where it was" in told.value.hint
    assert world.waits[-1] > world.waits[0]
    assert world.state is PartState.MISSING


def test_file_with_another_hash_is_refused(world, mirror: Mirror):
    wheel(world.wheels, "torch", "1.0+cpu", files={"torch/__init__.py": b"# something else"})
    with pytest.raises(UserProblem, match=r"torch-1\.0\+cpu-py3-none-any\.whl is not the file that"):
        world.get()
    assert world.kept() == {"downloads", "lock"}
    assert not list((part.room(world.home) / "downloads").glob("torch*"))


def test_absent_index_is_told(world, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(UserProblem, match="or none answers") as told:
        world.get()
    assert "training-part get --from" in told.value.hint


def test_proxy_alone_knows_the_index(world, mirror: Mirror, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple/")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "index.invalid")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(UserProblem, match="or none answers"):
        world.get()
    monkeypatch.setenv("http_proxy", mirror.index.removesuffix("/simple/"))
    monkeypatch.setenv("no_proxy", "")
    world.get()
    assert world.state is PartState.HERE


def test_folder_of_wheels_is_enough(world):
    assert world.get(folder=world.wheels).name.startswith("cpu-")
    assert world.state is PartState.HERE
    world.other.unlink()
    with pytest.raises(BadInput, match="does not have transformers"):
        world.get(folder=world.wheels)
    assert world.state is PartState.HERE


def test_build_without_hashes_is_refused(world):
    with pytest.raises(BadInput, match=r"does not know the hashes of the build rocm7\.2"):
        world.get("rocm7.2")


def test_torch_that_does_not_start_leaves_the_last_part(world):
    before = world.get(folder=world.wheels)
    world.put_torch({"torch/__init__.py": b"raise ImportError('libcuda.so.1 is missing')"})
    with pytest.raises(UserProblem, match=r"does not start: ImportError: libcuda\.so\.1 is missing"):
        world.get(folder=world.wheels)
    assert before.is_dir()
    assert world.state is PartState.OLD
    assert not list(part.room(world.home).glob(".new-*"))


def test_wheel_that_leaves_its_folder_is_refused(world):
    world.put_torch({"../../evil.py": b"", **TORCH})
    with pytest.raises(BadInput, match="outside of its folder"):
        world.get(folder=world.wheels)
    assert not list(world.folder.rglob("evil.py"))


def test_second_program_waits_for_the_first(world):
    part.room(world.home).mkdir(parents=True)
    code = "import asyncio, sys; from pathlib import Path; from core.system.file_lock import held\n"
    code += "async def hold():\n  async with held(Path(sys.argv[1]), patience_s=1, otherwise=Exception()):\n"
    code += "    print('held', flush=True); sys.stdin.read()\nasyncio.run(hold())"
    words = [sys.executable, "-c", code, str(part.room(world.home) / "lock")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(Busy, match="being downloaded already"):
            world.get(folder=world.wheels)
        other.stdin.close()
    world.get(folder=world.wheels)


@pytest.mark.parametrize("times", [3, 1000])
def test_file_that_an_antivirus_holds_is_waited_for(world, monkeypatch, times):
    moves, own = [], Path.replace

    def replace(path: Path, target: Path) -> Path:
        if path.name.startswith(".new-"):
            moves.append(path)
            if len(moves) <= times:
                raise PermissionError(13, "Access is denied")
        return own(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    if times > 12:
        with pytest.raises(Busy, match="open, an antivirus for example"):
            world.get(folder=world.wheels)
        assert world.state is PartState.MISSING
        assert not list(part.room(world.home).glob("cpu-*"))
    else:
        world.get(folder=world.wheels)
        assert len(world.waits) == times


def test_full_disk_is_told_before_and_in_the_middle(world, tmp_path, monkeypatch):
    with small_disk(tmp_path / "small", mib=3) as mounted:
        if not mounted:
            pytest.skip("needs the right to mount a file system")
        world.home = tmp_path / "small" / "home"
        with pytest.raises(NoSpace, match=r"for a while, and 0\.0 GB are free"):
            world.get(folder=world.wheels)
        monkeypatch.setattr("core.parts.getting.SPARE_BYTES", -(10**9))
        (tmp_path / "small" / "ballast").write_bytes(bytes(2_000_000))
        with pytest.raises(NoSpace, match="The disk is full"):
            world.get(folder=world.wheels)
        assert not list(part.room(world.home).glob(".new-*"))
        (tmp_path / "small" / "ballast").unlink()
        world.get(folder=world.wheels)
        assert world.state is PartState.HERE


def test_home_that_may_not_be_written_to_is_told(world):
    world.home.write_text("a file, where a folder has to be")
    with pytest.raises(UserProblem, match="could not be written") as told:
        world.get(folder=world.wheels)
    assert told.value.hint


@pytest.mark.parametrize("harm", ["a file is gone", "a file is shorter", "all is gone", "another Python"])
def test_damaged_part_is_not_used_and_got_again(world, monkeypatch, harm):
    path = world.get(folder=world.wheels)
    match harm:
        case "a file is gone":
            (path / "torch" / "__init__.py").unlink()
        case "a file is shorter":
            (path / "torch" / "lib" / "big.bin").write_bytes(b"")
        case "all is gone":
            shutil.rmtree(path)
        case "another Python":
            monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    wanted = {"all is gone": PartState.MISSING, "another Python": PartState.OLD}.get(harm, PartState.DAMAGED)
    monkeypatch.setattr(part, "own_torch", lambda _: False)
    assert part.state_of(world.home, world.locked) is wanted
    monkeypatch.delenv("PYTHONPATH", raising=False)
    part.use(world.home, locked=world.locked, whole=True)
    assert "PYTHONPATH" not in os.environ
    world.get(folder=world.wheels)
    assert part.state_of(world.home, world.locked) is PartState.HERE


def test_files_that_python_adds_are_no_damage(world):
    path = world.get(folder=world.wheels)
    (path / "torch" / "__pycache__").mkdir()
    (path / "torch" / "__pycache__" / "x.pyc").write_bytes(b"compiled")
    assert part.is_whole(path)


def test_pins_are_those_whose_marker_holds():
    first, second = (f" \\\n    --hash=sha256:{digit * 64}" for digit in "01")
    text = f"--only-binary :all:\n# digest\na==1 ; x{first}{second}\nb==2+cpu ; y{first}\nc==3{second}\n"
    found = list(pins_of(text, lambda marker: marker == "x"))
    assert [(pin.name, pin.version, len(pin.hashes)) for pin in found] == [("a", "1", 2), ("c", "3", 1)]


def test_mirror_that_sends_without_end_is_left(world, mirror: Mirror):
    mirror.endless = True
    with pytest.raises(UserProblem, match="is not the file that"):
        world.get()
    assert mirror.sent < 20_000_000  # with what waits in the system's buffers
    assert sum(path.stat().st_size for path in part.room(world.home).rglob("*.part")) == 0


def test_mirror_that_always_begins_anew_is_given_up(world, mirror: Mirror):
    size = world.torch.stat().st_size
    mirror.ranges, mirror.cuts, mirror.cuts_after = False, 60, (size // 2, size // 4)
    with pytest.raises(UserProblem, match="broke, and does not come back"):
        world.get()
    assert mirror.sent < 6 * size


def test_torch_that_hangs_gets_a_sentence(world, monkeypatch):
    monkeypatch.setattr("core.parts.getting.TRIAL_S", 1.0)
    world.put_torch({"torch/__init__.py": b"import time; time.sleep(30)"})
    with pytest.raises(UserProblem, match="does not start: no answer in 1 s"):
        world.get(folder=world.wheels)
