"""Calls of flights as frames for the engine, and what they become there."""

import asyncio
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.base.content import chunk_digests, root_digest
from core.base.manifest import Manifest
from core.base.mixture import ExpertNumbers
from core.base.problems import WorkerProblem
from core.base.signing import KeyPair
from core.codecs.registry import codec_of
from core.engine.installation import EngineOptions
from core.engine.mixture_desk import mixture_desks
from core.experts.grid import DIMENSIONS_MAX, SIZE_MAX
from core.experts.messages import ROWS_MAX
from core.experts.queue import CallKind
from core.ledger.board import Board
from core.nat.relay import RelaySettings
from core.session.participant import Role, participant_of
from core.storage.paths import Home
from core.storage.settings import Settings
from core.swarm.experts.exchange import ForgetAsks, UselessAnswer
from core.training.flights.calls import AskExpert, ExpertAnswered, ExpertLapsed, SeekPlaces
from core.training.flights.carrier import EngineCarrier
from core.workers import flight_frames as frames
from core.workers.arena import Arena
from core.workers.frames import LENGTH_BYTES, WorkerReady, encode_frame, frame_length
from core.workers.place import TrainerPlace, WorkerShare
from core.workers.trainer import Trainer

NUMBERS = ExpertNumbers(layers=2, grid=(2, 3), live=6, top=2, width=8, factor=1, codec="raw")
KEY = KeyPair(b"k" * 32)


def asked(call: int, flight: int = 1) -> AskExpert:
    rows = torch.arange(3)
    return AskExpert(
        call=call, flight=flight, layer=0, place=4, kind=CallKind.FORWARD, rows_r=rows, x_rW=torch.ones(3, 8)
    )


def answer(call: int, numbers: np.ndarray) -> frames.FlightAnswered:
    return frames.FlightAnswered(call=call, version=7, payload=bytes(codec_of("raw").encode(numbers.ravel())))


def test_answer_that_is_not_finite_is_blamed() -> None:
    said: list[frames.FlightWish] = []
    carrier = EngineCarrier(NUMBERS, said.append)
    for call in (1, 2):
        carrier.ask(asked(call))
    numbers = np.ones((3, 8), np.float32)
    carrier.take(answer(1, numbers))
    numbers[1, 2] = np.nan
    carrier.take(answer(2, numbers))
    good, bad = carrier.heard()
    assert isinstance(good, ExpertAnswered)
    assert good.found_rW.shape == (3, 8)
    assert bad == ExpertLapsed(2)
    assert said[2:] == [frames.FlightBlames(call=2)]
    carrier.take(answer(2, numbers))
    assert list(carrier.heard()) == [], "it has ended"


def test_more_experts_are_sought_where_many_calls_lapse() -> None:
    said: list[frames.FlightWish] = []
    carrier = EngineCarrier(NUMBERS, said.append)
    for call in range(10):
        carrier.seek(SeekPlaces(call, 0, torch.zeros(4, 5)))
        carrier.ask(asked(call))
        carrier.take(frames.FlightLapsed(call=call))
    counts = [frame.count for frame in said if isinstance(frame, frames.FlightSeeks)]
    assert (counts[0], counts[-1]) == (NUMBERS.top, NUMBERS.top + NUMBERS.spare)


def test_engine_lets_a_blamed_host_rest(tmp_path: Path) -> None:
    manifest = Manifest(name="n", organiser="o", task="digits", authority=KEY.peer_id.hex(), experts=NUMBERS)
    role = Role(name="volunteer", bind="127.0.0.1", relay=RelaySettings())
    participant = participant_of(manifest, role, keys=KEY, folder=tmp_path)
    told: list[object] = []
    installation = SimpleNamespace(
        options=EngineOptions(home=Home(tmp_path)),
        preferences=SimpleNamespace(settings=Settings()),
        notices=SimpleNamespace(add=told.append),
    )

    async def go() -> None:
        (desk,) = mixture_desks(
            manifest, participant, installation, account=bytes, deliver=told.append, changed=lambda: None
        )
        desk.wish(frames.FlightBlames(call=5))
        desk.wish(frames.FlightForgets(calls=(5, 6)))
        desk.wish(None)

    asyncio.run(go())
    assert told == [UselessAnswer(5), ForgetAsks((5, 6)), ForgetAsks(None)]


def test_who_waits_hears_that_the_model_is_not_measured(tmp_path: Path) -> None:
    manifest = Manifest(name="n", organiser="o", task="digits", authority=KEY.peer_id.hex(), experts=NUMBERS)
    (tmp_path / "arena").mkdir()
    places = {name: tmp_path / name for name in ("manifest_path", "blobs", "states", "arena", "log")}
    place = TrainerPlace(
        peer=KEY.peer_id,
        manifest=manifest,
        **places,
        residuals=tmp_path / "residuals",
        means=tmp_path / "means",
        seed=0,
        share=lambda: WorkerShare("cpu", 1, compile=False, memory_bytes=None, disk_gigabytes=1),
    )
    state = tmp_path / "state"
    state.write_bytes(b"a state")
    ready = WorkerReady(
        epoch=0,
        lineage=bytes(32),
        digest=root_digest(chunk_digests([b"a state"])),
        checkpoint=str(state),
        numel=4,
        parameters=4,
    )

    async def go() -> None:
        board = Board(tmp_path / "board.json", target_samples=100)
        trainer = Trainer(
            place, tell=lambda _: None, ledger=board, changed=lambda: None, notice=lambda _: None, random=Random(1)
        )
        Arena.create(Path(trainer.start_frame().arena_path), 4)
        await trainer.heard(ready)
        waiting = asyncio.create_task(trainer.evaluate())
        await asyncio.sleep(0)
        await trainer.heard(frames.FlightsUnmeasured())
        with pytest.raises(WorkerProblem, match="Too few experts answer"):
            await waiting

    asyncio.run(go())


def test_scores_of_the_largest_batch_and_grid_fit_a_frame() -> None:
    scores, said = torch.zeros(ROWS_MAX, DIMENSIONS_MAX * SIZE_MAX), list[frames.FlightWish]()
    EngineCarrier(NUMBERS, said.append).seek(SeekPlaces(1, 0, scores))
    frame = encode_frame(said[0])
    assert frame_length(frame[:LENGTH_BYTES]) == len(frame) - LENGTH_BYTES
