"""The real process of the senses, on a real X server."""

import asyncio
import contextlib
import dataclasses
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import msgspec
import psutil
import pytest

from core.schedule.sensed import RuleNames, Sensed
from core.schedule.senses import owner
from core.schedule.senses.child import LINE_BYTES_MAX
from core.system.child_process import own_command
from tests.process.screens import running, screen, type_key
from tests.process.sensing import PATIENCE_S, senses, without_screen

pytestmark = pytest.mark.process

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="X, D-Bus and /proc are Linux's")


@LINUX
def test_key_press_is_told_within_fifth_of_second(tmp_path):
    async def go(environ):
        took_s = []
        async with senses(tmp_path, environ) as found:
            for _ in range(5):
                await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
                began = time.monotonic()
                await asyncio.to_thread(type_key, environ)
                _, at = await found.until(lambda sensed: sensed.idle_s == 0)
                took_s.append(at - began)
        return took_s

    with screen() as environ:
        took_s = asyncio.run(go(environ))
    assert min(took_s) < 0.2, took_s


@LINUX
def test_no_word_is_said_because_idle_time_grows(tmp_path):
    async def go(environ):
        async with senses(tmp_path, environ) as found:
            await found.until(lambda sensed: (sensed.idle_s or 0) >= 1)
            type_key(environ)
            await found.until(lambda sensed: sensed.idle_s == 0)
            words = [(await found.until(lambda sensed: (sensed.idle_s or 0) >= 1))[0]]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(6.0):
                    while True:
                        words.append((await found.until(lambda _: True))[0])
        return [dataclasses.replace(word, idle_s=None) for word in words]

    with screen() as environ:
        words = asyncio.run(go(environ))
    assert all(before != after for before, after in itertools.pairwise(words))


FULL_SCREEN = """
import sys, time, xcffib, xcffib.xproto as x
c = xcffib.connect(); root = c.get_setup().roots[0]
atom = lambda name: c.core.InternAtom(False, len(name), name).reply().atom
window = c.generate_id()
c.core.CreateWindow(root.root_depth, window, root.root, 0, 0, 300, 200, 0, x.WindowClass.InputOutput,
                    root.root_visual, x.CW.BackPixel, [root.white_pixel])
if sys.argv[1] == "full":
    c.core.ChangeProperty(x.PropMode.Replace, window, atom("_NET_WM_STATE"), x.Atom.ATOM, 32, 1,
                          [atom("_NET_WM_STATE_FULLSCREEN")])
c.core.MapWindow(window); c.flush(); time.sleep(600)
"""


@LINUX
def test_window_that_fills_the_screen_is_told(tmp_path):
    async def go(environ):
        async with senses(tmp_path, environ) as found:
            await found.until(lambda sensed: sensed.full_screen is False)
            with running([sys.executable, "-c", FULL_SCREEN, "full"], environ):
                await found.until(lambda sensed: sensed.full_screen is True)
                with running([sys.executable, "-c", FULL_SCREEN, "small"], environ):
                    await found.until(lambda sensed: sensed.full_screen is False)
                await found.until(lambda sensed: sensed.full_screen is True)
            await found.until(lambda sensed: sensed.full_screen is False)

    with screen() as environ:
        asyncio.run(go(environ))


def start_orphan(program):
    """Start a program that is no descendant of this process; returns its number."""
    return int(subprocess.check_output(["sh", "-c", f"'{program}' 60 >/dev/null & echo $!"]))


@LINUX
def test_other_programs_are_seen_and_own_ones_not(tmp_path):
    """The engine is this process here, so that what it starts itself is Potluck's; a program of init's is not."""
    other, own = tmp_path / "Some-Game", tmp_path / "own-part"
    for name in (other, own):
        shutil.copy(shutil.which("sleep"), name)

    async def go():
        async with senses(tmp_path, without_screen()) as found:
            await found.until(lambda sensed: bool(sensed.programs))
            with running([str(own), "60"], without_screen()):
                orphan = await asyncio.to_thread(start_orphan, other)
                try:
                    sensed, _ = await found.until(lambda sensed: "some-game" in sensed.programs)
                    assert "own-part" not in sensed.programs
                finally:
                    os.kill(orphan, signal.SIGTERM)
            await found.until(lambda sensed: "some-game" not in sensed.programs)

    asyncio.run(go())


@LINUX
def test_games_folder_and_price_file_are_seen(tmp_path):
    """What the rules name is told to the child that runs, and to the one that comes after it."""
    games, price = tmp_path / "Games", tmp_path / "price"
    (games / "chess").mkdir(parents=True)
    shutil.copy(shutil.which("sleep"), games / "chess" / "start")
    price.write_text("27")
    shown = tmp_path / "shown"
    shown.symlink_to(games)

    async def go():
        async with senses(tmp_path, without_screen()) as found:
            await found.until(lambda sensed: bool(sensed.programs))
            found.child.watch(RuleNames((str(shown),), str(price)))
            await found.until(lambda sensed: sensed.meter == 27.0)
            orphan = await asyncio.to_thread(start_orphan, games / "chess" / "start")
            try:
                await found.until(lambda sensed: str(shown) in sensed.programs)
                os.kill(found.child.pid, signal.SIGKILL)
                price.write_text("28")
                await found.until(lambda sensed: sensed.meter == 28.0 and str(shown) in sensed.programs)
            finally:
                os.kill(orphan, signal.SIGTERM)
            await found.until(lambda sensed: str(shown) not in sensed.programs)

    asyncio.run(go())


