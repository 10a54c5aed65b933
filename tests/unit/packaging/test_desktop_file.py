"""The desktop file, by which a click on a link opens the window."""

import configparser
from pathlib import Path

from core.backbone.link import SCHEME

FILE = Path(__file__).parents[3] / "packaging" / "potluck.desktop"


def test_links_are_opened_by_the_program():
    read = configparser.ConfigParser(interpolation=None)
    read.optionxform = str
    read.read(FILE)
    entry = read["Desktop Entry"]
    assert entry["MimeType"] == f"x-scheme-handler/{SCHEME};"
    assert entry["Exec"] == "potluck %u"
