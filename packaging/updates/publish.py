"""Publishes versions to programs that update themselves, signed as The Update Framework has it (docs/packages.md).

    python packaging/updates/publish.py begin REPO KEYS [--root-keys 3 --root-threshold 2]
    python packaging/updates/publish.py pack FOLDER OUT --url URL --root REPO/metadata/1.root.json
    python packaging/updates/publish.py add REPO KEYS ARCHIVE... [--share 10]
    python packaging/updates/publish.py share REPO KEYS VERSION PERCENT
    python packaging/updates/publish.py renew REPO KEYS            once a week: takes the keys of snapshot and timestamp
    python packaging/updates/publish.py replace REPO KEYS ROLE     another key for one whose file was taken away

REPO is what a web server gives; KEYS is a folder with a file for each key, which never lies there.  Only `begin`,
`replace` and `renew --all` take the keys of root, and `add` and `share` that of targets: keep them elsewhere.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import sys
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

import contents
import texts
from steps import ROOT, SetupProblem

from core.api.program_folder import ABOUT, ROOT_KEYS, numbers, this_system
from core.updates.offers import ARCHIVE, LIST, OfferedArchive, OfferedVersion, VersionList

DAYS = {Root.type: 400, Targets.type: 400, Snapshot.type: 30, Timestamp.type: 14}
"""How long each list is valid; the last one is the longest that somebody can keep a version from people unseen."""
LEVEL = 6
"""Level of compression by xz: the program is packed once, and downloaded by everybody."""
SCOPES = (Root.type, Targets.type, Snapshot.type, Timestamp.type)


class Publisher:
    """A repository of The Update Framework, and the keys that are here.

    Args:
        place: What the web server gives: `metadata` and `targets`.
        keys: The folder of keys, `ROLE-N.pem`.
        now: When it signs.
    """

    def __init__(self, place: Path, keys: Path, *, now: datetime | None = None) -> None:
        self.metadata, self.targets, self._keys = place / "metadata", place / "targets", keys
        self.now = (now or datetime.now(UTC)).replace(microsecond=0)

    def begin(self, *, root_keys: int, root_threshold: int) -> None:
        """Make keys and an empty list.

        Args:
            root_keys: Number of keys of root, which name all others.
            root_threshold: Number of them that have to sign.
        """
        if not 1 <= root_threshold <= root_keys:
            raise SetupProblem("The threshold is between 1 and the number of keys of root.")
        if any(self._keys.glob("*.pem")) or self.metadata.exists():
            raise SetupProblem(f"{self._keys} or {self.metadata} has something already.")
        for folder in (self.metadata, self.targets):
            folder.mkdir(parents=True)
        first = _empty(Root)
        root: Root = first.signed
        root.consistent_snapshot = True
        for role in SCOPES:
            for _ in range(root_keys if role == Root.type else 1):
                root.add_key(self._new_key(role).public_key, role)
        root.roles[Root.type].threshold = root_threshold
        self._write(first)
        self.put_list(VersionList())

    def add(self, archives: Sequence[Path], *, share: float, news: Sequence[str]) -> str:
        """Offer a version to a share of all installations; returns which.

        Args:
            archives: Its archives, as `pack` has made them, one for each kind of system.
            share: 0 to 1.
            news: What is new in it.
        """
        versions: set[str] = {_about(path)["version"] for path in archives}
        if len(versions) != 1 or not numbers(version := versions.pop()):
            raise SetupProblem("Name the archives of one version.")
        offered = self.offered()
        if any(numbers(one.version) >= numbers(version) for one in offered):
            raise SetupProblem(f"{version} or a newer version is offered already.")
        made: dict[str, OfferedArchive] = {}
        for path in archives:
            about = _about(path)
            made[about["system"]] = OfferedArchive(name=path.name, unpacked_bytes=about["unpacked_bytes"])
            self._put_target(path.name, path.read_bytes())
        new = OfferedVersion(version=version, share=share, news=list(news), archives=made)
        self.put_list(VersionList([*offered, new]))
        return version

    def share(self, version: str, share: float) -> None:
        """Offer a version to another share of all installations; those that had it keep it."""
        offered = self.offered()
        if version not in {one.version for one in offered}:
            raise SetupProblem(f"{version} is not offered.")
        changed = [msgspec.structs.replace(one, share=share) if one.version == version else one for one in offered]
        self.put_list(VersionList(changed))

    def renew(self, *, everything: bool = False) -> None:
        """Sign lists anew, for as long again.

        Args:
            everything: Root and targets, too.
        """
        for role in (Root.type, Targets.type) if everything else ():
            self._write(self.newest(role))
        self._snapshot()
        self._timestamp()

    def replace(self, role: str) -> None:
        """Have another key in the place of one whose file is gone; clients learn it from root, and the old one ends."""
        root = self.newest(Root.type)
        here = {one.public_key.keyid for one in self.signers(root.signed, role)}
        gone = [keyid for keyid in root.signed.roles[role].keyids if keyid not in here]
        if not gone:
            raise SetupProblem(f"Take the file of the key of {role} away that is to end, then repeat this.")
        root.signed.revoke_key(gone[0], role)
        root.signed.add_key(self._new_key(role).public_key, role)
        self._write(root)
        if role == Targets.type:
            self._write(self.newest(role))
        self.renew()

    def offered(self) -> list[OfferedVersion]:
        """What is offered now."""
        named = self.newest(Targets.type).signed.targets.get(LIST)
        if named is None:
            return []
        data = (self.targets / f"{named.hashes['sha256']}.{LIST}").read_bytes()
        return msgspec.json.decode(data, type=VersionList).releases

    # --- inside ------------------------------------------------------------------------------------------------------

    def put_list(self, listed: VersionList) -> None:
        """Sign a list of versions."""
        self._put_target(LIST, msgspec.json.encode(listed))
        self.renew()

    def _put_target(self, name: str, data: bytes) -> None:
        target = TargetFile.from_data(name, data, ["sha256"])
        path = self.targets / f"{target.hashes['sha256']}.{name}"
        _write_whole(path, data)
        signed = self.newest(Targets.type)
        signed.signed.targets[name] = target
        self._write(signed)

    def _snapshot(self) -> None:
        targets = self.newest(Targets.type)
        before = self.newest(Snapshot.type)
        data = (self.metadata / f"{targets.signed.version}.targets.json").read_bytes()
        before.signed.meta = {"targets.json": MetaFile.from_data(targets.signed.version, data, ["sha256"])}
        self._write(before)

    def _timestamp(self) -> None:
        snapshot, before = self.newest(Snapshot.type), self.newest(Timestamp.type)
        data = (self.metadata / f"{snapshot.signed.version}.snapshot.json").read_bytes()
        before.signed.snapshot_meta = MetaFile.from_data(snapshot.signed.version, data, ["sha256"])
        self._write(before)

    def newest(self, role: str) -> Metadata[Any]:
        """The newest list of a role; an empty one where there is none yet."""
        if role == Timestamp.type:
            path = self.metadata / "timestamp.json"
            return Metadata.from_file(str(path)) if path.exists() else _empty(Timestamp)
        found = {int(path.name.partition(".")[0]): path for path in self.metadata.glob(f"*.{role}.json")}
        if not found:
            return _empty({Snapshot.type: Snapshot, Targets.type: Targets}[role])
        return Metadata.from_file(str(found[max(found)]))

    def _write(self, signed: Metadata[Any]) -> None:
        """Sign the next version of a list and put it where the web server finds it."""
        role = signed.signed.type
        signed.signed.version += 1
        signed.signed.expires = self.now + timedelta(days=DAYS[role])
        root = signed.signed if role == Root.type else self.newest(Root.type).signed
        signers = self.signers(root, role)
        signed.signatures.clear()
        for one in signers:
            signed.sign(one, append=True)
        if len(signers) < root.roles[role].threshold:
            raise SetupProblem(f"{self._keys} lacks keys of {role}: it needs {root.roles[role].threshold}.")
        name = "timestamp.json" if role == Timestamp.type else f"{signed.signed.version}.{role}.json"
        _write_whole(self.metadata / name, signed.to_bytes())

    def signers(self, root: Root, role: str) -> list[CryptoSigner]:
        """The keys of a role that are here and that root names."""
        found = [signer_of(path) for path in sorted(self._keys.glob(f"{role}-*.pem"))]
        return [one for one in found if one.public_key.keyid in root.roles[role].keyids]

    def _new_key(self, role: str) -> CryptoSigner:
        signer = CryptoSigner.generate_ed25519()
        self._keys.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = 1 + max((int(path.stem.rpartition("-")[2]) for path in self._keys.glob(f"{role}-*.pem")), default=0)
        path = self._keys / f"{role}-{number}.pem"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(signer.private_bytes)
        return signer


def _empty(kind: type[Any]) -> Metadata[Any]:
    """A list before its first version."""
    made = kind()
    made.version = 0
    return Metadata(made)


def pack(folder: Path, out: Path, *, url: str, root_keys: Path, version: str = "") -> Path:
    """Pack a program folder, so that the same folder gives the same bytes.

    Args:
        folder: What `packaging/program_folder.py` has made; it gets what updates need: make installers after this.
        out: Where the archive comes to lie.
        url: Where the repository will be.
        root_keys: The first root of the repository, `1.root.json`, which every installation trusts.
        version: Another version than that of this checkout.
    """
    version = version or texts.version()
    about = {"version": version, "url": url, "made": contents.commit_time(), "system": this_system()}
    shutil.copyfile(root_keys, folder / ROOT_KEYS)
    (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8")
    contents.settle(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    paths.insert(0, paths.pop(paths.index(folder / ABOUT)))  # which `add` reads
    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"potluck-{version}-{this_system()}{ARCHIVE}"
    with (
        lzma.open(archive, "wb", preset=LEVEL) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in paths:
            entry = tar.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            if entry.isfile():
                with path.open("rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return archive


def _about(archive: Path) -> dict[str, Any]:
    """What an archive says of itself."""
    with tarfile.open(archive, "r:xz") as tar:
        first = tar.next()
        file = tar.extractfile(first) if first is not None and first.name == ABOUT else None
        if file is None:
            raise SetupProblem(f"{archive} was not made by: packaging/updates/publish.py pack")
        about: dict[str, Any] = json.loads(file.read())
        return {**about, "unpacked_bytes": sum(entry.size for entry in tar.getmembers())}


def signer_of(path: Path) -> CryptoSigner:
    """The key in a file."""
    return CryptoSigner(load_pem_private_key(path.read_bytes(), None))


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file so that the web server never gives half of it."""
    beside = path.with_name(f".{path.name}")
    beside.write_bytes(data)
    beside.replace(path)


