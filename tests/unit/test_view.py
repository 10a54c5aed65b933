"""The words in which the engine's state is told."""

from random import Random

import numpy as np

from core.api.snapshot import Activity
from core.base.machine import Tick
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import NoSpace
from core.base.signing import Ed25519Verifier, KeyPair
from core.swarm.participant import Participant, ParticipantSettings
from core.swarm.states import State, StateName
from core.view import Standpoint, take_snapshot
from core.workers.state_files import DiskStateSink

KEY = KeyPair(b"k" * 32)
MANIFEST = Manifest(name="n", organiser="o", task="albert", authority=KEY.peer_id.hex(), target_samples=100)


def participant(tmp_path, role="volunteer"):
    settings = ParticipantSettings(
        run=MANIFEST.id,
        target_samples=100,
        averaging=AveragingNumbers(),
        evaluate_every=5,
        role=role,
        name="Ada",
    )
    return Participant(
        settings=settings,
        signer=KEY,
        verifier=Ed25519Verifier(),
        random=Random(1),
        sink=DiskStateSink(tmp_path),
    )


def at(**changes):
    fields = {"pid": 1, "now": 10.0, "stage": "Reading text.", "contributing": True, "name": "Ada", "me": KEY.peer_id}
    return Standpoint(**(fields | changes))


def test_before_it_has_joined_the_engine_says_what_it_prepares():
    snapshot = take_snapshot(at())
    assert snapshot.activity is Activity.STARTING
    assert snapshot.sentence == "Reading text."
    assert snapshot.collaboration is None


def test_a_problem_goes_before_everything(tmp_path):
    problem = NoSpace("The disk is full.", hint="Free some space.")
    snapshot = take_snapshot(at(participant=participant(tmp_path), manifest=MANIFEST, problem=problem))
    assert snapshot.activity is Activity.PROBLEM
    assert snapshot.sentence == "The disk is full."
    assert snapshot.problem is not None
    assert (snapshot.problem.code, snapshot.problem.hint) == ("no_space", "Free some space.")


def test_pause_is_the_persons_own_word(tmp_path):
    snapshot = take_snapshot(at(participant=participant(tmp_path), manifest=MANIFEST, contributing=False))
    assert snapshot.activity is Activity.PAUSED
    assert "you" in snapshot.sentence


def test_training_says_how_far_and_with_whom(tmp_path):
    peer = participant(tmp_path)
    vector = np.zeros(4, np.float32)
    peer.start([], now=0.0)
    peer.trainer_ready(State(StateName(7, b"l" * 32), b"d" * 32, "x"), contribution=vector, mean=vector, now=1.0)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST))
    assert snapshot.activity is Activity.JOINING
    deadline = peer.deadline
    while peer.epochs.phase == "joining":
        assert deadline is not None

        peer.handle(Tick(), deadline)
        deadline = peer.deadline
    peer.progressed(samples=40, samples_per_s=8.0, loss=1.0, now=7.0)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST))
    assert snapshot.activity is Activity.TRAINING
    assert snapshot.sentence == "Training alone for now: 40 of 100 samples for epoch 8."
    assert (snapshot.epoch, snapshot.epoch_samples, snapshot.samples_per_s) == (7, 40, 8.0)
    (me,) = snapshot.peers
    assert me.is_me
    assert me.samples_pending == 40


def test_a_backbone_watches(tmp_path):
    snapshot = take_snapshot(at(participant=participant(tmp_path, role="backbone"), manifest=MANIFEST))
    assert snapshot.activity is Activity.WAITING
    assert "does not train" in snapshot.sentence
