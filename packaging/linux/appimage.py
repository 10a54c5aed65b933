"""Makes an AppImage of a program folder: one file that starts where it lies, without being installed.

    python3 packaging/linux/appimage.py DIR/potluck RUNTIME OUT

DIR/potluck is what packaging/program_folder.py makes.  RUNTIME is the program that an AppImage begins with, which
mounts the rest: runtime-x86_64 of github.com/AppImage/type2-runtime, which no package has.  Needs squashfs-tools and
git.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import contents
import icons
import texts
from deb import HERE, put
from steps import SetupProblem

COMPRESSION = "zstd"
"""What the runtime of today reads."""
BLOCK = "256K"
"""What each read unpacks: larger ones pack better, and a start takes longer."""
ELF = b"\x7fELF\x02\x01"
"""How a program of 64 bits begins."""
MARK = b"AI\x02"
"""What stands at `MARK_AT` in the runtime, so that systems know what the file is."""
MARK_AT = 8
HEADER_BYTES = 64


def elf_size(program: bytes) -> int:
    """Bytes of a program: its table of sections is the last thing in it, and what follows is the runtime's to mount."""
    start, size, count = struct.unpack_from("<Q", program, 0x28)[0], *struct.unpack_from("<HH", program, 0x3A)
    return int(start + size * count)


def runtime_of(path: Path) -> bytes:
    """The runtime that a file holds; a whole AppImage begins with one, too.

    Raises:
        SetupProblem: it is not one.
    """
    program = path.read_bytes()
    named = program.startswith(ELF) and program[MARK_AT : MARK_AT + len(MARK)] == MARK
    if not named or len(program) < HEADER_BYTES or len(program) < elf_size(program):
        raise SetupProblem(f"{path} is not the runtime of an AppImage: take runtime-x86_64 of AppImage/type2-runtime.")
    return program[: elf_size(program)]


def lay_out(tree: Path, program: Path) -> None:
    """Make the tree that the runtime mounts.

    Args:
        tree: A folder that does not exist.
        program: The program folder.
    """
    shutil.copytree(program, tree / "potluck", symlinks=True)
    put(tree / "AppRun", (HERE / "AppRun").read_text("utf-8"), mode=0o755)
    put(tree / "potluck.desktop", (HERE / "potluck.desktop").read_text("utf-8"))
    put(tree / "usr/share/metainfo" / texts.METAINFO.name, texts.METAINFO.read_text("utf-8"))
    put(tree / "potluck.svg", icons.PICTURE.read_text("utf-8"))
    (tree / ".DirIcon").symlink_to("potluck.svg")


def make(program: Path, runtime: bytes, out: Path, compression: str = COMPRESSION) -> Path:
    """Make the AppImage.

    Args:
        program: The program folder.
        runtime: What it begins with.
        out: Where it comes to lie.
        compression: As mksquashfs names it.
    """
    with tempfile.TemporaryDirectory(dir=out) as name:
        tree, packed = Path(name) / "tree", Path(name) / "packed"
        lay_out(tree, program)
        contents.settle(tree)
        words = ("-comp", compression, "-b", BLOCK, "-root-owned", "-noappend", "-no-progress")
        contents.run(["mksquashfs", str(tree), str(packed), *words])
        made = out / f"potluck-{texts.version()}-{os.uname().machine}.AppImage"
        made.write_bytes(runtime + packed.read_bytes())
        made.chmod(0o755)
    return made


def main(argv: list[str]) -> int:
    """Make it; returns the exit code."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("runtime", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--compression", default=COMPRESSION, help="gzip for a runtime from before 2023")
    options = parser.parse_args(argv)
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    try:
        made = make(options.program, runtime_of(options.runtime), out, options.compression)
    except (SetupProblem, OSError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
