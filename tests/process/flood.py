"""A stranger in a process of its own, that connects to a TCP port again and again and says nothing.

python -m tests.process.flood PORT RATE HELD     RATE connections in a second, HELD of them open at a time
"""

import contextlib
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator


@contextlib.contextmanager
def flooded(port: int, *, rate: int, held: int = 900) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.process.flood", str(port), str(rate), str(held)]
    stranger = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        stranger.kill()
        stranger.wait()


def _flood(port: int, rate: int, held: int) -> None:
    sockets: deque[socket.socket] = deque()
    began, made = time.monotonic(), 0
    while True:
        for _ in range(int((time.monotonic() - began) * rate) - made):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
            sockets.append(one)
            made += 1
            if len(sockets) > held:
                sockets.popleft().close()
        time.sleep(0.002)


if __name__ == "__main__":
    _flood(*map(int, sys.argv[1:]))
