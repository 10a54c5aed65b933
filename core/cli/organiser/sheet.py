"""`potluck sheet`: a page to print with a secret key under a passphrase, and the way back from it."""

import argparse
import html
import io
import os
import re
import time
from pathlib import Path
from typing import Final, NamedTuple

import segno

from core.api.running import living
from core.backbone.charter import AUTHORITY, MANIFEST, load_charter
from core.base.ids import PeerId, fingerprint
from core.base.manifest import read_manifest
from core.base.problems import BadInput, Busy, Problem, printable
from core.base.signing import SEED_BYTES, Ed25519Verifier, KeyPair
from core.cli.organiser.backups import asked_passphrase, new_passphrase
from core.cli.printing.say import say_json
from core.control.engine_file import read_engine_file
from core.net.clock import Clock
from core.storage.identity import bring_back, load_identity, system_keyring
from core.storage.paths import Home
from core.storage.sealed_key import seal_key, sealed_in, unseal_key
from core.system.atomic_files import read_bounded, write_atomic, write_new

SHEET_BYTES_MAX: Final = 1024 * 1024
_KEY: Final = re.compile(r"Public key:((?:\s*[0-9a-f]){64})")
PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Recovery sheet of {name}</title>
<style>
  @page {{ size: A4; margin: 18mm; }}
  body {{ max-width: 174mm; margin: 8mm auto; padding: 0 4mm; color: #000; background: #fff;
         font: 11pt/1.4 system-ui, sans-serif; }}
  h1 {{ font-size: 20pt; margin: 0 0 2mm; }}
  h2 {{ font-size: 12pt; margin: 6mm 0 1mm; }}
  pre {{ font: 9.5pt/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0;
        padding: 3mm; border: 0.3mm solid #000; }}
  code {{ font-family: ui-monospace, monospace; }}
  svg {{ display: block; width: 62mm; height: 62mm; margin: 4mm 0 0; }}
  @media print {{ body {{ margin: 0; padding: 0; max-width: none; }} }}
</style>
</head>
<body>
<h1>Recovery sheet</h1>
<p>{what} Made on {day}.</p>
<p>Fingerprint: <code>{fingerprint}</code></p>
<pre>{text}</pre>
{picture}
<h2>To have the key again on another computer</h2>
<p>Install Potluck there. Scan the square with a telephone, or type the lines, into a file. Then:</p>
<pre>{command}</pre>
<p>It asks for the passphrase, which does not stand here. Without it nobody can use this page.</p>
<h2>To keep it</h2>
<p>Keep the page and the passphrase in two places, away from this computer. Who has both has the key.
Delete the file after printing.</p>
</body>
</html>
"""


class _Owner(NamedTuple):
    """Whose key it is, in words."""

    name: str
    what: str
    command: str


def run(args: argparse.Namespace) -> int:
    """Run `potluck sheet`; see `potluck sheet --help`.

    Raises:
        BadInput: there is no such key or sheet, or something is where the page goes.
        WrongPassphrase: the sheet stays sealed.
        Busy: Potluck runs, and has another key in use.
    """
    return _read(args) if args.read else _write(args)


def _write(args: argparse.Namespace) -> int:
    """Make the page of a key."""
    if args.charter is not None:
        charter = load_charter(args.charter.expanduser().absolute())
        keys, name = charter.authority, charter.manifest.name
        what = f"It holds the key of the collaboration {name}, authority.key: who has it lets people in."
        owner = _Owner(name, what, "potluck sheet --read FILE --charter DIR")
    else:
        keys = load_identity(Home.find(args.home).identity_file, system_keyring(os.environ)).keys
        what = "It holds the key of this person's Potluck, by which moderators sign, and others know the computer."
        owner = _Owner(fingerprint(keys.peer_id), what, "potluck sheet --read FILE")
    page = sheet_of(keys, new_passphrase(), owner, Clock().now())
    file = args.file.expanduser().absolute()
    try:
        write_new(file, page.encode())
    except FileExistsError as error:
        raise BadInput(
            "{file} is there already; nothing in it was changed.", file, hint="Name another file."
        ) from error
    if args.json:
        say_json({"event": "sheet", "file": str(file), "key": keys.peer_id.hex()})
    else:
        print(f"{file}: open it in a browser, print it, and delete the file.")
        print("Keep the page and the passphrase in two places: who has both has the key.")
    return 0


def sheet_of(keys: KeyPair, passphrase: bytes, owner: _Owner, now: float) -> str:
    """The page as HTML, without scripts and without anything from elsewhere.

    Args:
        keys: The key.
        passphrase: Seals it.
        owner: Whose it is.
        now: Unix seconds.
    """
    text = f"Public key: {keys.peer_id.hex()}\n{seal_key(keys, passphrase)}"
    return PAGE.format(
        name=html.escape(owner.name),
        what=html.escape(owner.what),
        day=time.strftime("%Y-%m-%d", time.localtime(now)),
        fingerprint=fingerprint(keys.peer_id),
        text=text.strip(),
        picture=_picture(text),
        command=html.escape(owner.command),
    )


def _picture(text: str) -> str:
    """The text as a QR code."""
    out = io.BytesIO()
    segno.make(text, error="m", micro=False).save(
        out, kind="svg", xmldecl=False, svgns=True, omitsize=True, border=2, title="The same lines as a QR code"
    )
    return out.getvalue().decode()


def _read(args: argparse.Namespace) -> int:
    """Bring a key back from its page."""
    keys = read_sheet(_text_of(args.file))
    if args.charter is not None:
        where = _into_charter(args.charter.expanduser().absolute(), keys)
    else:
        where = _into_home(Home.find(args.home), keys)
    if args.json:
        say_json({"event": "key_is_back", "key": keys.peer_id.hex()})
    else:
        print(printable(where))
    return 0


def read_sheet(text: str) -> KeyPair:
    """The key of a page, or of its lines alone.

    Raises:
        BadInput: no sealed key stands there.
        WrongPassphrase: it stays sealed.
    """
    sealed, key = sealed_in(text), _KEY.search(text)
    if sealed is None or key is None:
        hint = "Its lines begin with: Public key"
        raise BadInput("This is not a recovery sheet, or lines of it are missing.", hint=hint)
    return unseal_key(sealed, asked_passphrase(), PeerId(bytes.fromhex("".join(key[1].split()))))


def _text_of(file: Path) -> str:
    try:
        data = read_bounded(file.expanduser().absolute(), SHEET_BYTES_MAX)
    except ValueError:
        data = b""
    if data is None:
        raise BadInput("There is no file {file}.", file, hint="Name the page, or a file with its lines.")
    return data.decode(errors="replace")


def _into_home(home: Home, keys: KeyPair) -> str:
    engine = read_engine_file(home)
    if engine is not None and living(engine) is not None:
        raise Busy("Potluck runs here, and uses another key.", hint="Stop it first, with: potluck quit")
    home.create()
    aside = bring_back(home.identity_file, system_keyring(os.environ), keys)
    was = f"  The key that was there is kept as {aside.name}." if aside is not None else ""
    return f"The key {fingerprint(keys.peer_id)} is here again.{was}\nNow join with any link of the collaboration."


def _into_charter(folder: Path, keys: KeyPair) -> str:
    try:
        manifest = read_manifest((folder / MANIFEST).read_bytes(), Ed25519Verifier())
    except (OSError, Problem) as error:
        raise BadInput(
            "The folder {folder} holds no collaboration.",
            folder,
            hint="Restore a backup of it: potluck restore --help",
        ) from error
    if manifest.authority_id != keys.peer_id:
        raise BadInput("This is the key of another collaboration.", hint="Name its folder.")
    path = folder / AUTHORITY
    if path.exists() and path.stat().st_size == SEED_BYTES and path.read_bytes() == keys.seed:
        return f"The key of {manifest.name} is in {folder} already."
    write_atomic(path, keys.seed)
    return f"The key of {manifest.name} is in {folder} again."
