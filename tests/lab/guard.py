"""Takes a lab down when its owner's end of the pipe closes: `python -m tests.lab.guard PREFIX`."""

import signal
import sys

from tests.lab.ground import sweep

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.read()
    sweep(sys.argv[1])
