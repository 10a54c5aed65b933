"""A member's pass on the disk, with what else lets it take part while no backbone answers.

manifest.json   signed, and named by the link
pass.json       the pass, contacts and names: as the welcome desk gave them last
records.signed  what moderators have said, from the desk or from peers (core.authority.records)

Nothing of it is believed for lying there: the manifest has the link's digest, the records the moderators'
signatures, the pass that of an issuer, and the time of the pass counts.  Contacts are places to ask: each peer there
has to show its own pass.  A program that can write to the folder gains what a server in between would: delay, and older
records until the first peer tells newer ones.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from core.authority.records import BUNDLE_BYTES_MAX, AuthorityRecords
from core.backbone.desk_messages import GRANT_BYTES_MAX, PassGrant
from core.base.ids import PeerId
from core.base.manifest import MANIFEST_BYTES_MAX, Manifest, read_manifest
from core.base.problems import NotTrusted, Problem, RemoteProblem, Sentence
from core.base.signing import Ed25519Verifier
from core.net.identity.issuers import issuers_of
from core.net.identity.passes import Pass, signed_pass
from core.system.atomic_files import read_bounded, set_aside, write_atomic

MANIFEST: Final = "manifest.json"
FILE: Final = "pass.json"
RECORDS: Final = "records.signed"
ANOTHERS: Final = "It is of another collaboration, or of another key."
_BYTES_MAX: Final = 2 * GRANT_BYTES_MAX


class KeptGrant(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `pass.json`, as nobody has checked it yet."""

    grant: PassGrant
    clock_ahead_s: Annotated[float, Meta(ge=-1e12, le=1e12)] = 0.0


@dataclass(frozen=True, slots=True)
class KeptPass:
    """What was kept of one pass, verified in all but the time."""

    manifest: Manifest
    grant: PassGrant
    shown: Pass
    clock_ahead_s: float
    """How far the backbone's clock was ahead of this computer's own, seconds."""


class KeptPasses:
    """The pass of one member in one collaboration.

    Args:
        folder: What this computer keeps of the collaboration.
        manifest_id: Id of the collaboration.
        me: This computer's key.
    """

    def __init__(self, folder: Path, *, manifest_id: bytes, me: PeerId) -> None:
        self._folder = folder
        self._manifest_id = manifest_id
        self._me = me
        self.notices: list[Sentence] = []
        """Sentences for the person, about files that were set aside."""

    def keep(self, kept: KeptPass) -> None:
        """Replace what was kept.

        Raises:
            NoSpace: the disk is full; what was kept before is still there.
            UserProblem: the system does not allow it.
        """
        file = KeptGrant(grant=kept.grant, clock_ahead_s=kept.clock_ahead_s)
        write_atomic(self._folder / FILE, msgspec.json.encode(file))

    def read(self) -> KeptPass | None:
        """What was kept; None: nothing, or a file is damaged or another's, and was set aside."""
        path = self._folder / MANIFEST
        try:
            signed = read_bounded(path, MANIFEST_BYTES_MAX)
            if signed is None:
                return None
            manifest = read_manifest(signed, Ed25519Verifier())
            if manifest.id != self._manifest_id:
                raise NotTrusted(ANOTHERS)
            path = self._folder / FILE
            data = read_bounded(path, _BYTES_MAX)
            if data is None:
                return None
            file = msgspec.json.decode(data, type=KeptGrant)
            records_of(manifest).learn(file.grant.records, None)
            records = self.newest_records(manifest, file.grant.records, None)
            shown = signed_pass(file.grant.certificate, issuers_of(records))
            if shown.peer != self._me:
                raise NotTrusted(ANOTHERS)
        except (ValueError, Problem) as error:
            why = error.sentence if isinstance(error, Problem) else Sentence("It is damaged.")
            kept, described = (
                "The kept pass is not used. {why}",
                "The kept description of the collaboration is not used. {why}",
            )
            self._set_aside(path, Sentence(kept if path.name == FILE else described, why))
            return None
        return KeptPass(manifest, file.grant, shown, file.clock_ahead_s)

    def known(self) -> AuthorityRecords | None:
        """What moderators have said, as far as it is kept; None: there is nothing that can be read."""
        with contextlib.suppress(ValueError, Problem, OSError):
            signed = read_bounded(self._folder / MANIFEST, MANIFEST_BYTES_MAX)
            if signed is not None:
                known = records_of(read_manifest(signed, Ed25519Verifier()))
                known.learn(read_bounded(self._folder / RECORDS, BUNDLE_BYTES_MAX) or b"", None)
                return known if known.seal.manifest_id == self._manifest_id else None
        return None

    @property
    def certificate(self) -> bytes:
        """The last pass, by which another backbone may know this computer; empty: there is none."""
        with contextlib.suppress(ValueError, OSError):
            data = read_bounded(self._folder / FILE, _BYTES_MAX)
            return b"" if data is None else msgspec.json.decode(data, type=KeptGrant).grant.certificate
        return b""

    def newest_records(self, manifest: Manifest, offered: bytes, now: float | None) -> AuthorityRecords:
        """What moderators have said: what is kept, and what is offered, which is kept from now on.

        Args:
            manifest: Manifest of the collaboration.
            offered: `AuthorityRecords.to_bytes`; empty: nothing.
            now: Unix seconds; None: nothing is offered.

        Raises:
            RemoteProblem: what was offered has not the signatures that it needs.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        path, known = self._folder / RECORDS, records_of(manifest)
        try:
            known.learn(read_bounded(path, BUNDLE_BYTES_MAX) or b"", None)
        except (ValueError, RemoteProblem):
            self._set_aside(path, Sentence("The kept list of whom the moderators have shut out is damaged."))
            known = records_of(manifest)
        if known.learn(offered, now):
            write_atomic(path, known.to_bytes())
        return known

    def _set_aside(self, path: Path, why: Sentence) -> None:
        self.notices.append(Sentence("{why} The file was kept as {name}.", why, set_aside(path).name))


def records_of(manifest: Manifest) -> AuthorityRecords:
    """What moderators have said, before anything was."""
    return AuthorityRecords(manifest.authority_id, manifest.id)
