"""`potluck choose`, `leave` and `collaborations`: what was joined, of which an engine need not run."""

import argparse
import contextlib
from collections.abc import Sequence

import msgspec

from core.api.hosting import JoinedView
from core.api.snapshot import Snapshot
from core.api.turns import WORDS, PassedOver, WhyNot
from core.authority.records import BUNDLE_BYTES_MAX
from core.backbone.kept_pass import RECORDS, records_of
from core.base.ids import PeerId
from core.base.manifest import Manifest
from core.base.problems import Problem, UserProblem, printable
from core.cli.printing.say import say_json
from core.control.engine_file import NotRunning
from core.control.one_call import call_once
from core.engine.remembered.collaborations import Collaborations, KeptCollaboration
from core.engine.remembered.hosted import Hosted, host, hosted_charters
from core.ledger.board import Board
from core.storage.identity import IDENTITY_BYTES_MAX, IdentityFile
from core.storage.paths import MEMORY, Home
from core.system.atomic_files import read_bounded

FOLDER_LETTERS = 80


def choose(args: argparse.Namespace) -> int:
    """Give one of the collaborations that were joined the highest priority.

    Raises:
        BadInput: none is called so.
    """
    home = Home.find(args.home)
    collaborations = Collaborations(home)
    chosen = collaborations.find(args.which)
    collaborations.keep(chosen.link)
    said = f"{printable(chosen.name)} comes first now."
    tell(args, "chosen", said, running=begin_again(home), name=chosen.name)
    return 0


def leave(args: argparse.Namespace) -> int:
    """Forget a collaboration's link; what it left on this computer stays.

    Raises:
        BadInput: none is called so.
    """
    home = Home.find(args.home)
    collaborations = Collaborations(home)
    left = collaborations.leave(args.which or "")
    own = hosted_charters(home).get(left.id)
    if own is not None:
        host(home, msgspec.structs.replace(own, runs=False))
    said = (
        f"You have left {printable(left.name)}. What you gave stays in its model. "
        f"Its files stay in {left.folder}; delete that folder if you need the room."
    )
    if own is not None:
        said += f" Its backbone runs here no more; its charter stays in {own.folder}: potluck host {own.folder}"
    running = begin_again(home)
    if not args.json:
        print(said)
    tell(args, "left", _next(collaborations), running=running, name=left.name, folder=str(left.folder))
    return 0


def collaborations(args: argparse.Namespace) -> int:
    """List what was joined, the highest priority first, which one is served, and why another one is not."""
    home = Home.find(args.home)
    kept = Collaborations(home).all()
    served, passed_over = _ask_served(home)
    for place, view in enumerate(joined_views(home, kept, served, passed_over)):
        if args.json:
            say_json({"event": "collaboration", **msgspec.to_builtins(view)})
        elif view.joined:
            reason = f": {WORDS[view.why_not]}" if view.why_not is not None else ""
            if view.why_not is WhyNot.REFUSED and view.refusal is not None:
                reason += f". {printable(str(view.refusal))}"
            print(f"{'*' if view.served else ' '} {place + 1} {_line(kept[place], kept)}{reason}")
        else:
            print(printable(f"  - {view.name}, whose charter is in {view.charter}"))
    if not kept and not args.json:
        print("This computer has joined no collaboration. Join one with: potluck join LINK")
    if served and len(kept) > 1 and not args.json:
        print("* takes part in this one now. To have another one come first: potluck choose NAME")
    return 0


def joined_views(
    home: Home, kept: Sequence[KeptCollaboration], served: str, passed_over: Sequence[PassedOver]
) -> list[JoinedView]:
    """All of them: those that were joined by priority, then the other charters.

    Args:
        home: The engine's.
        kept: Those that were joined.
        served: Id of the one that the engine takes part in now; empty: none.
        passed_over: What the engine says of others.
    """
    me, charters, known = _own_key(home), hosted_charters(home), Collaborations(home)
    why = {each.id: each.why for each in passed_over}
    views = []
    for place, each in enumerate(kept):
        told = why.get(each.id)
        if told is None and each.refusal is not None and each.id != served:
            told = WhyNot.REFUSED
        view = _described(each.id, each.manifest, home, me)
        flags = {"name": each.name, "current": place == 0, "served": each.id == served}
        views.append(msgspec.structs.replace(view, **flags, why_not=told, refusal=each.refusal))
    joined = {each.id for each in kept}
    views += [
        msgspec.structs.replace(_described(key, known.manifest(key), home, me), joined=False)
        for key in charters
        if key not in joined
    ]
    return [_hosted(view, charters[view.id]) if view.id in charters else view for view in views]


