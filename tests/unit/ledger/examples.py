"""Receipts of pretended rounds."""

from core.averaging.receipts.receipt import Deed, Receipt, Statement, attest
from core.base.ids import PeerId, hashed_key
from core.base.signing import KeyPair

KEYS = sorted((KeyPair(bytes([number]) * 32) for number in range(1, 4)), key=lambda key: key.peer_id)
PEERS = [key.peer_id for key in KEYS]
RELAY = PeerId(b"r" * 32)


def receipt(number: int, *, relayed_bytes: int = 0, time: float = 1_700_000_000.0) -> Receipt:
    """Receipt of round `number`: the first gives, the second gives and reduces, the third reduces only."""
    deeds = (Deed(PEERS[0], 10, 8, 0), Deed(PEERS[1], 20, 8, 300), Deed(PEERS[2], 0, 0, 700))
    said = Statement(bytes(32), hashed_key(b"%d" % number), number, bytes(32), bytes(32), 8, deeds)
    carried = {RELAY: relayed_bytes} if relayed_bytes else {}
    return Receipt(said, tuple(attest(said, key, time=time + number, relayed=carried) for key in KEYS[:2]))
