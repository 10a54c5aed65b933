"""A charter with 10,000 accounts, some of whose keys are here, and people who come to it."""

import json
import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from core.backbone import charter as charters
from core.backbone.admission_log import ADMITTED
from core.backbone.admitted import Admitted
from core.backbone.charter import Charter
from core.backbone.desk_messages import PassRequest
from core.backbone.invitations import new_invitation
from core.backbone.kept_states import KeptStates
from core.base.content import chunk_digests, root_digest
from core.base.ids import PeerId
from core.base.manifest import Manifest
from core.base.signing import KeyPair
from core.base.state_header import StateHeader
from core.base.wire import PROTOCOL
from core.ledger.ledger import Ledger, LedgerRow
from core.net.identity.passes import pass_request
from core.swarm.words.orders import Keep
from core.swarm.words.states import StateName
from core.system.atomic_files import append_synced
from core.system.file_chunks import file_chunks
from tests.bench.backbone.load import asked_once, household, request

MEMBERS: Final = 256
"""Members that renew, in turns: each needs a key and a request."""


class Crowd:
    """A charter with many accounts, some of whose keys are here.

    Args:
        charter: Of the collaboration; its log gets the accounts.
        accounts: Number of accounts.
    """

    def __init__(self, charter: Charter, accounts: int) -> None:
        self.keys = [KeyPair.generate() for _ in range(min(MEMBERS, accounts))]
        self.peers = [key.peer_id for key in self.keys]
        self.peers += [PeerId(os.urandom(32)) for _ in range(accounts - len(self.peers))]
        invitation = charter.invitations[0]
        lines = [
            msgspec.json.encode(Admitted(key=peer.hex(), name=f"person {number}", invitation=invitation.id, at=1.0))
            for number, peer in enumerate(self.peers)
        ]
        append_synced(charter.folder / ADMITTED, b"\n" + b"\n".join(lines))
        self._asks = [self._request("", key, number) for number, key in enumerate(self.keys)]
        self._invite = invitation.secret
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self.came = 0
        """Number of newcomers until now."""
        self.port = 0
        """Port of the desk."""

    async def renew(self, number: int) -> int:
        """One of the members gets a new pass over a connection of its own; returns HTTP's status."""
        ask, source = self._asks[number % len(self._asks)], household(number % len(self._asks))
        return await asked_once(self.port, ask, tls=self._tls, source=source)

    def newcomers(self, count: int) -> Callable[[int], Awaitable[int]]:
        """New people, each at a household of its own; keys are made beforehand.

        Args:
            count: Number of them.
        """
        first, self.came = self.came, self.came + count
        asks = [self._request(self._invite, KeyPair.generate(), len(self.peers) + first + one) for one in range(count)]

        async def come(number: int) -> int:
            source = household(MEMBERS + first + number)
            return await asked_once(self.port, asks[number], tls=self._tls, source=source)

        return come

    @staticmethod
    def _request(invite: str, key: KeyPair, number: int) -> bytes:
        asked = PassRequest(invite, pass_request(key), f"person {number}", "", PROTOCOL)
        return request("/v1/pass", msgspec.json.encode(asked))


def crowded(folder: Path) -> Charter:
    """A collaboration in which nobody trains."""
    authority = charters.new_authority()
    manifest = Manifest(name="A crowd", organiser="bench", task="gpt", authority=authority.peer_id.hex())
    return charters.found(folder, manifest, authority, new_invitation())


def credit(charter: Charter, crowd: Crowd) -> None:
    """Keep a copy of a model in which everybody has samples."""
    rows = {peer: LedgerRow(1000 + number, 1 + number % 50, 1, 0) for number, peer in enumerate(crowd.peers)}
    name = StateName(50, os.urandom(32))
    header = StateHeader(
        epoch=name.epoch, lineage=name.lineage.hex(), manifest=charter.manifest.id.hex(), ledger=Ledger(rows).to_bytes()
    )
    head = json.dumps({"__metadata__": {"potluck": msgspec.json.encode(header).decode()}}).encode()
    path = charter.folder / "fetched"
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(600_000))
    KeptStates(charter.folder, manifest=charter.manifest.id).keep(
        Keep(str(path), name, root_digest(chunk_digests(file_chunks(path))))
    )
