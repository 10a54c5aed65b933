"""What a member says its means to be, so that a round is committed only where all members hold the same.

The *fingerprint* of a share is a Poly1305 tag over the bytes of its means, hashed with the contributors of each chunk.
Its key is made of a *nonce* of every member, each told only when its teller holds all means: so nobody knew the key
while the means travelled, and two vectors that differ have the same tag with a probability below (bytes / 2 + 8)/2^106
(Bernstein 2005, "The Poly1305-AES message-authentication code").  With a key that is known beforehand, or with a CRC, a
reducer could choose two means of one name; a cryptographic hash costs ten times as much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec
from cryptography.hazmat.primitives.poly1305 import Poly1305

from core.averaging.allreduce.lane import Lanes
from core.averaging.allreduce.vectors import RoundContext
from core.averaging.commit.proof import Proof, vote_name
from core.averaging.commit.reports import quorum
from core.averaging.messages import FINGERPRINT_BYTES, NONCE_BYTES, Commit, Members, to_bits
from core.averaging.plan import Plan
from core.base.arrays import np
from core.base.ids import hashed_key

VOTES_MAX: Final = 16
"""Number of votes that one other member can have made in a round: computing one takes time."""


@dataclass(frozen=True, slots=True)
class Vote:
    """A member's word on the means that it holds."""

    versions: tuple[int, ...]
    nonces: tuple[bytes, ...]
    """One for each member, empty for those that have none."""
    fingerprints: tuple[bytes, ...]
    """One for each share, empty for shares of which the member holds no means."""
    sums: bytes = b""
    """Sums of this member's parts (`commit.sums`); empty where means are not proven."""
    signature: bytes = b""
    made: tuple[tuple[int, bytes], ...] = ()


NO_VOTE: Final = Vote((), (), ())


def plan_name(plan: Plan) -> bytes:
    """32 bytes that only this plan has."""
    return hashed_key(b"plan", msgspec.msgpack.encode(plan))


