"""The measurement of the DHT works, on something small."""

import asyncio

import pytest

from tests.bench.dht import dht

pytestmark = pytest.mark.process


def test_all_that_was_stored_is_found():
    once = asyncio.run(dht.measure(8, processes=2, silent=0.0, keys=8))
    assert set(once.figures) >= {"store_seq", "get_seq", "store_par", "get_par", "store_8_subkeys", "get_8_subkeys"}
    assert all(figures.ok == figures.n > 0 for figures in once.figures.values())
