"""The words in which the engine's state is told."""

from random import Random

import numpy as np
import pytest

from core.api.snapshot import Activity
from core.base.ids import PeerId
from core.base.machine import Tick
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import NoSpace
from core.base.signing import Ed25519Verifier, KeyPair
from core.engine.snapshots import Standpoint, clock_notice, take_snapshot
from core.nat.reach import OwnReach, Reachability
from core.swarm.answers import SamplesCounted, TrainerReady
from core.swarm.assisting import REFUSED_MAX
from core.swarm.epoch import Cue
from core.swarm.membership import SILENT_S
from core.swarm.participant import Participant, ParticipantSettings
from core.swarm.progress import ProgressReport
from core.swarm.states import State, StateName
from core.workers.state_files import DiskStateSink

KEY = KeyPair(b"k" * 32)
MANIFEST = Manifest(name="n", organiser="o", task="albert", authority=KEY.peer_id.hex(), target_samples=100)

STANDING_STILL = AveragingNumbers()


def participant(tmp_path, role="volunteer", averaging=STANDING_STILL):
    settings = ParticipantSettings(
        run=MANIFEST.id,
        target_samples=100,
        averaging=averaging,
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


def test_a_network_that_is_left_alone_says_why_and_the_switch_stays_on(tmp_path):
    snapshot = take_snapshot(at(participant=participant(tmp_path), manifest=MANIFEST, resting="Paused: it costs."))
    assert snapshot.activity is Activity.PAUSED
    assert snapshot.sentence == "Paused: it costs."
    assert snapshot.contributing


def test_how_others_reach_this_computer():
    assert take_snapshot(at()).reach is None
    seen = take_snapshot(at(reach=OwnReach(Reachability.RELAYED, relays=2))).reach
    assert seen is not None
    assert (seen.standing, bool(seen.sentence), bool(seen.advice)) == ("relayed", True, True)


def test_who_hears_others_is_not_offline(tmp_path):
    peer = participant(tmp_path)
    offline = OwnReach(Reachability.OFFLINE)
    assert take_snapshot(at(participant=peer, manifest=MANIFEST, reach=offline)).reach.standing == "offline"
    report = ProgressReport(
        role="backbone", name="Backbone", activity="waiting", host="127.0.0.1", port=1, epoch=7, lineage=b"l" * 32,
        digest=b"", in_step=False, samples=0, samples_per_s=0.0, time=9.0,
    )  # fmt: skip
    peer.membership.heard(PeerId(b"p" * 32), report, expires=999.0, now=9.0)
    seen = take_snapshot(at(participant=peer, manifest=MANIFEST, reach=offline)).reach
    assert (seen.standing, "firewall" in seen.advice) == ("unknown", False)
    later = 10.0 + SILENT_S
    assert take_snapshot(at(participant=peer, manifest=MANIFEST, reach=offline, now=later)).reach.standing == "offline"


def joining(tmp_path, **more):
    peer = participant(tmp_path, **more)
    vector = np.zeros(4, np.float32)
    peer.start([], now=0.0)
    peer.handle(
        TrainerReady(state=State(StateName(7, b"l" * 32), b"d" * 32, "x"), contribution=vector, mean=vector), 1.0
    )
    return peer


def trained(tmp_path, *, samples, **more):
    peer = joining(tmp_path, **more)
    while peer.epochs.phase == "joining":
        assert peer.deadline is not None
        peer.handle(Tick(), peer.deadline)
    peer.handle(SamplesCounted(epoch=7, samples=samples, samples_per_s=8.0, loss=1.0), 7.0)
    return peer


def test_joining_is_said(tmp_path):
    snapshot = take_snapshot(at(participant=joining(tmp_path), manifest=MANIFEST))
    assert snapshot.activity is Activity.JOINING


def test_training_says_how_far_and_with_whom(tmp_path):
    peer = trained(tmp_path, samples=40)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST))
    assert snapshot.activity is Activity.TRAINING
    assert snapshot.sentence == "Training alone for now: 40 of 100 samples for epoch 8."
    assert (snapshot.epoch, snapshot.epoch_samples, snapshot.samples_per_s) == (7, 40, 8.0)
    (me,) = snapshot.peers
    assert me.samples_per_s == 8.0
    assert me.is_me
    assert me.samples_pending == 40


def test_more_than_enough_samples_are_enough(tmp_path):
    peer = trained(tmp_path, samples=547_200)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST))
    assert snapshot.sentence == "Training alone for now: all 100 samples for epoch 8 are gathered."


