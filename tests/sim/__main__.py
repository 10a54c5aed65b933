"""`python -m tests.sim`: the swarm's own machines in a simulated world."""

import sys

from tests.sim.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
