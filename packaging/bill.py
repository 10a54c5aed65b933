"""Writes what a package is made of: a bill of materials (CycloneDX) and a page with all licences.

    python packaging/bill.py SITE OUT VERSION SECONDS

SITE is a folder of packages, SECONDS the time that the bill bears.  Runs where `release.txt` of the lock is installed.
"""

from __future__ import annotations

import html
import sys
import uuid
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

TEXTS = ("LICEN", "COPYING", "NOTICE", "AUTHORS")
HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Licences</title><h1>What Potluck is made of</h1>\n'
    "<p>Python runs it, and is not part of it. Each library is as its authors published it on PyPI.</p>\n"
)


def licence(one: Distribution) -> str:
    """The licence that a library names, in a few words."""
    about = one.metadata
    told = about.get("License-Expression") or ""
    kinds = [line.rpartition("::")[2].strip() for line in about.get_all("Classifier") or [] if "License ::" in line]
    short = (about.get("License") or "").strip().partition("\n")[0]
    return told or ", ".join(kinds) or short[:80] or "see the text"


def texts(one: Distribution) -> list[str]:
    """The texts of licences that a library comes with."""
    paths = [path for path in one.files or [] if path.name.upper().startswith(TEXTS) and ".dist-info" in str(path)]
    places = [Path(str(one.locate_file(path))) for path in paths]
    return [path.read_text("utf-8", "replace") for path in sorted(places) if path.is_file()]


def page(parts: list[Distribution]) -> str:
    """All licences, as a page."""
    rows = []
    for one in parts:
        title = html.escape(f"{one.name} {one.version}: {licence(one)}")
        told = "".join(f"<pre>{html.escape(text)}</pre>" for text in texts(one))
        rows.append(f"<details><summary>{title}</summary>{told}</details>\n")
    return HEAD + "".join(rows)


def bill(parts: list[Distribution], version: str, seconds: int) -> str:
    """The bill of materials as JSON; the same parts at the same time give the same one."""
    licences = LicenseFactory()
    own = Component(name="potluck", version=version, type=ComponentType.APPLICATION, bom_ref="potluck")
    components = [
        Component(
            name=one.name,
            version=one.version,
            bom_ref=f"{one.name}=={one.version}",
            purl=PackageURL("pypi", name=one.name.lower().replace("_", "-"), version=one.version),
            licenses=[licences.make_from_string(licence(one))],
        )
        for one in parts
        if one.name != "potluck"
    ]
    names = " ".join(f"{one.name}=={one.version}" for one in parts)
    bom = Bom(
        components=components,
        metadata=BomMetaData(component=own, timestamp=datetime.fromtimestamp(seconds, UTC)),
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"potluck {version} {seconds} {names}"),
    )
    bom.register_dependency(own, components)
    return str(JsonV1Dot6(bom).output_as_string(indent=2))


def main(argv: list[str]) -> int:
    """Write both files."""
    site, out, version, seconds = Path(argv[0]), Path(argv[1]), argv[2], int(argv[3])
    parts = sorted(distributions(path=[str(site)]), key=lambda one: one.name.casefold())
    (out / f"potluck-{version}.cdx.json").write_text(bill(parts, version, seconds), encoding="utf-8")
    (out / f"potluck-{version}-licences.html").write_text(page(parts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