@pytest.mark.parametrize(("delayed", "words"), [(False, ""), (True, " while training goes on")])
def test_averaging_says_whether_training_goes_on(tmp_path, *, delayed, words):
    peer = trained(tmp_path, samples=40, averaging=AveragingNumbers(delayed=delayed))
    peer.epochs.advance(Cue.WANTED)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST))
    assert snapshot.activity is Activity.AVERAGING
    assert snapshot.sentence == f"Averaging alone for now{words}: everyone's work becomes epoch 8 of the model."


def test_who_only_averages_for_others_says_why(tmp_path):
    peer = trained(tmp_path, samples=0)
    for _ in range(REFUSED_MAX):
        assert take_snapshot(at(participant=peer, manifest=MANIFEST)).activity is Activity.TRAINING
        peer.assisting.ended(samples=40, gives=False)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST))
    assert snapshot.sentence == "Helps to average: this line is too slow for its own gradients."
    assert snapshot.samples_per_s == 0.0
    assert "Welcoming" in take_snapshot(at(participant=participant(tmp_path, "backbone"), manifest=MANIFEST)).sentence


def test_who_has_stopped_has_no_speed(tmp_path):
    peer = trained(tmp_path, samples=40)
    snapshot = take_snapshot(at(participant=peer, manifest=MANIFEST, contributing=False))
    assert (snapshot.me.samples_per_s, snapshot.samples_per_s, snapshot.peers[0].samples_per_s) == (0.0, 0.0, 0.0)
    left = ProgressReport(
        role="volunteer", name="Bea", activity="finished", host="127.0.0.1", port=1, epoch=7, lineage=b"l" * 32,
        digest=b"", in_step=False, samples=0, samples_per_s=61.8, time=9.0,
    )  # fmt: skip
    peer.membership.heard(PeerId(b"p" * 32), left, expires=99.0, now=9.0)
    bea = take_snapshot(at(participant=peer, manifest=MANIFEST)).peers[1]
    assert (bea.name, bea.activity, bea.samples_per_s) == ("Bea", "finished", 0.0)


def test_who_has_not_reported_lately_has_no_speed(tmp_path):
    peer = trained(tmp_path, samples=40)
    report = ProgressReport(
        role="volunteer", name="Bea", activity="training", host="127.0.0.1", port=1, epoch=7, lineage=b"l" * 32,
        digest=b"", in_step=True, samples=3, samples_per_s=61.8, time=9.0,
    )  # fmt: skip
    peer.membership.heard(PeerId(b"p" * 32), report, expires=99.0, now=9.0)
    speeds = [
        take_snapshot(at(participant=peer, manifest=MANIFEST, now=now)).peers[1].samples_per_s
        for now in (10.0, 9.0 + SILENT_S)
    ]
    assert speeds == [61.8, 0.0]


def test_a_backbone_watches(tmp_path):
    snapshot = take_snapshot(at(participant=participant(tmp_path, role="backbone"), manifest=MANIFEST))
    assert snapshot.activity is Activity.WAITING
    assert "does not train" in snapshot.sentence


def test_a_wrong_clock_is_told_with_what_to_do():
    level, sentence = clock_notice(42.4)
    assert level == "warning"
    assert "42 seconds behind" in sentence
    assert "settings" in sentence
    assert "ahead of" in clock_notice(-31.0)[1]
    assert clock_notice(0.0) == ("info", "This computer's clock agrees with the others' again.")


def test_a_helper_says_that_it_helps_and_where_the_others_stand(tmp_path):
    actor = participant(tmp_path, role="helper")
    actor.help(1 << 20, 10.0)
    other = PeerId(b"o" * 32)
    report = ProgressReport("helper", "Hal", "helping", "", 0, 4, b"l" * 32, b"", False, 0, 0.0, 10.0, helps=True)
    actor.membership.heard(other, report, expires=30.0, now=10.0)
    training = ProgressReport("volunteer", "Bob", "training", "", 0, 7, b"m" * 32, b"d" * 32, True, 5, 2.0, 10.0)
    actor.membership.heard(PeerId(b"b" * 32), training, expires=30.0, now=10.0)
    actor.standby.look(10.0)
    snapshot = take_snapshot(at(participant=actor, manifest=MANIFEST))
    assert snapshot.activity is Activity.HELPING
    assert "trains nothing itself" in snapshot.sentence
    assert (snapshot.epoch, snapshot.epoch_samples) == (7, 5)
    assert {(view.name, view.role, view.activity) for view in snapshot.peers} == {
        ("Ada", "helper", "helping"),
        ("Hal", "helper", "helping"),
        ("Bob", "volunteer", "training"),
    }
    paused = take_snapshot(at(participant=actor, manifest=MANIFEST, contributing=False))
    assert paused.activity is Activity.PAUSED
