"""The command `potluck receipts`, which lists receipts and checks them."""

import argparse
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from core.api.numbers import amount, volume
from core.averaging.receipts.receipt import Receipt, check_receipt
from core.base.ids import PeerId, short
from core.base.problems import BadInput, NotTrusted, ProofProblem
from core.base.signing import Ed25519Verifier
from core.cli.say import say_json
from core.ledger.credits import Credit, credits_of
from core.ledger.receipts import read_receipts
from core.storage.paths import Home


def run(args: argparse.Namespace) -> int:
    """Run `potluck receipts`; see `potluck receipts --help`.

    Raises:
        BadInput: there is no such folder.
        NotTrusted: a receipt differs from what its members signed; all have been shown by then.
    """
    if args.folder is not None and not args.folder.is_dir():
        raise BadInput(f"There is no folder {args.folder}.", hint="Name the folder of receipts of one collaboration.")
    folders = [args.folder] if args.folder is not None else _folders(Home.find(args.home))
    receipts = [receipt for folder in folders for receipt in read_receipts(folder, args.number)]
    receipts = sorted(receipts, key=_moment, reverse=True)[: args.number]
    if not receipts and not args.json:
        print("There are no receipts yet: each round of averaging leaves one.")
    problems = [_problem(receipt) for receipt in receipts]
    for receipt, problem in zip(receipts, problems, strict=True):
        if args.json:
            say_json(_facts(receipt, problem))
        else:
            print("\n".join(_lines(receipt, problem)))
    bad = sum(bool(problem) for problem in problems)
    if bad:
        raise NotTrusted(
            f"{amount(bad)} of {amount(len(receipts))} receipts are not what was signed.",
            hint="Somebody has changed the files, or the disk has; leave these receipts out of account.",
        )
    return 0


def _folders(home: Home) -> list[Path]:
    state = home.directory / "state"
    return sorted(path / "receipts" for path in state.iterdir() if path.is_dir()) if state.is_dir() else []


def _moment(receipt: Receipt) -> int:
    """When it was signed: what half of the signers say at most, so that no single clock counts; 0 if nobody signed."""
    times = sorted(one.time for one in receipt.attestations)
    return times[len(times) // 2] if times else 0


def _problem(receipt: Receipt) -> str:
    try:
        check_receipt(receipt, Ed25519Verifier())
    except ProofProblem as problem:
        return problem.message
    return ""


def _lines(receipt: Receipt, problem: str) -> Iterable[str]:
    statement = receipt.statement
    moment = datetime.fromtimestamp(_moment(receipt)).astimezone()
    members, signed = len(statement.deeds), len(receipt.attestations)
    samples = sum(deed.samples for deed in statement.deeds)
    verdict = f"NOT VALID: {problem}" if problem else f"signed by {amount(signed)} of {amount(members)}, all valid"
    yield f"{moment:%Y-%m-%d %H:%M:%S}  epoch {amount(statement.epoch)}, {amount(samples)} samples, {verdict}"
    for peer, credit in sorted(credits_of(receipt).items(), key=lambda item: (-item[1].samples, item[0])):
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


def _facts(receipt: Receipt, problem: str) -> dict[str, Any]:
    statement = receipt.statement
    signers = {PeerId(one.member) for one in receipt.attestations}
    credited = credits_of(receipt)
    peers = sorted({PeerId(deed.peer) for deed in statement.deeds} | credited.keys())
    return {
        "event": "receipt",
        "collaboration": statement.run.hex(),
        "round": statement.round.hex(),
        "epoch": statement.epoch,
        "lineage": statement.lineage.hex(),
        "fingerprint": statement.fingerprint.hex(),
        "numbers": statement.numel,
        "time": _moment(receipt),
        "valid": not problem,
        "problem": problem,
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
