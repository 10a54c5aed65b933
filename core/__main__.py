"""`python -m core`: the same program as `potluck`."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (the process's own when None); returns the exit code."""
    try:
        from core.cli.program import run  # noqa: PLC0415 - so that an import of this module stays cheap

        return run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
