"""One window a home: the second start, and who else may be at its socket."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.shell.forward import forward, server_name
from app.shell.single import SingleWindow
from core.api.joined import LINK_LETTERS_MAX


def test_one_window_a_home(qt, tmp_path, until):
    first, second, other = SingleWindow(tmp_path), SingleWindow(tmp_path), SingleWindow(tmp_path / "other")
    asked, links = [], []
    first.show_asked.connect(lambda: asked.append(1))
    first.link_given.connect(links.append)
    assert first.claim()
    assert not second.claim()
    assert other.claim()
    until(lambda: asked)
    longest = f"potluck://{'x' * (LINK_LETTERS_MAX - 10)}"
    assert not second.claim(longest)
    until(lambda: links)
    assert (len(asked), links) == (2, [longest])
    first.release()
    assert second.claim()
    second.release()
    other.release()


STARTS = """
import os, sys
from pathlib import Path
from app.shell.single import SingleWindow
from core.api.joined import LINK_LETTERS_MAX
kept = []
print("ready", flush=True)
for line in sys.stdin:
    kept.append(SingleWindow(Path(line.strip())))
    print(int(kept[-1].claim()), flush=True)
os._exit(0)
"""


def test_of_two_starts_at_once_one_is_the_window(tmp_path):
    command = [sys.executable, "-c", STARTS]
    with contextlib.ExitStack() as stack:
        opened = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
        for one in opened:
            stack.enter_context(one)
            assert one.stdout.readline() == b"ready\n"
        for number in range(30):
            for one in opened:
                one.stdin.write(f"{tmp_path / str(number)}\n".encode())
                one.stdin.flush()
            assert sum(int(one.stdout.readline()) for one in opened) == 1, number


def test_window_that_others_cannot_find_says_so(qt, tmp_path, capfd):
    Path(server_name(tmp_path)).mkdir()
    window = SingleWindow(tmp_path)
    assert window.claim()
    assert "Another start will not find this window" in capfd.readouterr().err
    Path(server_name(tmp_path)).rmdir()


def test_second_start_loads_only_what_forwards(qt, tmp_path, until):
    assert not forward(tmp_path, "")
    first = SingleWindow(tmp_path)
    asked, links = [], []
    first.show_asked.connect(lambda: asked.append(1))
    first.link_given.connect(links.append)
    assert first.claim()
    script = (
        "import sys; from core.__main__ import main; "
        f"code = main(['--home', {str(tmp_path)!r}, 'potluck://there']); "
        "heavy = {'PySide6', 'app.shell.screen', 'asyncio', 'ctypes', 'msgspec'}; "
        "sys.exit(code or 3 * bool(sys.modules.keys() & heavy))"
    )
    second = subprocess.Popen([sys.executable, "-c", script])
    until(lambda: links, 20_000)
    assert (asked, links) == ([1], ["potluck://there"])
    assert second.wait(20) == 0
    first.release()
    assert not forward(tmp_path, "")


SQUATTER = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.bind(sys.argv[1])
    os.chmod(sys.argv[1], 0o777)
    os.setuid(int(sys.argv[2]))
    door.listen()
    print("here", flush=True)
    if door.accept()[0].recv(1000):
        print("got", flush=True)
"""


NOBODY = 65534
"""Another user of Linux."""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid(), reason="becomes another user")
@pytest.mark.parametrize("place", ["own folder", "shared folder"])
def test_another_user_does_not_take_the_windows_place(tmp_path, monkeypatch, place):
    name = Path(server_name(tmp_path)).name
    where = Path(server_name(tmp_path)) if place == "own folder" else Path(tempfile.gettempdir(), name)

    def program(user: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", SQUATTER, str(where), str(user)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    with program(NOBODY) as squatter:
        assert squatter.stdout.readline() == "here\n"
        assert not forward(tmp_path, "potluck://secret")
        window = SingleWindow(tmp_path)
        assert window.claim("potluck://secret")
        window.release()
        squatter.kill()
        assert squatter.stdout.read() != "got\n"
    where.unlink(missing_ok=True)
    if place == "own folder":  # the same program is given the link where it is the person's own
        with program(os.getuid()) as own:
            assert own.stdout.readline() == "here\n"
            assert forward(tmp_path, "potluck://secret")
            assert own.stdout.read() == "got\n"
        where.unlink(missing_ok=True)
