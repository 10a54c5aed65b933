"""What a member says its means to be, so that a round is committed only where all hold the same.

A *seal* of a share is a Poly1305 tag over the bytes of its means, hashed with the contributors of each chunk.  Its key
is made of a *salt* of every member, each told only when its teller is complete: so nobody knew the key while the means
travelled, and two vectors that differ have the same tag with a probability below (bytes / 2 + 8) / 2^106 (Bernstein
2005, "The Poly1305-AES message-authentication code").  A key that is known beforehand, or none at all as with a CRC,
would let a reducer choose two means of one name; a cryptographic hash costs ten times as much.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
from cryptography.hazmat.primitives.poly1305 import Poly1305

from core.averaging.allreduce.exchange import Exchange
from core.averaging.messages import SALT_BYTES, SEAL_BYTES, Commit
from core.averaging.plan import Plan
from core.base.content import digest
from core.base.ids import hashed_key

VERSION_BYTES = 4
TIMES_MAX = 16
"""Seals made in one round at most for each that asks: more is nobody's right, and nobody uses up what is another's."""
_Made = tuple[tuple[int, ...], tuple[bytes, ...], tuple[bytes, ...]]
"""Versions, salts, seals."""


def plan_name(plan: Plan) -> bytes:
    """32 bytes that only this plan has."""
    return digest(msgspec.msgpack.encode(plan))


class Sealing:
    """One member's salts and seals in one round.

    Args:
        plan: The round's plan.
        name: Its name.
        me: My index in it.
        exchange: Where the means are.
        secret: Makes the salts; known to nobody else.
    """

    def __init__(self, plan: Plan, name: bytes, me: int, *, exchange: Exchange, secret: bytes) -> None:
        self._plan = plan
        self._name = name
        self._me = me
        self._exchange = exchange
        self._secret = secret
        self._times: Counter[int] = Counter()
        self._made: _Made | None = None

    @property
    def salt(self) -> bytes:
        """Mine for the versions that I hold complete; empty while I do not, or need no means."""
        if not (self._exchange.complete and self._exchange.receives):
            return b""
        return self._salt()

    @property
    def salts(self) -> tuple[bytes, ...]:
        """Under which I have sealed the versions that I hold; empty while I have not."""
        return self._made[1] if self._made is not None and self._made[0] == self._exchange.versions else ()

    @property
    def seals(self) -> tuple[bytes, ...]:
        """What I have sealed them with."""
        return self._made[2] if self._made is not None and self.salts else ()

    def make(self, salts: Sequence[bytes], *, by: int) -> bool:
        """Seal what I hold; False: it is not complete, or my salt is not among these, so that I trust none.

        Who needs no means has no salt: one that is there all the same is chosen to give the round another name.

        Args:
            salts: One for each member.
            by: Who asks for it.
        """
        made = self._made_of(salts, by)
        self._made = made or self._made
        return made is not None

    def agrees(self, salts: Sequence[bytes], seals: Sequence[bytes], *, by: int) -> bool:
        """Whether these seals say that others hold what I do; and nothing of shares that have no chunks."""
        made = self._made_of(salts, by)
        if made is None or len(seals) != len(made[2]):
            return False
        unknown = {share for share, count in enumerate(self._plan.chunks) if count} - self._exchange.held_shares
        pairs = zip(made[2], seals, strict=True)
        if not all(one == other or share in unknown for share, (one, other) in enumerate(pairs)):
            return False
        self._made = made
        return True

    def bits(self, commit: Commit) -> bytes:
        """32 bytes for the round's fingerprint: the plan, and what all have said."""
        return hashed_key(b"bits", self._name, *commit.salts, *commit.seals)

    # --- inside ---

    def _made_of(self, salts: Sequence[bytes], by: int) -> _Made | None:
        if len(salts) != len(self._plan.members) or not self._exchange.complete:
            return None
        if any(salt and not member.receives for salt, member in zip(salts, self._plan.members, strict=True)):
            return None
        if self._exchange.receives and salts[self._me] != self._salt():
            return None
        if self.salts == tuple(salts):
            return self._made
        if self._times[by] >= TIMES_MAX:
            return None
        self._times[by] += 1
        versions = self._exchange.versions
        return versions, tuple(salts), self._seal(self._key(versions, salts))

    def _salt(self) -> bytes:
        parts = (self._secret, self._name, self._me.to_bytes(2, "big"))
        return hashed_key(b"salt", *parts, *_packed(self._exchange.versions))[:SALT_BYTES]

    def _key(self, versions: Sequence[int], salts: Sequence[bytes]) -> bytes:
        return hashed_key(b"seal key", self._name, *_packed(versions), *salts)

    def _seal(self, key: bytes) -> tuple[bytes, ...]:
        held = self._exchange.held_shares
        return tuple(self._of(share, key) if share in held else b"" for share in range(len(self._plan.chunks)))

    def _of(self, share: int, key: bytes) -> bytes:
        tag = Poly1305(hashed_key(b"share", key, share.to_bytes(2, "big")))
        for means in self._exchange.means(share):
            tag.update(np.ascontiguousarray(means, dtype="<f4").view(np.uint8).data)
        lane = self._exchange.lanes[share]
        width = (len(self._plan.members) + 7) // 8
        contributors = b"".join(lane.contributors(chunk).to_bytes(width, "little") for chunk in range(lane.count))
        return hashed_key(b"seal", tag.finalize(), contributors)[:SEAL_BYTES]


def _packed(versions: Sequence[int]) -> list[bytes]:
    return [version.to_bytes(VERSION_BYTES, "big") for version in versions]