STREAMS = """
import socket, sys, time
kind, port = sys.argv[1:]
if kind == "udp":
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.bind(("127.0.0.1", int(port)))
else:
    desk = socket.create_server(("127.0.0.1", int(port))); seen = socket.create_connection(("127.0.0.1", int(port)))
    other = desk.accept()
time.sleep(600)
"""


@LINUX
@pytest.mark.parametrize(("kind", "port"), [("tcp", "5907"), ("udp", "47998")])
def test_streamed_desktop_counts_as_use_from_afar(kind, port):
    until_remote(False)  # an engine of another test may have that port, by chance
    with running([sys.executable, "-c", STREAMS, kind, port], without_screen()):
        until_remote(True)
    until_remote(False)


@LINUX
def test_port_of_the_engine_is_not_a_streamed_desktop():
    until_remote(False)
    told = [sys.executable, "-c", "from core.schedule.senses import owner; print(owner.remote().remote)"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as of_engine:
        of_engine.bind(("127.0.0.1", min(owner.STREAM_PORTS)))
        assert subprocess.check_output(told, text=True) == "False\n"


def until_remote(expected):
    end = time.monotonic() + PATIENCE_S
    while owner.remote().remote is not expected:
        assert time.monotonic() < end
        time.sleep(0.05)


@LINUX
def test_name_that_is_no_text_is_told_with_question_marks(tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/Caf\xe9\x1b[1m")
    shutil.copy(shutil.which("sleep"), odd)

    async def go():
        async with senses(tmp_path, without_screen()) as found:
            orphan = await asyncio.to_thread(start_orphan, odd)
            try:
                await found.until(lambda sensed: "caf??[1m" in sensed.programs)
            finally:
                os.kill(orphan, signal.SIGTERM)

    asyncio.run(go())


def test_child_that_is_killed_comes_back(tmp_path):
    async def go():
        async with senses(tmp_path, without_screen(), kept_s=0.1) as found:
            await found.until(lambda sensed: sensed != Sensed())
            pid = found.child.pid
            psutil.Process(pid).kill()
            await found.until(lambda sensed: sensed == Sensed())
            await found.until(lambda sensed: sensed != Sensed())
            assert found.child.pid not in {pid, None}
        return found.child.pid

    assert asyncio.run(go()) is None


def test_last_word_of_child_holds_until_next(tmp_path):
    """Each child says what it knows bit by bit, as the real one does, and ends."""
    count = tmp_path / "starts"
    idle = Sensed(on_battery=True, remote=False, idle_s=100.0)
    words = [[idle], [Sensed(), Sensed(on_battery=False), Sensed(on_battery=True)]]
    lines = [[msgspec.json.encode(word).decode() for word in each] for each in words]
    program = f"""
import pathlib, time
count = pathlib.Path({str(count)!r})
start = len(count.read_text()) if count.exists() else 0
count.write_text("." * (start + 1))
for line in {lines!r}[min(start, 1)]:
    print(line, flush=True)
    time.sleep(0.2)
"""

    async def go():
        async with senses(tmp_path, dict(os.environ), [sys.executable, "-c", program], kept_s=20.0) as found:
            return [(await found.until(lambda _: True))[0] for _ in range(3)]

    found = asyncio.run(go())
    assert [(sensed.on_battery, sensed.remote) for sensed in found] == [(True, False), (False, False), (True, False)]
    assert found[0].idle_s == 100.0 < found[1].idle_s < found[2].idle_s


def test_nonsense_of_child_leaves_nothing_known(tmp_path):
    good = msgspec.json.encode(Sensed(idle_s=5.0)).decode()
    for nonsense in ("'{'", """'{"idle_s": "long"}'""", f"'x' * {LINE_BYTES_MAX + 1}"):
        program = f"import sys, time; print({good!r}); print({nonsense}, flush=True); time.sleep(600)"

        async def go(program=program):
            async with senses(tmp_path, dict(os.environ), [sys.executable, "-c", program], kept_s=0.1) as found:
                await found.until(lambda sensed: sensed.idle_s == 5.0)
                await found.until(lambda sensed: sensed == Sensed())

        asyncio.run(go())


def test_child_ends_when_its_engine_is_gone(tmp_path):
    child = subprocess.Popen(
        [*own_command("senses", "core.schedule.senses"), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout.readline()
    child.stdin.close()
    assert child.wait(PATIENCE_S) == 0
    child.stdout.close()


def test_idle_child_is_cheap(tmp_path):
    async def go():
        async with senses(tmp_path, without_screen()) as found:
            await found.until(lambda sensed: sensed.busy is not None)
            process = psutil.Process(found.child.pid)
            before = sum(process.cpu_times()[:2])
            await asyncio.sleep(12)
            return sum(process.cpu_times()[:2]) - before, process.memory_full_info().uss

    spent_s, own_bytes = asyncio.run(go())
    assert spent_s / 12 < 0.01
    assert own_bytes < 24 * 2**20


def test_wrong_words_get_a_sentence():
    done = subprocess.run([sys.executable, "-m", "core.schedule.senses", "x"], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"started by Potluck's engine" in done.stderr