class Fingerprints:
    """One member's nonces and votes in one round.

    Args:
        context: What the round works on.
        name: Name of the plan.
        lanes: Where the means are.
        secret: Makes the nonces; known to no other member.
        proof: Proves the means; None: they are not proven.
    """

    def __init__(
        self, context: RoundContext, name: bytes, lanes: Lanes, *, secret: bytes, proof: Proof | None = None
    ) -> None:
        self._context = context
        self._name = name
        self._lanes = lanes
        self._secret = secret
        self.proof = proof
        self._made: Counter[int] = Counter()
        self._repairs = 0
        """Times that this member has given means up for the coordinator's."""
        self._given_up: dict[int, tuple[Vote, int]] = {}
        """By share, its last vote on means that their reducer gave it itself, and who that was."""
        self.liars: Members = frozenset()
        """Reducers that gave this member other means than the coordinator."""
        self._vote: Vote | None = None
        self._last: Vote | None = None

    @property
    def nonce(self) -> bytes:
        """This member's, for the versions that it holds."""
        me, repairs = self._context.me.to_bytes(2, "big"), self._repairs.to_bytes(2, "big")
        return hashed_key(b"nonce", self._secret, self._name, me, repairs, _packed(self._lanes.versions))[:NONCE_BYTES]

    @property
    def vote(self) -> Vote | None:
        """The last one that was made, as long as its versions are those that are held."""
        return self._vote if self._vote is not None and self._vote.versions == self._lanes.versions else None

    def make(self, nonces: Sequence[bytes], *, by: int) -> Vote | None:
        """Vote on the means that are here, all of them.

        Args:
            nonces: One for each member.
            by: The member that asks for the vote.

        Returns:
            The vote; None where this member's nonce is not among these, so that it trusts none, where a helper has
            one, or where `by` has asked too often.
        """
        vote = self._on_what_is_here(nonces, by=by)
        if vote is not None and self.proof is not None and not vote.sums:
            sums, signature, made = self.proof.tell(self.bits(vote))
            vote = self._last = replace(vote, sums=sums, signature=signature, made=made)
        self._vote = vote or self._vote
        return vote

    def give_up(self, nonces: Sequence[bytes], fingerprints: Sequence[bytes]) -> list[int]:
        """The shares of which the coordinator holds other means, for which this member has voted; no vote is left.

        Args:
            nonces: Those under which the coordinator has voted.
            fingerprints: Its vote.
        """
        vote = self.vote
        if vote is None or vote.nonces != nonces or len(vote.fingerprints) != len(fingerprints):
            return []
        pairs = enumerate(zip(vote.fingerprints, fingerprints, strict=True))
        reducers, me = self._lanes.reducers, self._context.me
        shares = [share for share, (own, other) in pairs if own and other and own != other and reducers[share] != me]
        if shares:
            self._given_up |= {s: (vote, reducers[s]) for s in shares if self._lanes[s].direct}
            self._repairs += 1
            self._vote = self._last = None
        return shares

    def agrees(self, vote: Commit, *, by: int) -> bool:
        """Whether all have voted for the same means, as far as this member holds them; it casts no vote by that.

        Where means are proven, these have to be.

        A member that holds all means has counted itself in how many of them each member's part is.
        """
        if vote.versions != self._lanes.versions:
            return False
        helps = self._context.me not in self._context.shares.receivers
        if not helps and vote.present != self._lanes.present(len(vote.present)):
            return False
        mine = self._on_what_is_here(vote.nonces, by=by)
        if mine is None or len(vote.fingerprints) != len(mine.fingerprints):
            return False
        pairs = zip(mine.fingerprints, vote.fingerprints, self._context.shares.counts, strict=True)
        # A helper holds only the means that it has made, so it can compare no others.
        same = all(one == other or (helps and not one and count) for one, other, count in pairs)
        return same and (helps or self.proof is None or self._is_proven(vote, self.proof))

    def bits(self, vote: Vote | Commit) -> bytes:
        """32 bytes that bind the plan, the bits of all means and who is in which."""
        return vote_name(self._name, vote.nonces, vote.fingerprints)

    def _is_proven(self, commit: Commit, proof: Proof) -> bool:
        """Whether these are the signed sums of enough members, this one's among them, and prove the means."""
        shares, me = self._context.shares, self._context.me
        words = {member: word for member, word in enumerate(commit.told) if word[0]}
        sound = proof.sound(self.bits(commit), words) if words.keys() <= shares.receivers else {}
        voted = self._vote is not None and self._vote.nonces == commit.nonces
        enough = quorum(shares, frozenset(sound))
        return len(sound) == len(words) and enough and (me in sound or not voted) and not proof.doubts(sound)

    def _on_what_is_here(self, nonces: Sequence[bytes], *, by: int) -> Vote | None:
        shares, me = self._context.shares, self._context.me
        if len(nonces) != len(shares.samples) or any(nonces[m] for m in shares.everybody - shares.receivers):
            return None
        # Without the own nonce among them the key may have been known while means could still be chosen.
        if me in shares.receivers and nonces[me] != self.nonce:
            return None
        versions = self._lanes.versions
        for known in (self._vote, self._last):
            if known is not None and (known.versions, known.nonces) == (versions, tuple(nonces)):
                return known
        if self._made[by] >= VOTES_MAX:
            return None
        self._made[by] += 1
        for share, (before, reducer) in self._given_up.items():
            if self._of(share, self._key(before.versions, before.nonces)) != before.fingerprints[share]:
                self.liars |= {reducer}
        self._given_up.clear()
        key = self._key(versions, nonces)
        self._last = Vote(versions, tuple(nonces), tuple(self._of(s, key) for s in range(len(self._lanes))))
        return self._last

    def _key(self, versions: Sequence[int], nonces: Sequence[bytes]) -> bytes:
        return hashed_key(b"key", self._name, _packed(versions), *nonces)

    def _of(self, share: int, key: bytes) -> bytes:
        """The fingerprint of a share; empty where this member holds none of its means."""
        lane, vectors = self._lanes[share], self._context.vectors
        if not vectors.holds(share):
            return b""
        tag = Poly1305(hashed_key(b"share", key, share.to_bytes(2, "big")))
        for number in self._context.shares.numbers(share):
            tag.update(np.ascontiguousarray(vectors.mean(number), dtype="<f4").view(np.uint8).data)
        width = (len(self._context.shares.samples) + 7) // 8
        contributors = b"".join(
            to_bits(members).ljust(width, b"\0") for members in map(lane.contributors, range(lane.count))
        )
        radii = np.array(lane.radii, dtype="<f8").tobytes()
        return hashed_key(b"fingerprint", tag.finalize(), contributors, radii)[:FINGERPRINT_BYTES]


def _packed(versions: Sequence[int]) -> bytes:
    return b"".join(version.to_bytes(4, "big") for version in versions)
