"""A store goes on until enough peers hold the record, and asks no more of them."""

import pytest

from core.base.ids import Contact, hashed_key
from core.dht.lookup import Lookup, LookupOptions
from core.dht.messages import Store, Stored
from core.dht.operations import FindNode
from core.dht.records import sign_record
from core.dht.store_operation import StoreOperation
from tests.unit.dht.network import START, ToySigner, contact, peer_id

KEY = hashed_key(b"key")
REPLICAS = 4
ROUTE = [contact(number) for number in range(2 * REPLICAS)]


def stored(*, refusing: list[Contact]) -> tuple[StoreOperation, list[Contact]]:
    """A store to peers that are known; all accept except some."""
    owner = ToySigner(peer_id(100))
    record = sign_record(owner, KEY, b"v", subkey=bytes(owner.peer_id), expires_ms=int((START + 600) * 1000))
    finding = FindNode(Lookup(KEY, (), width=REPLICAS, options=LookupOptions(parallel=4)))
    storing = StoreOperation(finding, [record], me=peer_id(101), route=ROUTE, keep=None, replicas=REPLICAS)
    asked: list[Contact] = []
    while not storing.done:
        for ask in storing.asks():
            asked.append(ask.contact)
            assert isinstance(ask.request, Store)
            accepted = ask.contact not in refusing
            storing.answered(ask.contact, ask.request, Stored(0, accepted), START)
    return storing, asked


@pytest.mark.parametrize("refuse", range(REPLICAS + 1))
def test_store_asks_farther_peers_where_nearer_ones_refuse(refuse: int) -> None:
    storing, asked = stored(refusing=ROUTE[:refuse])
    assert set(storing.accepted.values()) == {REPLICAS}
    assert asked == ROUTE[: REPLICAS + refuse]


def test_store_ends_where_nobody_is_left_to_ask() -> None:
    storing, asked = stored(refusing=ROUTE[1:])
    assert set(storing.accepted.values()) == {1}
    assert asked == ROUTE
