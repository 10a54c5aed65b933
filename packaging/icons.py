"""Makes the program's icon in the sizes and files that systems ask for, from resources/icons/potluck.svg.

Standard library only; Qt draws, in a process that has a folder of packages with it.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from contents import run
from steps import ROOT

PICTURE = ROOT / "resources" / "icons" / "potluck.svg"
SIZES = (16, 32, 48, 64, 128, 256, 512)
ICNS = {"icp4": 16, "icp5": 32, "icp6": 64, "ic07": 128, "ic08": 256, "ic09": 512}
"""Kinds of pictures in Apple's icns, with their sizes."""
DRAW = """
import sys
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
for size in map(int, sys.argv[3:]):
    image = QImage(size, size, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(sys.argv[1]).render(painter)
    painter.end()
    assert image.save(f"{sys.argv[2]}/{size}.png")
"""


def draw(folder: Path, site: Path) -> dict[int, Path]:
    """Draw the icon in all sizes.

    Args:
        folder: Where the pictures come to lie.
        site: A folder of packages with Qt.

    Returns:
        Each size, in pixels, with its file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    words = (str(PICTURE), str(folder), *map(str, SIZES))
    run([sys.executable, "-B", "-c", DRAW, *words], PYTHONPATH=str(site), QT_QPA_PLATFORM="offscreen")
    return {size: folder / f"{size}.png" for size in SIZES}


def ico(pictures: dict[int, Path]) -> bytes:
    """Windows' file of icons: a header, a row for each picture, the pictures as PNG."""
    shown = {size: path.read_bytes() for size, path in pictures.items() if size <= 256}
    at = 6 + 16 * len(shown)
    head = struct.pack("<HHH", 0, 1, len(shown))
    for size, picture in shown.items():
        head += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(picture), at)
        at += len(picture)
    return head + b"".join(shown.values())


def icns(pictures: dict[int, Path]) -> bytes:
    """Apple's file of icons: each picture as PNG behind its kind and length."""
    parts = [(kind.encode(), pictures[size].read_bytes()) for kind, size in ICNS.items()]
    body = b"".join(kind + struct.pack(">I", len(picture) + 8) + picture for kind, picture in parts)
    return b"icns" + struct.pack(">I", len(body) + 8) + body
