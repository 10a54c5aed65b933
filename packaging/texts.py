"""What packages say about Potluck: its version and what is new, for people and for package managers, and a man page.

Standard library only.  What is new stands in CHANGELOG.md (keepachangelog.com), the commands in docs/commands.md.
`python3 packaging/texts.py` writes it into what software centres show.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from lock import project
from steps import ROOT, SetupProblem

MAINTAINER = "The Potluck maintainers <maintainers@potluck.invalid>"
"""Who answers for a package; somebody who publishes one puts their own address here."""
ITEM = textwrap.TextWrapper(78, initial_indent="  * ", subsequent_indent="    ")
METAINFO = ROOT / "packaging" / "linux" / "org.potluck.Potluck.metainfo.xml"
_VERSION = re.compile(r"## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?")


@dataclass
class Release:
    """A version and what is new in it."""

    version: str
    date: str
    """As in 2026-11-26; empty while it is not released."""
    changes: list[str] = field(default_factory=list)


def releases(text: str) -> list[Release]:
    """The versions of a changelog, the newest first."""
    found: list[Release] = []
    for line in text.splitlines():
        if head := _VERSION.fullmatch(line):
            found.append(Release(head["version"], head["date"] or ""))
        elif found and line.startswith("- "):
            found[-1].changes.append(line[2:])
        elif found and line.startswith("  ") and found[-1].changes:
            found[-1].changes[-1] += f" {line.strip()}"
    return [one for one in found if one.version != "Unreleased"]


def version() -> str:
    """The version that pyproject.toml names."""
    return str(project()["version"])


def changes() -> list[Release]:
    """The versions that CHANGELOG.md tells of, the newest first.

    Raises:
        SetupProblem: it does not begin with this version, or does not say when it was released.
    """
    found = releases((ROOT / "CHANGELOG.md").read_text("utf-8"))
    if not found or found[0].version != version() or not found[0].date:
        raise SetupProblem(f"CHANGELOG.md has no section '## [{version()}] - YEAR-MONTH-DAY' as its first release.")
    return found


def debian_changelog(version_of_package: str) -> str:
    """The changelog as Debian Policy 4.4 has it.

    Args:
        version_of_package: What the newest entry is called.
    """
    entries = []
    for number, one in enumerate(changes()):
        name = version_of_package if number == 0 else one.version
        items = "\n".join(ITEM.fill(plain(change)) for change in one.changes)
        when = format_datetime(datetime.fromisoformat(one.date).replace(tzinfo=UTC))
        entries.append(f"potluck ({name}) stable; urgency=medium\n\n{items}\n\n -- {MAINTAINER}  {when}\n")
    return "\n".join(entries)


def metainfo(text: str) -> str:
    """What software centres show, with the changelog as AppStream's `releases` has it.

    Args:
        text: What they show now.
    """
    found = []
    for one in changes():
        items = "".join(f"<li>{escape(plain(change))}</li>" for change in one.changes)
        about = f"<description><ul>{items}</ul></description>"
        found.append(f'    <release version="{one.version}" date="{one.date}">{about}</release>\n')
    begin, rest = text.split("<releases>\n")
    return f"{begin}<releases>\n{''.join(found)}  </releases>{rest.partition('</releases>')[2]}"


def plain(text: str) -> str:
    """A line of Markdown without its marks."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).replace("`", "").replace("**", "").replace(r"\|", "|")


def man_page(commands: str) -> str:
    """The manual of all commands (man(7)) from docs/commands.md."""
    head = [
        f'.TH POTLUCK 1 "{changes()[0].date}" "Potluck {version()}"',
        ".SH NAME\npotluck \\- train one neural network together with others",
        ".SH SYNOPSIS\n.B potluck\n[\\fICOMMAND\\fR] [\\fILINK\\fR]",
        ".SH DESCRIPTION\nWithout a command the window opens.",
    ]
    for line in commands[commands.index("| command |") :].splitlines()[2:]:
        if line.startswith("## "):
            head.append(f".SH {_roff(line[3:]).upper()}")
        elif line.startswith("### "):
            head.append(f".SS {_roff(line[4:])}")
        elif line.startswith("| ") and not line.startswith("| |"):
            name, words = re.split(r"(?<!\\)\|", line.strip("| "), maxsplit=1)
            head.append(f".TP\n.B {_roff(name)}\n{_roff(words)}")
        elif line == "```":
            head.append(".PP")
        elif line and not line.startswith("|"):
            head.append(_roff(line))
    return "\n".join(head) + "\n"


def _roff(text: str) -> str:
    words = plain(text.strip()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words.startswith((".", "'")) else words


if __name__ == "__main__":
    METAINFO.write_text(metainfo(METAINFO.read_text("utf-8")), encoding="utf-8", newline="\n")
