"""`potluck join` and `login`: a collaboration is shown before anybody joins it."""

import argparse
import asyncio
import sys
from dataclasses import replace

import msgspec

from core.api.data_state import SourceView
from core.api.joined import LINK_LETTERS_MAX, KeptRefusal
from core.api.look import LinkLook
from core.api.numbers import volume
from core.backbone.link import SCHEME, Link, parse_link
from core.base.ids import fingerprint
from core.base.names import chosen_name
from core.base.problems import printable
from core.cli.printing.say import agrees, say_json
from core.cli.volunteer.estimate import computer_facts, estimate, rows_of
from core.cli.volunteer.joined import begin_again, called, how_to_start, tell
from core.cli.volunteer.login import sign_in
from core.engine.remembered.collaborations import Collaborations
from core.engine.text.data_watch import source_views
from core.joining.look import Invited, look, wanted_folder
from core.net.clock import Clock
from core.storage.paths import Home
from core.storage.settings import load_settings
from core.system.progress_bar import ProgressBar

FOLDER_LETTERS = 80
ASKING, RECKONING = "Asking what the link leads to", "Reckoning what it takes on this computer"


def join(args: argparse.Namespace) -> int:
    """Show a collaboration, ask, have the person sign in where that is needed, and make it the current one.

    Raises:
        UserProblem: the link, the backbone or the disk is wrong, or the person is not let in; nothing has changed.
    """
    home = Home.find(args.home)
    collaborations = Collaborations(home)
    link = _link(args.which, collaborations)
    member = [kept for kept in collaborations.all() if kept.link.manifest_id == link.manifest_id]
    refused = member[0].refusal if member else None
    signs_in = args.signs_in or not (member or link.invite)
    bar = ProgressBar(json=args.json)
    bar.show(0.0, ASKING)
    try:
        invited = asyncio.run(look(link, Clock().now, member=bool(member), signs_in=signs_in))
        if args.show or not args.yes:
            bar.show(0.3, RECKONING)
            shown = description(invited, home, refusal=refused)
    finally:
        bar.clear()
    if args.show or not args.yes:
        if args.json:
            say_json({"event": "collaboration", **msgspec.to_builtins(shown)})
        else:
            print(_as_text(shown))
        if not (args.json or member):  # a member keeps the name in its pass
            print(f"\nOthers will see the name {_own_name(home)}; to choose another one: potluck settings name NAME")
    if args.show:
        return 0
    if not args.yes and not agrees("Take part?"):
        print("Nothing has changed.")
        return 0
    asked = False
    if signs_in:
        link = replace(link, invite="")
        asked = not sign_in(link, invited.site, home, json=args.json).ticket
    collaborations.keep(link, invited.signed)
    name = printable(invited.manifest.name)
    said, start = f"You take part in {name}.", how_to_start(wanted_folder(invited.manifest))
    if asked:
        said = f"You have asked {name} to let you in."
    elif refused is not None:
        said = f"{name} has refused this computer: {printable(str(refused))} It is asked again."
    tell(args, "joined", said, running=begin_again(home), start=start, name=name)
    return 0


def description(invited: Invited, home: Home, *, refusal: KeptRefusal | None) -> LinkLook:
    """What a person should know before joining.

    Args:
        invited: What the backbone says.
        home: Home of this computer.
        refusal: Why it could not take part the last time; None: it could.
    """
    manifest = invited.manifest
    here = asyncio.run(computer_facts(home))
    return LinkLook(
        id=manifest.id.hex(),
        name=printable(manifest.name),
        organiser=printable(manifest.organiser),
        fingerprint=fingerprint(manifest.authority_id),
        summary=printable(manifest.summary),
        goes_on_from=printable(called(manifest.predecessor, Collaborations(home).all())),
        task=printable(manifest.task),
        download_bytes=invited.download_bytes,
        folder=printable(wanted_folder(manifest)[:FOLDER_LETTERS]),
        sources=tuple(_clean(source) for source in source_views(manifest)),
        computers=invited.present.computers if invited.present is not None else None,
        site=printable(invited.site),
        refusal=refusal,
        estimate=asyncio.run(estimate(invited, here)),
        computer=here,
    )


def _clean(source: SourceView) -> SourceView:
    """A source whose words cannot disturb a terminal."""
    words = {name: printable(getattr(source, name)) for name in ("address", "host", "licence", "credit")}
    return msgspec.structs.replace(source, **words)


def _link(which: str, kept: Collaborations) -> Link:
    """The link that was given, read, or kept.

    Raises:
        BadInput: it is not valid.
    """
    words = sys.stdin.readline(LINK_LETTERS_MAX) if which == "-" else which
    if ":/" in words or words.strip().startswith(f"{SCHEME}:") or which == "-":
        return parse_link(words)
    return kept.find(words).link


def _own_name(home: Home) -> str:
    return chosen_name(load_settings(home.settings_file).settings.name)


def _as_text(shown: LinkLook) -> str:
    """For a person: name, organiser, purpose, what is downloaded, and what taking part comes to here."""
    rows = (
        ("Collaboration", shown.name),
        ("Organised by", shown.organiser),
        *([("Refused before", f"{printable(str(shown.refusal))} It is asked again.")] if shown.refusal else []),
        ("Fingerprint", shown.fingerprint),
        *([("Sign in at", shown.site)] if shown.site else []),
        ("What for", shown.summary or "The organiser does not say."),
        *([("Goes on from", shown.goes_on_from)] if shown.goes_on_from else []),
        ("Download", f"{volume(shown.download_bytes)} of files, then the model; numbers only, no programs"),
        *rows_of(shown),
    )
    return "\n".join(f"{name:<14} {text}" for name, text in rows)
