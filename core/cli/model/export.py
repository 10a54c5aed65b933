"""`potluck export`: the newest model as a folder that `transformers` loads."""

import argparse
import asyncio
import contextlib
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from core.base.problems import BadInput, Problem, UserProblem, WireProblem, check_text, later, printable, quoted
from core.cli.engine.experts import experts_of
from core.cli.model.kept_model import KeptModel, KeptState, kept_model, newest_state
from core.cli.model.model_card import THANKED_MAX, model_card
from core.cli.model.model_process import use_model
from core.cli.parsing.options import Missing
from core.cli.printing.say import say_json, say_progress
from core.ledger.credits import OTHERS
from core.ledger.ledger import Ledger
from core.storage.identity import SERVICE, kept_secret, system_keyring
from core.system.atomic_files import make_directory, problem_of, public_directory, public_file
from core.system.progress_bar import ProgressBar

CARD: Final = "README.md"
WRITTEN: Final = frozenset(
    {
        *(CARD, "config.json", "generation_config.json", "model.safetensors"),
        *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    }
)
"""All that an export writes: a folder that holds anything else is not replaced."""
EXPERTS_GLOB: Final = "experts-[0-9][0-9].safetensors"
"""And of a model with layers of experts those of one layer each."""
GATHER_S: Final = 30.0
"""For so long an engine is asked to gather copies of experts, each time."""
FETCHING: Final = later("Fetching the experts that live elsewhere")
PATIENCE_S: Final = 45.0
"""Time without a further copy after which no more are waited for."""

TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable
ENTRY: Final = "hub-token"
"""Name of the token in the keyring."""
_NAME: Final = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]{1,200}")


def hub_token(repository: str, environ: Mapping[str, str]) -> str:
    """The person's token, before anything is computed for a model that could not be sent.

    Args:
        repository: Where it shall go, as OWNER/NAME.
        environ: Environment variables; the keyring is asked where they have no token.

    Raises:
        BadInput: the name is not one, or there is no token that could be.
    """
    if not _NAME.fullmatch(repository):
        message = "{repository} is not the name of a model on the hub."
        raise BadInput(message, quoted(repository, 80), hint="Write OWNER/NAME, such as ada/rhymes.")
    token = environ.get(TOKEN, "").strip() or kept_secret(system_keyring(environ), ENTRY)
    if not token:
        told = "Sending a model needs your token of the hub, and there is none."
        hint = "Make one with the right to write, and set {token}, or keep it: keyring set {service} {entry}"
        raise BadInput(told, TOKEN, SERVICE, ENTRY, hint=hint)
    if not _TOKEN.fullmatch(token):  # errors of the library would quote it
        raise BadInput(
            "Your token of the hub has letters that a token cannot have.", TOKEN, hint="Set {token} to it anew."
        )
    return token


def push(folder: Path, repository: str, token: str) -> str:
    """Send a folder to the hub, as a model that is private at first; its address.

    Args:
        folder: Its files replace those of the same names.
        repository: OWNER/NAME.
        token: The person's.

    Raises:
        Missing: huggingface_hub is not installed.
        UserProblem: the hub is not reached, or refuses; the folder stays.
    """
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - only needed here
    except ModuleNotFoundError as error:
        message = "Sending a model needs {name}, which is not installed."
        raise Missing(message, error.name, hint="Get it with: potluck training-part get") from error
    hub = HfApi(token=token)
    try:
        address = hub.create_repo(repository, private=True, exist_ok=True)
        hub.upload_folder(repo_id=repository, folder_path=folder, commit_message="Model trained with Potluck")
    except Exception as error:  # the library raises whatever its own HTTP client does
        why = str(error).strip().partition("\n")[0].rstrip(".")
        told = "The model was not sent to {endpoint}: {why}."
        hint = "The export in {folder} is whole. Check the connection and the token, then try again with --force."
        raise UserProblem(told, hub.endpoint, why[:200], folder, hint=hint) from error
    return str(address)


def run(args: argparse.Namespace) -> int:
    """Run `potluck export`; see `potluck export --help`.

    Raises:
        UserProblem: there is no model yet, the folder cannot be used, or the hub refuses.
        WorkerProblem: the process with the model failed.
    """
    folder = args.folder.expanduser().absolute()
    check_text(str(folder), what="The folder's name")
    bar = ProgressBar(json=args.json, say=say_progress if args.progress else None)
    beside = folder.parent / f".{folder.name}.{os.getpid()}-{secrets.token_hex(6)}"
    try:
        check_folder(folder, force=args.force)
        token = hub_token(args.push, os.environ) if args.push else ""
        kept = kept_model(args)
        with tempfile.TemporaryDirectory(prefix="potluck-") as scratch:
            state = newest_state(kept, Path(scratch))
            make_directory(beside, mode=public_directory())
            words = ["--experts", str(kept.experts)] if kept.manifest.mixture is not None else []
            words += ["--incomplete"] if args.incomplete else []
            live = gathered(kept, bar)
            done = use_model(kept, state, ["export", "--out", str(beside), *words], bar)
        done |= {"live": live, "now": datetime.now().astimezone().timestamp()}
        (beside / CARD).write_text(_card(kept, state, done, address=args.push or "path/to/this/folder"), "utf-8")
        _replace(folder, beside)
    except OSError as error:
        raise problem_of(error, folder) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    address = _pushed(folder, args, token) if args.push else ""
    _tell(args, kept, state, done, address=address)
    return 0


