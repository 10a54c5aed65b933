"""`python -m tests.bench`: how fast the parts are on this computer."""

import sys

from tests.bench.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
