"""Every number that a stranger names has a bound on both sides, so that NaN and infinity are refused as well."""

import msgspec
import pytest

from core.averaging.bandwidth.records import LineFacts
from core.averaging.receipts.receipt import Receipt
from core.backbone.desk_messages import PassGrant, PassRequest
from core.backbone.signed_time import SignedTime
from core.ledger import ledger
from core.nat.peer_record import PeerRecord
from core.session.session import BESIDE_MESSAGES
from core.swarm.participant import Participant
from core.swarm.words.progress import ProgressReport
from tests.contracts.bounds import unbounded_numbers

TYPES = [
    *(*Participant.MESSAGES, *BESIDE_MESSAGES),
    *(ProgressReport, LineFacts, PeerRecord, Receipt, ledger._LedgerFile, PassGrant, PassRequest, SignedTime),
]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_numbers_of_strangers_have_bounds(kind: type[msgspec.Struct]) -> None:
    assert unbounded_numbers(kind) == []