def _news(version: str) -> list[str]:
    """What the changelog says of a version."""
    told = texts.releases((ROOT / "CHANGELOG.md").read_text("utf-8"))
    return [texts.plain(line) for one in told if one.version == version for line in one.changes]


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="do", required=True)
    for name in ("begin", "add", "share", "renew", "replace"):
        command = commands.add_parser(name)
        command.add_argument("repo", type=Path)
        command.add_argument("keys", type=Path)
    begin, add, share, renew, replace = (commands.choices[n] for n in ("begin", "add", "share", "renew", "replace"))
    begin.add_argument("--root-keys", type=int, default=3)
    begin.add_argument("--root-threshold", type=int, default=2)
    add.add_argument("archives", type=Path, nargs="+")
    add.add_argument("--share", type=float, default=100, help="per cent of all installations")
    share.add_argument("version")
    share.add_argument("percent", type=float)
    renew.add_argument("--all", action="store_true", help="root and targets, too: once a year")
    replace.add_argument("role", choices=SCOPES)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("out", type=Path)
    packing.add_argument("--url", required=True)
    packing.add_argument("--root", type=Path, required=True, help="1.root.json of the repository")
    return parser


def main(argv: list[str]) -> int:
    """Do what the words say; returns the exit code."""
    options = _parser().parse_args(argv)
    os.umask(0o022)
    try:
        if options.do == "pack":
            print(pack(options.folder, options.out, url=options.url, root_keys=options.root))
            return 0
        publisher = Publisher(options.repo, options.keys)
        match options.do:
            case "begin":
                publisher.begin(root_keys=options.root_keys, root_threshold=options.root_threshold)
            case "add":
                news = _news(str(_about(options.archives[0])["version"]))
                publisher.add(options.archives, share=options.share / 100, news=news)
            case "share":
                publisher.share(options.version, options.percent / 100)
            case "renew":
                publisher.renew(everything=options.all)
            case "replace":
                publisher.replace(options.role)
    except SetupProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    for one in publisher.offered():
        print(f"{one.version}: {one.share:.0%} of all installations, {', '.join(one.archives)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
