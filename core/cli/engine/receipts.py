"""The command `potluck receipts`, which lists receipts and checks them."""

import argparse
from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from core.api.numbers import amount, volume
from core.backbone.charter import load_charter
from core.backbone.serve import RECEIPTS
from core.base.ids import PeerId, short
from core.base.problems import BadInput, NotTrusted
from core.cli.printing.say import say_json
from core.ledger.credits import Credit
from core.ledger.receipts import CheckedReceipt, check, read_receipts
from core.storage.paths import Home
from core.system.atomic_files import make_directory


def run(args: argparse.Namespace) -> int:
    """Run `potluck receipts`; see `potluck receipts --help`.

    Raises:
        BadInput: there is no such folder.
        NotTrusted: a receipt differs from what its members signed; all have been shown by then.
    """
    if args.charter is not None:
        args.folder = load_charter(args.charter.expanduser().absolute()).folder / RECEIPTS
        make_directory(args.folder)
    if args.folder is not None and not args.folder.is_dir():
        raise BadInput(
            "There is no folder {folder}.", args.folder, hint="Name the folder of receipts of one collaboration."
        )
    folders = [args.folder] if args.folder is not None else _folders(Home.find(args.home))
    receipts = [check(receipt) for folder in folders for receipt in read_receipts(folder, args.number)]
    receipts = sorted(receipts, key=attrgetter("moment"), reverse=True)[: args.number]
    if not receipts and not args.json:
        print("There are no receipts yet: each round of averaging leaves one.")
    for checked in receipts:
        if args.json:
            say_json(_facts(checked))
        else:
            print("\n".join(_lines(checked)))
    bad = sum(bool(checked.problem) for checked in receipts)
    if bad:
        message = "{bad} of {count} receipts do not match their signatures."
        hint = "Somebody has changed the files, or the disk has; do not count these receipts."
        raise NotTrusted(message, amount(bad), amount(len(receipts)), hint=hint)
    return 0


def _folders(home: Home) -> list[Path]:
    state = home.directory / "state"
    return sorted(path / "receipts" for path in state.iterdir() if path.is_dir()) if state.is_dir() else []


def _lines(checked: CheckedReceipt) -> Iterable[str]:
    receipt, problem = checked.receipt, checked.problem
    statement = receipt.statement
    moment = datetime.fromtimestamp(checked.moment).astimezone()
    members, signed = len(statement.deeds), len(receipt.attestations)
    samples = sum(deed.samples for deed in statement.deeds)
    alone = ", which proves nothing to others" if signed == 1 else ""
    verdict = (
        f"NOT VALID: {problem}" if problem else f"signed by {amount(signed)} of {amount(members)}, all valid{alone}"
    )
    yield f"{moment:%Y-%m-%d %H:%M:%S}  epoch {amount(statement.epoch)}, {amount(samples)} samples, {verdict}"
    for peer, credit in sorted(checked.credits.items(), key=lambda item: (-item[1].samples, item[0])):
        yield f"    {short(peer)}  {_deeds(credit)}"
    for contradiction in receipt.contradictions:
        yield f"    {short(contradiction.member)} signed something else about this round"


def _deeds(credit: Credit) -> str:
    said = []
    if credit.samples:
        said.append(f"{amount(credit.samples)} samples")
    if credit.reduced:
        said.append(f"averaged {amount(credit.reduced)} numbers")
    if credit.relayed_bytes:
        said.append(f"passed on {volume(credit.relayed_bytes)} for others")
    return ", ".join(said) or "took part"


def _facts(checked: CheckedReceipt) -> dict[str, Any]:
    receipt, credited = checked.receipt, checked.credits
    statement = receipt.statement
    signers = {PeerId(one.member) for one in receipt.attestations}
    peers = sorted({PeerId(deed.peer) for deed in statement.deeds} | credited.keys())
    return {
        "event": "receipt",
        "collaboration": statement.run.hex(),
        "round": statement.round.hex(),
        "epoch": statement.epoch,
        "lineage": statement.lineage.hex(),
        "fingerprint": statement.fingerprint.hex(),
        "numbers": statement.numel,
        "time": checked.moment,
        "valid": not checked.problem,
        "problem": checked.problem,
        "contradicted_by": [PeerId(one.member).hex() for one in receipt.contradictions],
        "peers": [
            {
                "peer": peer.hex(),
                "member": peer in statement.members,
                "signed": peer in signers,
                "samples": credited.get(peer, Credit()).samples,
                "reduced": credited.get(peer, Credit()).reduced,
                "relayed_bytes": credited.get(peer, Credit()).relayed_bytes,
            }
            for peer in peers
        ],
    }
