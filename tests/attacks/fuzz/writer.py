"""What hostile members say: made from the types' schemas, from real messages, and as signed records."""

from collections.abc import Sequence
from random import Random
from types import MappingProxyType
from typing import Final

import msgspec

from core.base.ids import PeerId
from core.base.wire import Message
from core.dht.messages import VALUE_BYTES_MAX, Store
from core.dht.records import sign_record
from core.nat.peer_record import peer_record_key
from core.swarm.presence.line_news import lines_key
from core.swarm.words.progress import progress_key
from tests.attacks.fuzz.mutations import Recorded, fields_of
from tests.attacks.fuzz.peers import CODEC, MESSAGES
from tests.hostile_values import HOSTILE, encoded
from tests.sim.world.signing import SimSigner

RECORDS: Final = 0.07
"""Share that are signed records with any value."""
MUTATED: Final = 0.6
"""Share of the rest that are made from real ones, where there are any."""
SPOILT: Final = (0.0, 0.0, 0.03, 0.2)
"""Share of fields that need not fit the schema, one for each message."""
NONSENSE: Final = 0.2
"""Share of the records whose value is not made from a real one."""
LIVES_S: Final = (-5, 60, 75, 10**6)
VALUE: Final = "value of a record"
STORE: Final = Store.__struct_config__.tag


def tag_of(kind: type[Message]) -> str:
    """The name of a type on the wire."""
    return str(kind.__struct_config__.tag)


KINDS: Final = MappingProxyType({tag_of(kind): kind for kind in MESSAGES})


class Writer:
    """Makes hostile messages.

    Args:
        random: Draws all.
        run: The collaboration.
        signers: The members that are hostile.
        known: Ids that mean something to everybody.
    """

    def __init__(self, random: Random, *, run: bytes, signers: Sequence[SimSigner], known: Sequence[bytes]) -> None:
        self._random, self._run = random, run
        self._signers = {signer.peer_id: signer for signer in signers}
        self._known = [*known, progress_key(run)]
        self._recorded = Recorded(random)

    def record(self, data: bytes) -> None:
        """Keep a real message, to make others from it."""
        fields = fields_of(data)
        if fields is None or fields[0] not in KINDS:
            return
        self._recorded.keep(fields[0], data)
        if fields[0] == STORE and len(fields) == len(Store.__struct_fields__) + 1 and isinstance(fields[4], list):
            self._recorded.keep(VALUE, fields[4][1])

    def mutated(self, data: bytes, known: Sequence[bytes]) -> bytes:
        """A message with something changed; `known` are ids that mean something to its receiver."""
        return self._recorded.mutated(data, [*self._known, *known])

    def drawn(self, name: str, sender: PeerId, *, known: Sequence[bytes], now: float) -> tuple[str, bytes]:
        """A message.

        Args:
            name: Tag of its type.
            sender: Who will send it.
            known: Ids that mean something to its receiver.
            now: Unix seconds.

        Returns:
            How it was made, and its bytes.
        """
        random = self._random
        if random.random() < RECORDS:
            return "records", self._store(sender, known, now)
        real = self._recorded.draw(name) if random.random() < MUTATED else None
        if real is not None:
            return "mutated", self.mutated(real, known)
        spoilt, known = random.choice(SPOILT), [*self._known, sender, *known]
        return f"schema, {spoilt:.0%} of fields spoilt", encoded(KINDS[name], random, spoilt=spoilt, known=known)

    def _store(self, sender: PeerId, known: Sequence[bytes], now: float) -> bytes:
        """A record that its owner has signed, whose value is anything."""
        random, run = self._random, self._run
        key = random.choice((progress_key(run), lines_key(run), peer_record_key(sender)))
        real = self._recorded.draw(VALUE) if random.random() >= NONSENSE else None
        value = msgspec.msgpack.encode(random.choice(HOSTILE)) if real is None else self.mutated(real, known)
        expires_ms = int((now + random.choice(LIVES_S)) * 1000)
        subkey = bytes(sender) + random.choice((b"", b"", random.randbytes(random.randrange(17))))
        record = sign_record(self._signers[sender], key, value[:VALUE_BYTES_MAX], subkey=subkey, expires_ms=expires_ms)
        return CODEC.encode(Store(random.randrange(2**32), False, key, record))
