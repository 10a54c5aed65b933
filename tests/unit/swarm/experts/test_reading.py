"""How a trainer finds experts by what hosts say in the DHT."""

from random import Random

import numpy as np
import pytest

from core.base.ids import PeerId
from core.dht.events import Found
from core.dht.messages import Record
from core.experts.grid import ExpertGrid
from core.experts.table import REFRESH_S, ExpertTable
from core.swarm.experts.other_hosts import OtherHosts
from core.swarm.experts.reading import EMPTY_S, LOOK_S, READS_MAX, SEARCH_S, ExpertReader, ExpertsSought
from core.swarm.experts.records import (
    AGE_MAX,
    LIFETIME_S,
    ExpertRow,
    Mixture,
    bits_of,
    claims_in,
    coordinates_in,
    decode_row,
    encode_row,
    row_key,
)

A, B = (PeerId(bytes([n]) * 32) for n in (1, 2))
RUN = bytes(32)


class Directory:
    """A DHT whose reads are answered when a test says so."""

    def __init__(self):
        self.asked, self.rows = [], {}

    def host(self, peer, layer, prefix, *coordinates, until=1e6):
        key = row_key(RUN, layer, prefix)
        record = Record(peer, encode_row(ExpertRow(hosted=bits_of(coordinates))), int(1000 * until), bytes(64))
        self.rows.setdefault(key, []).append(record)

    def get(self, keys, now, *, quorum=None):
        assert quorum == 2
        self.asked += keys
        return []

    def answer(self, reader, now):
        """All that was asked is found; returns what follows."""
        asked, self.asked = self.asked, []
        return [said for key in asked for said in reader.found(Found(key, tuple(self.rows.get(key, ()))), now)]


def reader_of(sizes, live, layers=1):
    directory = Directory()
    grid = ExpertGrid(sizes, live)
    tables = {layer: ExpertTable(grid, owner_most=live) for layer in range(layers)}
    return reader_with(Mixture(RUN, layers, grid, live), tables, directory), directory


def reader_with(mixture, tables, directory):
    return ExpertReader(mixture, tables, directory, OtherHosts(PeerId(bytes(32)), mixture, (), Random(0)))


def scores_of(sizes, samples=2, seed=0):
    return np.random.default_rng(seed).standard_normal((samples, sum(sizes))).astype(np.float32)


def test_first_search_reads_and_later_ones_do_not():
    reader, directory = reader_of((4, 4), 16)
    for row in range(4):
        directory.host(A, 0, (row,), 0, 1)
        directory.host(B, 0, (row,), 2)
    assert reader.seek(7, 0, scores_of((4, 4)), 3, now=10.0) == []
    outputs = []
    for _ in range(4):
        outputs += directory.answer(reader, 10.1)
    (sought,) = outputs
    assert isinstance(sought, ExpertsSought)
    assert (sought.ticket, sought.places.shape) == (7, (2, 3))
    assert (sought.places % 4 < 3).all(), "nobody hosts the last column"
    reader.tick(10.0)
    directory.answer(reader, 10.2)
    (again,) = reader.seek(8, 0, scores_of((4, 4)), 3, now=10.3)
    assert again.places.tolist() == sought.places.tolist()
    assert directory.asked == []


def test_search_takes_what_is_known_when_its_time_is_over():
    reader, directory = reader_of((4, 4), 16)
    directory.host(A, 0, (2,), 3)
    reader.seek(1, 0, scores_of((4, 4)), 2, now=10.0)
    assert reader.deadline == 10.0, "rows that nobody has read"
    assert reader.tick(10.0) == []
    asked, directory.asked = directory.asked, [row_key(RUN, 0, (2,))]
    assert len(asked) == 4
    assert directory.answer(reader, 10.1) == []
    (sought,) = reader.tick(10.0 + SEARCH_S)
    assert sought.places.tolist() == [[11, -1], [11, -1]]
    assert reader.found(Found(row_key(RUN, 1, (2,)), ()), 10.5) is None, "of no layer of its own"