def _hosted(view: JoinedView, own: Hosted) -> JoinedView:
    state = {"charter": own.folder, "backbone": own.state, "backbone_refusal": own.refusal}
    return msgspec.structs.replace(view, **state)


def _described(collaboration: str, manifest: Manifest | None, home: Home, me: PeerId | None) -> JoinedView:
    """What the files of one collaboration tell, of which none needs to be there."""
    if manifest is None:
        return JoinedView(id=collaboration, name=collaboration[:16])
    folder, samples, served_at, closed = home.state(collaboration), 0, 0.0, False
    if me is not None and home.board(collaboration).exists():
        samples = Board(home.board(collaboration), target_samples=manifest.target_samples).row(me).samples
    with contextlib.suppress(OSError):
        served_at = (folder / MEMORY).stat().st_mtime
    with contextlib.suppress(ValueError, Problem):
        records = records_of(manifest)
        records.learn(read_bounded(folder / RECORDS, BUNDLE_BYTES_MAX) or b"", None)
        closed = records.decisions.newcomers == "closed"
    return JoinedView(
        id=collaboration,
        name=manifest.name,
        summary=manifest.summary,
        organiser=manifest.organiser,
        goes_on_from=manifest.predecessor,
        samples=samples,
        served_at=served_at,
        closed=closed,
    )


def _own_key(home: Home) -> PeerId | None:
    """This computer's public key, without asking a keyring; None: it has none yet."""
    with contextlib.suppress(ValueError, Problem):
        data = read_bounded(home.identity_file, IDENTITY_BYTES_MAX)
        return None if data is None else PeerId(bytes.fromhex(msgspec.json.decode(data, type=IdentityFile).peer))
    return None


def _ask_served(home: Home) -> tuple[str, tuple[PassedOver, ...]]:
    """The id of the collaboration in which the engine takes part now, and those that it passes over.

    Returns:
        An empty id where no engine answers, or where it takes part in none yet.
    """
    with contextlib.suppress(UserProblem):
        snapshot: Snapshot = call_once(home, "snapshot", kind=Snapshot)
        return snapshot.collaboration.id if snapshot.collaboration else "", snapshot.passed_over
    return "", ()


def begin_again(home: Home) -> bool:
    """Have a running engine begin anew with the current collaboration; False: none runs."""
    with contextlib.suppress(NotRunning):
        call_once(home, "restart")
        return True
    return False


def how_to_start(folder: str) -> str:
    """What to type where no engine runs.

    Args:
        folder: Folder of this computer, which the collaboration wants to read; empty: none.
    """
    if folder:
        return (
            f"It wants to read {printable(folder[:FOLDER_LETTERS])} here; if you trust it: potluck engine --text FOLDER"
        )
    ways = "potluck, or without a screen: potluck engine"
    return f"Start Potluck with: {ways}"


def tell(args: argparse.Namespace, event: str, said: str, *, running: bool, start: str = "", **more: str) -> None:
    """Print what was done, and where no engine runs how to start one.

    Args:
        args: Whether as JSON.
        event: What it is called there.
        said: The same for people.
        running: Whether an engine runs.
        start: How to start one; empty: as usual.
        more: What JSON tells.
    """
    if args.json:
        say_json({"event": event, "running": running, **more})
    else:
        print(said if running else f"{said} {start or how_to_start('')}")


def _next(kept: Collaborations) -> str:
    link = kept.current
    if link is None:
        return "No collaboration is left: nothing computes for others here until you join one."
    return f"The current one is {printable(kept.find(link.manifest_id.hex()).name)}."


def _line(kept: KeptCollaboration, known: Sequence[KeptCollaboration]) -> str:
    if kept.manifest is None:
        return printable(f"{kept.name} ({kept.id[:16]})")
    earlier = kept.manifest.predecessor
    whence = f", goes on from {called(earlier, known)}" if earlier else ""
    return printable(f"{kept.name}, organised by {kept.manifest.organiser} ({kept.id[:16]}){whence}")


def called(collaboration: str, known: Sequence[KeptCollaboration]) -> str:
    """The name of a collaboration where this computer has joined it, else how its id begins."""
    return next((each.name for each in known if each.id == collaboration), collaboration[:16])
