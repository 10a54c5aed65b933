"""A donor that tells a false length of a file costs its receiver neither the others nor the file."""

from pathlib import Path
from random import Random

import pytest

from core.base.content import CHUNK_BYTES
from core.base.machine import Received, Trace
from core.kept.state_files import DiskStateSink
from core.swarm.catching_up.fetch import StateFetch
from core.swarm.words.messages import StateOffer
from core.swarm.words.outputs import Fetched
from tests.unit.swarm.test_fetch import NAME, peer, setup


@pytest.mark.parametrize("off", [-99, -1, 1, 1000])
def test_false_length_costs_no_donor_and_no_byte(tmp_path: Path, off: int) -> None:
    """Whoever offers first tells the length; digests do not bind it, and the file began so is gone on with."""
    net, _, file = setup(Random(1).randbytes(3 * CHUNK_BYTES + 100), 2)
    liar, sink = peer(9), DiskStateSink(tmp_path)
    net.fetch = StateFetch(sink=sink, trace=Trace())
    for again in (False, True):
        donors = [liar] if again else [liar, *net.donors]
        net.post(net.fetch.fetch(NAME, file.digest, donors, net.now))
        net.flying = [(to, message) for to, message in net.flying if to != liar]
        offer = StateOffer(file.digest, file.size_bytes + off, list(file.chunks))
        net.post(net.fetch.handle(Received(liar, offer), net.now))
        end = net.run()
        assert isinstance(end, Fetched), end
        assert net.fetch.gone.keys() <= {liar}
        assert Path(end.location).read_bytes() == file.data
        Path(end.location).rename(tmp_path / f"{file.digest.hex()}.part")
        net.events.clear()
        net.flying.clear()
