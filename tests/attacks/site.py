"""`python -m tests.attacks.site`: schemathesis over the page's API, for ten minutes.

It reads the page's own description (`/openapi.json`), makes questions that fit it and questions that do not, and looks
at each answer: a status of 500 or more is a mistake of ours.  Schemathesis is in no lock: install 4.32.5 in an
environment of its own, and name its program.
"""

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.process.test_site_browser import served, written_down
from tests.unit.site.views import view

CHECKS: Final = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
RUN_EXAMPLES: Final = 200
"""Questions of one address in one run; runs follow each other until the time is over, each with its own seed."""


def main() -> int:
    """Ask; returns 1 where an answer was not as described."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.site", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, metavar="N", help="default: 600")
    parser.add_argument("--schemathesis", default="schemathesis", metavar="PROGRAM", help="default: that of the PATH")
    words = parser.parse_args()
    program = shutil.which(words.schemathesis)
    if program is None:
        sys.stderr.write("There is no schemathesis: pip install schemathesis==4.32.5, and name it.\n")
        return 2
    until, runs, failed = time.monotonic() + words.seconds, 0, 0
    with tempfile.TemporaryDirectory(prefix="potluck-site-") as folder:
        asyncio.run(written_down(view(), Path(folder)))
        with served(view(), Path(folder)) as address:
            while time.monotonic() < until:
                runs += 1
                options = ["--checks", CHECKS, "--max-examples", str(RUN_EXAMPLES), "--seed", str(runs)]
                done = subprocess.run([program, "run", f"{address}/openapi.json", *options], cwd=folder, check=False)
                failed += done.returncode != 0
    sys.stdout.write(f"{runs} runs, {failed} with an answer that is not as described\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
