"""No message ends a host: members that say anything at all, to participants among real sockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from core.base.bounds import FOLLOWED_EPOCH_MAX
from core.base.ids import Key
from core.base.machine import Send
from core.base.signing import KeyPair
from core.base.wire import CONTROL_BYTES_MAX, Message, MessageCodec
from core.dht.messages import VALUE_BYTES_MAX, Store
from core.dht.records import sign_record
from core.nat.peer_record import peer_record_key
from core.swarm.participant import Participant
from core.swarm.presence.line_news import lines_key
from core.swarm.words.answers import TrainerReady
from core.swarm.words.messages import StateAsk
from core.swarm.words.progress import ProgressReport, progress_key
from core.swarm.words.states import State, StateName, first_state
from tests.hostile_values import HOSTILE, encoded
from tests.process.net_people import eventually, in_loop, keys
from tests.process.test_session import EVERYWHERE, LOOPBACK, MANIFEST, Computer, two
from tests.sim.swarm.disk import MemoryFile

pytestmark = pytest.mark.process
CODEC = MessageCodec(Participant.MESSAGES)
FIRST = first_state(MANIFEST.id)
FILE = MemoryFile(b"a state" * 1000)
NESTED = b"\x91" * 5000
ROUNDS_OF_ALL = 3
"""Messages of each type that are well-formed, and that are not."""


@contextlib.asynccontextmanager
async def hostile(folder: Path, victim: Computer, *, bind: str) -> AsyncIterator[Computer]:
    """A member that knows the victim, and says what the test has it say."""
    mallory = Computer("mallory", folder, bind=bind)
    await mallory.session.listen(bind=bind)
    contact = victim.contact()
    mallory.session.host.learn(contact.peer_id, contact.host, contact.port)
    try:
        yield mallory
    finally:
        await mallory.session.close()


def train(computer: Computer, name: StateName = FIRST) -> None:
    """Give a computer a trainer that stands with a state."""
    vector = np.ones(64, dtype=np.float32)
    state = State(name, FILE.digest, "here")
    computer.session.deliver(TrainerReady(state=state, contribution=vector, mean=vector.copy()))


async def say(mallory: Computer, victim: Computer, kind: type[Message], data: bytes) -> None:
    """Send bytes on the plane of a type of message; a link that the victim has closed is made anew at once."""
    to, host = victim.contact().peer_id, mallory.session.host
    if kind.plane == "datagram":
        host._port.send(to, data[:1000])
        await asyncio.sleep(0.001)
        return
    host.links.moved()
    data = data if kind.bulk else data[:CONTROL_BYTES_MAX]
    links = host.links.to(to)
    links.send(data, bulk=kind.bulk)
    await eventually(lambda: links.streams or not links._waiting)
    await asyncio.sleep(0.002)


@pytest.mark.parametrize("spoilt", [0.0, 0.2])
def test_hostile_values_in_every_message_end_nothing(tmp_path, caplog, spoilt):
    @in_loop
    async def run():
        async with two(tmp_path, EVERYWHERE) as (backbone, volunteer):
            train(volunteer)
            await eventually(lambda: backbone.sees() == {"ben"} and volunteer.sees() == {"anna"})
            honest = backbone.contact().peer_id
            volunteer.session.host.perform([Send(honest, StateAsk(bytes(32)))])
            await eventually(lambda: backbone.usernames() == {"ben"})
            links = set(volunteer.session.host.links.to(honest).streams)
            async with hostile(tmp_path, volunteer, bind=EVERYWHERE) as mallory:
                random, me = Random(7), volunteer.contact().peer_id
                known = [me, keys("mallory").peer_id, honest, FIRST.lineage, FILE.digest, progress_key(MANIFEST.id)]
                for _ in range(ROUNDS_OF_ALL):
                    for kind in Participant.MESSAGES:
                        await say(mallory, volunteer, kind, encoded(kind, random, spoilt=spoilt, known=known))
                await eventually(lambda: volunteer.session.peer.trace["net.drop.message"] or not spoilt)
            assert not [record for record in caplog.records if record.levelname == "ERROR"]
            assert volunteer.session.peer.trace["net.drop.failed"] == 0
            assert set(volunteer.session.host.links.to(honest).streams) == links
            heard = max(report.time for report in backbone.reports())
            await eventually(lambda: max(report.time for report in backbone.reports()) > heard)

    run()


def test_hostile_values_in_every_record_end_nothing(tmp_path, caplog):
    @in_loop
    async def run():
        async with two(tmp_path, LOOPBACK) as (backbone, volunteer):
            train(volunteer)
            await eventually(lambda: backbone.sees() == {"ben"} and volunteer.sees() == {"anna"})
            async with hostile(tmp_path, backbone, bind=LOOPBACK) as mallory:
                own, run_id = keys("mallory"), MANIFEST.id
                fits = report(mallory)
                values = [msgspec.msgpack.encode(value) for value in HOSTILE]
                values += [NESTED, b"\x9f" + b"\xff" * 40, *(spoilt(fits, place) for place in range(len(fits)))]
                places = (progress_key(run_id), lines_key(run_id), peer_record_key(own.peer_id))
                for value in [one[:VALUE_BYTES_MAX] for one in values]:
                    for key in places:
                        await say(mallory, backbone, Store, store(mallory, Key(key), value))
            view, ben = backbone.session.peer.view, volunteer.contact().peer_id
            heard = view(backbone.clock.now()).peers[ben].time
            await eventually(lambda: view(backbone.clock.now()).peers[ben].time > heard)
            assert not [record for record in caplog.records if record.levelname == "ERROR"]
            assert not backbone.session.peer.trace["net.drop.failed"] + volunteer.session.peer.trace["net.drop.failed"]

    run()


def report(of: Computer) -> list[object]:
    """A report that fits the schema, as a list."""
    told = ProgressReport(
        role="volunteer",
        activity="training",
        host="",
        port=0,
        epoch=FOLLOWED_EPOCH_MAX + 1,
        lineage=b"\xff" * 32,
        digest=FILE.digest,
        in_step=True,
        samples=0,
        samples_per_s=1.0,
        time=of.clock.now(),
    )
    return list(msgspec.msgpack.decode(msgspec.msgpack.encode(told)))


def spoilt(fields: list[object], place: int) -> bytes:
    """The fields with another value in one place."""
    return msgspec.msgpack.encode([*fields[:place], HOSTILE[place % len(HOSTILE)], *fields[place + 1 :]])


def store(mallory: Computer, key: Key, value: bytes, *, owner: KeyPair | None = None) -> bytes:
    """A request to hold a record that its owner has signed."""
    own = owner or keys(mallory.name)
    expires_ms = int((mallory.clock.now() + 75) * 1000)
    record = sign_record(own, key, value, subkey=own.peer_id, expires_ms=expires_ms)
    return CODEC.encode(Store(1, False, key, record))
