"""A collaboration as its page is told of it."""

from typing import Any

import msgspec

from core.api.site_view import SiteCopy, SiteDay, SiteNotice, SitePerson, SiteText, SiteView
from core.api.snapshot import CurvePoint
from core.site.teams import Choices, Team

AT = 1_795_676_400.0
"""26 November 2026, 07:00 UTC."""
ADA, EVE, ZOE = (bytes([number]) * 16 for number in (1, 2, 3))
"""Accounts."""
CHOICES = Choices(
    {3: Team(3, "Bücherwürmer", ADA, 1e9), 4: Team(4, "Nobody yet", bytes(16), 1e9)},
    {ADA: 3, EVE: 3, bytes(16): 4},
    {ADA: 1, EVE: 2},
)
FILE = "000004-state-00000240-3fa2b1c0-0123456789abcdef0123456789abcdef.safetensors"
LINK = "potluck://potluck.example.org:40711/" + "56a9cd2d" * 8


def view(**changes: Any) -> SiteView:
    whole = SiteView(
        at=AT,
        id="56a9cd2d" * 8,
        name="Three languages",
        summary="Books whose copyright has ended.",
        organiser="Ada Lovelace",
        fills_blanks=False,
        moderators=("Ada", "Ben", "Cleo"),
        threshold=2,
        open_to_newcomers=True,
        link=LINK,
        computers=11,
        samples_per_s=73.4,
        epoch=240,
        last_epoch=None,
        target_samples=512,
        samples=1000,
        curve=(CurvePoint(0, 6.0, 6.0), CurvePoint(120, 3.0), CurvePoint(240, 2.0, 2.5)),
        people=(
            SitePerson(1, "Ada", 900, 9, 10, ADA, (600, 0, 300)),
            SitePerson(2, "", 99, 3, 0, EVE, (99,)),
            SitePerson(3, "Zoë", 1, 1, 0, ZOE, (1,)),
        ),
        days=(SiteDay("2026-11-24", 600, 100, 4, 40.0, 10**9), SiteDay("2026-11-26", 400, 80, 11, 60.0, 2 * 10**9)),
        copies=(SiteCopy(4, 240, AT - 60, 1_000_000, 2.5, FILE),),
        notices=(SiteNotice(AT - 3600, AT + 3600, "Back on Monday"),),
        texts=(
            SiteText("https://example.org/books", "public domain", "Project Gutenberg"),
            SiteText("Letters", "", ""),
        ),
    )
    return msgspec.structs.replace(whole, **changes)