def gathered(kept: KeptModel, bar: ProgressBar) -> int | None:
    """Have the engine that runs fetch the newest copies of experts that live elsewhere.

    Args:
        kept: The collaboration.
        bar: Shows how many are here of those that others have.

    Returns:
        Number of experts that somebody hosts; None: no engine takes part in it now.
    """
    if kept.home is None or kept.manifest.mixture is None:
        return None
    live, newest = None, time.monotonic()
    before = -1
    try:
        while time.monotonic() < newest + PATIENCE_S:
            seen = asyncio.run(experts_of(kept.home, GATHER_S))
            if not seen.layers:
                return live
            live = sum(bool(one.hosts) for one in seen.known)
            there = [one for one in seen.known if one.copies]
            fresh = sum(one.here for one in there)
            if fresh > before:
                before, newest = fresh, time.monotonic()
            bar.show(fresh / max(1, len(there)), FETCHING, part=FETCHING)
            if there and fresh == len(there) >= live:
                return live
    except Problem:  # what lies here is exported all the same
        return live
    finally:
        bar.clear()
    return live


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse to write over what an export has not written.

    Args:
        folder: Where the model shall go.
        force: Whether an earlier export may be replaced.

    Raises:
        BadInput: something is there that would be lost.
    """
    if folder.is_dir():
        others = sorted(
            path.name for path in folder.iterdir() if path.name not in WRITTEN and not fnmatch(path.name, EXPERTS_GLOB)
        )
        if others:
            message = "The folder {folder} holds something that is not part of an export: {others}."
            hint = "Name another folder; it is made if it is not there."
            raise BadInput(message, folder, quoted(others[0]), hint=hint)
        if not force and any(folder.iterdir()):
            raise BadInput("The folder {folder} holds an export already.", folder, hint="To replace it, add --force.")
    elif folder.exists() or folder.is_symlink():
        raise BadInput("{folder} is not a folder.", folder, hint="Name another folder; it is made if it is not there.")


def _replace(folder: Path, beside: Path) -> None:
    """Bring a whole folder to its place, as readable as the person's umask has it; an earlier one goes after that.

    Raises:
        OSError: the system does not allow it; the earlier one is where it was.
    """
    for path in beside.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        path.chmod(public_file())
    old = beside.with_name(f"{beside.name}.old")
    if folder.is_dir():
        folder.rename(old)
    try:
        beside.rename(folder)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _pushed(folder: Path, args: argparse.Namespace, token: str) -> str:
    """Send the folder to the hub; its address there."""
    bar = ProgressBar(json=args.json)
    bar.show(0.0, f"Sending it to the hub as {args.push}")
    try:
        return push(folder, args.push, token)
    finally:
        bar.clear()


def _card(kept: KeptModel, state: KeptState, done: dict[str, Any], *, address: str) -> str:
    header, board = state.header, kept.board
    board.hold(header.ledger, header.epoch)
    try:
        ledger = Ledger.from_bytes(header.ledger, epoch_max=header.epoch)
    except WireProblem:  # counts as empty, as on the board
        ledger = Ledger()
    thanked = board.standings(OTHERS, relayed={}, limit=THANKED_MAX)
    return model_card(kept.manifest, epoch=header.epoch, ledger=ledger, thanked=thanked, exported=done, address=address)


def _tell(args: argparse.Namespace, kept: KeptModel, state: KeptState, done: dict[str, Any], *, address: str) -> None:
    epoch, manifest = state.header.epoch, kept.manifest
    if args.json:
        more = {"collaboration": manifest.id.hex(), "epoch": epoch, "address": address}
        say_json({**done, "folder": str(args.folder.expanduser().absolute()), **more})
        return
    if "places" in done:
        experts = f"{done['experts']} of {done['places']} experts"
        print(
            f"{printable(manifest.name)} after epoch {epoch} is in {args.folder}, with {experts}.\n"
            f"{done['loss_name'].capitalize()} on held-out text: {done['loss']:.3f}.\n"
            f"Load it with: core.tasks.experts.whole.load_whole({str(args.folder)!r})"
        )
        if address:
            print(f"It was sent to {address}, where only you see it until you say otherwise.")
        return
    simpler = ", ".join(f"{name} alone: {loss:.3f}" for name, loss in done["baselines"].items())
    print(
        f"{printable(manifest.name)} after epoch {epoch} is in {args.folder}.\n"
        f"{done['loss_name'].capitalize()} on held-out text: {done['loss']:.3f} ({simpler}).\n"
        f"Load it with: transformers.pipeline({done['pipeline']!r}, model={str(args.folder)!r})"
    )
    if address:
        print(f"It was sent to {address}, where only you see it until you say otherwise.")
