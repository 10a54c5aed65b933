"""The program that a frozen Potluck starts as: itself, and the Python that runs its other parts.

Potluck starts its parts as `sys.executable -m MODULE`, and the training part lies in folders that PYTHONPATH names:
both are Python's business, which a program frozen by PyInstaller does not mind by itself.
"""

import os
import runpy
import sys
from multiprocessing import freeze_support
from pathlib import Path


def forget_the_loader() -> None:
    """Give children the environment that this program was given.

    PyInstaller's loader leaves the path of this folder's libraries in it.  The system's programs have others, and
    another version of Potluck that lacks one must not find it here: it would fail once this folder is gone.
    """
    if os.environ.pop("_PYI_ARCHIVE_FILE", None) is None:
        return
    given = os.environ.pop("LD_LIBRARY_PATH_ORIG", "")
    os.environ.pop("LD_LIBRARY_PATH", None)
    if given:
        os.environ["LD_LIBRARY_PATH"] = given


def main() -> int:
    """Run Potluck, or `-m MODULE` or `-c TEXT` as Python does; returns the exit code."""
    freeze_support()
    del sys.frozen  # type: ignore[attr-defined]
    forget_the_loader()
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    words = sys.argv[1:]
    if words[:1] == ["-m"]:
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return 0
    if words[:1] == ["-c"]:
        sys.argv = ["-c", *words[2:]]
        exec(words[1], {"__name__": "__main__"})  # noqa: S102 - as Python does
        return 0
    from core.system.hidden_links import own_words  # noqa: PLC0415 - only where it is what is wanted
    from core.updates.launcher import launched  # noqa: PLC0415

    program, words = Path(sys.executable), list(own_words())
    code = launched(program.parent, program.name, words)
    if code is not None:
        return code
    from core.__main__ import main as potluck  # noqa: PLC0415 - only where it is what is wanted

    return potluck(words)


if __name__ == "__main__":
    sys.exit(main())
