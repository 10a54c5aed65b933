"""`python -m core`: the same program as `potluck`."""

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with these arguments (the process's own when None); returns the exit code.

    What this process and its children create is for its owner only: logs and folders too.
    """
    os.environ.setdefault("POTLUCK_UMASK", f"{os.umask(0o077):o}")  # for what is made to be served
    try:
        from core.cli.program import run  # noqa: PLC0415 - so that an import of this module stays cheap

        return run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