def test_reads_at_a_time_are_bounded():
    reader, directory = reader_of((256, 2), 512)
    directory.host(A, 0, (0,), 1)
    reader.seek(1, 0, scores_of((256, 2)), 2, now=0.0)
    reader.tick(0.0)
    assert len(directory.asked) == READS_MAX
    directory.answer(reader, 0.1)
    reader.tick(1.0)
    assert len(directory.asked) == READS_MAX
    directory.answer(reader, 1.1)
    for row in range(256):
        directory.host(A, 0, (row,), 0)
    reader.tick(REFRESH_S)
    assert directory.asked == [], "empty rows rest longer"


def test_row_keeps_its_coordinates():
    for coordinates in ([], [0], [7, 8], [255], list(range(256))):
        assert list(coordinates_in(bits_of(coordinates))) == coordinates
        row = ExpertRow(bits_of(coordinates), wait=255, ages=bytes(len(coordinates)))
        assert claims_in(decode_row(encode_row(row)), 100.0 + LIFETIME_S) == dict.fromkeys(coordinates, 100)


def test_row_tells_when_each_place_was_claimed():
    row = ExpertRow(hosted=bits_of([2, 9]), claimed=bits_of([0, 5]), ages=bytes([7, AGE_MAX, 0]))
    assert claims_in(row, 1_000.999 + LIFETIME_S) == {0: 993, 2: 0, 5: 1_000, 9: 0}


@pytest.mark.parametrize("prefix", [(), (3,), (3, 4)])
def test_keys_of_rows_are_apart(prefix):
    others = [(0, prefix), (1, prefix), (0, (*prefix, 0))]
    assert len({row_key(RUN, layer, other) for layer, other in others}) == 3
    assert row_key(RUN, 0, prefix) != row_key(bytes([1]) * 32, 0, prefix)
    if prefix:
        assert row_key(RUN, 0, prefix)[:20] == row_key(RUN, 0, (*prefix[:-1], 9))[:20], "they lie at the same peers"


def test_search_waits_until_somebody_hosts_an_expert():
    reader, directory = reader_of((4, 4), 16)
    assert reader.seek(1, 0, scores_of((4, 4)), 2, now=10.0) == []
    assert [said for _ in range(4) for said in directory.answer(reader, 10.1)] == []
    assert reader.lacks(10.5) is None
    now = 11.0
    for _ in range(70):
        assert reader.tick(now) == []
        assert reader.deadline > now, "no turn without a pause"
        directory.answer(reader, now)
        now += 1.0
    assert reader.lacks(now) == 0
    directory.host(A, 0, (2,), 3)
    outputs = []
    while not outputs and now < 200:
        outputs = [*reader.tick(now), *directory.answer(reader, now)]
        now += 1.0
    (sought,) = outputs
    assert sought.places.tolist() == [[11, -1], [11, -1]]
    assert reader.lacks(now) is None


def test_layer_of_which_all_have_failed_is_asked_again_soon():
    """A busy computer hosts all of a layer, and was late twice at each place: nobody else is left."""
    directory, grid = Directory(), ExpertGrid((2, 2), 4)
    table = ExpertTable(grid, owner_most=4)
    reader = reader_with(Mixture(RUN, 1, grid, 4), {0: table}, directory)
    for row in range(2):
        directory.host(A, 0, (row,), 0, 1)
    reader.seek(1, 0, scores_of((2, 2)), 1, now=10.0)
    assert directory.answer(reader, 10.0)
    for _ in range(2):
        for number in range(4):
            table.failed(grid.place(number))
    assert reader.seek(2, 0, scores_of((2, 2)), 1, now=10.0) == []
    now, found = 10.0, []
    while not found and now < 80.0:
        now += 0.5
        found = [said for said in (*reader.tick(now), *directory.answer(reader, now)) if said.ticket == 2]
    assert 10.0 + LOOK_S < now <= 10.0 + EMPTY_S + 2 * LOOK_S
