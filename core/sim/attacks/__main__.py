"""The program behind `python -m core.sim.attacks`."""

import sys

from core.sim.attacks.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
