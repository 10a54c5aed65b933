"""`potluck directory`: a signed list of open collaborations, read from a file or an address, or made.

The file is JSON: `directory`, the list; `key`, the public key in hex; `signature`, over `PURPOSE` and the bytes of
`directory` as they stand in the file.  The key proves no more than who made the list: what a link of it leads to
proves itself as any other link does.
"""

import argparse
import asyncio
import os
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec import Meta

import resources
from core.api.directory import ENTRIES_MAX, FILE_BYTES_MAX, DirectoryEntry, DirectoryView
from core.backbone.link import parse_link
from core.base.ids import PeerId, fingerprint
from core.base.problems import BadInput, NotTrusted, UserProblem, printable, quoted
from core.base.signing import Ed25519Verifier
from core.cli.printing.say import say_json
from core.joining.look import look
from core.net.addresses.interfaces import is_loopback
from core.net.clock import Clock
from core.storage.identity import load_identity, system_keyring
from core.storage.paths import Home
from core.system.atomic_files import public_file, read_bounded, write_atomic

PURPOSE: Final = b"potluck directory 1\0"
FETCH_S: Final = 20.0


class _Directory(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=80)]
    made: Annotated[float, Meta(ge=0, le=1e12)]
    entries: list[msgspec.Raw]


class _SignedDirectory(msgspec.Struct, frozen=True, kw_only=True):
    directory: msgspec.Raw
    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    signature: Annotated[str, Meta(pattern="^[0-9a-f]{128}$")]


def run(args: argparse.Namespace) -> int:
    """`potluck directory`; see `potluck directory --help`."""
    if args.make is not None:
        return _make(args)
    view = read_directory(_given(args.where))
    if args.json:
        say_json({"event": "directory", **msgspec.to_builtins(view)})
        return 0
    print(printable(f"{view.name}, signed by the key {view.fingerprint}"))
    for entry in view.entries:
        print(printable(f"\n{entry.name}: {entry.summary or 'its list says no more'}\n  {entry.link}"))
    if view.left_out:
        print(f"\n{view.left_out} entries cannot be used, and were left out.")
    return 0


def read_directory(data: bytes) -> DirectoryView:
    """The list in a file, its signature verified; entries that cannot be used are left out and counted.

    Raises:
        BadInput: it is not a list.
        NotTrusted: its signature is not that of its key.
    """
    try:
        signed = msgspec.json.decode(data, type=_SignedDirectory)
        known = msgspec.json.decode(signed.directory, type=_Directory)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        hint = "Ask for the file that potluck directory --make has written."
        raise BadInput("This is not a list of collaborations.", hint=hint) from error
    key = PeerId(bytes.fromhex(signed.key))
    if not Ed25519Verifier().verify(key, bytes.fromhex(signed.signature), PURPOSE + bytes(signed.directory)):
        raise NotTrusted(
            "This list was changed after it was signed.", hint="Get it again from where it was made public."
        )
    found = {entry.id: entry for entry in map(_entry, known.entries[:ENTRIES_MAX]) if entry is not None}
    return DirectoryView(
        name=printable(known.name),
        fingerprint=fingerprint(key),
        made=known.made,
        entries=tuple(found.values()),
        left_out=len(known.entries) - len(found),
    )


def _entry(raw: msgspec.Raw) -> DirectoryEntry | None:
    """One entry with words that a person can read; None: it cannot be used."""
    try:
        entry = msgspec.json.decode(raw, type=DirectoryEntry)
        if parse_link(entry.link).manifest_id.hex() != entry.id:
            return None
    except (msgspec.MsgspecError, ValueError, RecursionError, BadInput):
        return None
    words = {"name": printable(entry.name), "summary": printable(entry.summary)}
    return msgspec.structs.replace(entry, **words)


def _given(where: str) -> bytes:
    """The bytes of a file or an address; empty: of the list that comes along.

    Raises:
        BadInput: there is none, it is too large, or nothing can be asked at such an address.
        UserProblem: the address does not answer.
    """
    if "://" in where:
        return asyncio.run(_fetched(where))
    try:
        path = Path(where).expanduser().absolute() if where else resources.file("directory.json")
        data = read_bounded(path, FILE_BYTES_MAX)
    except FileNotFoundError as error:
        hint = "Name the file or the address of one."
        raise BadInput("No list of collaborations comes with this Potluck.", hint=hint) from error
    except ValueError as error:
        raise _too_large() from error
    if data is None:
        raise BadInput("There is no file {path}.", quoted(where, 80), hint="Name the file or the address of a list.")
    return data


async def _fetched(address: str) -> bytes:
    try:
        parts = urlsplit(address)
        fine = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    except ValueError:
        fine = False
    if not fine or not parts.hostname:
        hint = "Give an address that begins with https://, or a file."
        raise BadInput("{address} cannot be asked for a list.", quoted(address, 80), hint=hint)
    timeout = aiohttp.ClientTimeout(total=FETCH_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(address, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise UserProblem(
                    "{host} has no list there ({status}).",
                    parts.hostname,
                    response.status,
                    hint="Check the address, or ask for the file.",
                )
            data = await response.content.read(FILE_BYTES_MAX + 1)
            while len(data) <= FILE_BYTES_MAX and (more := await response.content.read(FILE_BYTES_MAX)):
                data += more
    except (aiohttp.ClientError, OSError) as error:
        hint = "Check the address and your connection, and try again later."
        raise UserProblem("{host} does not answer.", parts.hostname, hint=hint) from error
    if len(data) > FILE_BYTES_MAX:
        raise _too_large()
    return data


def _too_large() -> BadInput:
    return BadInput("This list is too large.", hint="A list has at most 1 MB.")


def _make(args: argparse.Namespace) -> int:
    """Sign a list of links with this computer's key, each asked for what it leads to.

    Raises:
        BadInput: a link cannot be used.
        LinkProblem: a link lets nobody in.
    """
    home, links = Home.find(args.home), [parse_link(one) for one in args.links]
    home.create()
    keys = load_identity(home.identity_file, system_keyring(os.environ)).keys
    entries = []
    for link in links:
        manifest = asyncio.run(look(link, Clock().now)).manifest
        words = {"name": printable(manifest.name)[:80], "summary": printable(manifest.summary)[:300]}
        entries.append({"id": manifest.id.hex(), "link": str(link), **words})
    body = msgspec.json.encode({"name": args.name or "Open collaborations", "made": Clock().now(), "entries": entries})
    signed = {"directory": msgspec.Raw(body), "key": keys.peer_id.hex(), "signature": keys.sign(PURPOSE + body).hex()}
    data = msgspec.json.encode(signed)
    read_directory(data)
    write_atomic(args.make.expanduser().absolute(), data, mode=public_file())
    if args.json:
        say_json({"event": "made", "entries": len(entries), "fingerprint": fingerprint(keys.peer_id)})
    else:
        print(f"Wrote {args.make} with {len(entries)} collaborations, signed by {fingerprint(keys.peer_id)}.")
    return 0
