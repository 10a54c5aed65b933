"""The words in which the engine's state is told."""

from dataclasses import replace

import msgspec
import pytest

from core.api import verdict as verdicts
from core.api.snapshot import Activity, CurvePoint, ExpertsLack, HostingView
from core.averaging.plan import Rates
from core.base.ids import PeerId, short
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import NoSpace
from core.base.signing import KeyPair
from core.engine.network.clock_watch import clock_notice
from core.engine.shown.snapshots import Standpoint, take_snapshot
from core.ledger.board import Board
from core.ledger.ledger import Ledger
from core.nat.reachability import OwnReach, Reachability
from core.net.identity.passes import Pass, PassRole
from core.swarm.view import ParticipantView
from core.swarm.words.epoch import Phase
from core.swarm.words.outputs import Fetching
from core.swarm.words.progress import ProgressReport
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName

KEY = KeyPair(b"k" * 32)
MANIFEST = Manifest(name="n", organiser="o", task="albert", authority=KEY.peer_id.hex(), target_samples=100)
BEA, HAL = PeerId(b"b" * 32), PeerId(b"o" * 32)
PASSES = {peer: Pass(peer, name, "", 0.0, 1e10, peer) for peer, name in ((BEA, "Bea"), (HAL, "Hal"))}
HELD = StateName(7, b"l" * 32)


def seen(role="volunteer", averaging=None, **changes):
    """A participant, as it may be seen; it trains at epoch 7 unless `changes` say otherwise."""
    settings = ParticipantSettings(
        run=MANIFEST.id,
        target_samples=100,
        averaging=averaging or AveragingNumbers(),
        evaluate_every=5,
        role=role,
    )
    fields = {
        "settings": settings,
        "phase": Phase.TRAINING,
        "state": HELD,
        "followed": HELD,
        "assists": False,
        "fetching": None,
        "samples": 0,
        "samples_per_s": 8.0,
        "others_samples": 0,
        "others_samples_per_s": 0.0,
        "peers": {},
        "silent": frozenset(),
        "audible": False,
        "line": Rates(),
        "trip_s": 0.0,
    }
    return ParticipantView(**(fields | changes))


def report(**changes):
    fields = {
        "role": "volunteer", "activity": "training", "host": "", "port": 0, "epoch": 7,
        "lineage": b"l" * 32, "digest": b"", "in_step": True, "samples": 3, "samples_per_s": 61.8, "time": 9.0,
    }  # fmt: skip
    return ProgressReport(**(fields | changes))


STAGE = verdicts.starting("preparing", stage="Reading text.")


def at(**changes):
    fields = {"pid": 1, "now": 10.0, "stage": STAGE, "contributing": True, "name": "Ada", "me": KEY.peer_id}
    fields["passes"] = PASSES
    return Standpoint(**(fields | changes))


def test_before_it_has_joined_the_engine_says_what_it_prepares():
    snapshot = take_snapshot(at())
    assert snapshot.activity is Activity.STARTING
    assert snapshot.sentence == "Reading text."
    assert snapshot.collaboration is None


def test_what_keeps_the_engine_from_going_on_goes_before_everything():
    problem = NoSpace("The disk is full.", hint="Free some space.")
    snapshot = take_snapshot(at(participant=seen(), manifest=MANIFEST, failure=problem, rest=verdicts.paused()))
    assert snapshot.activity is Activity.PROBLEM
    assert snapshot.sentence == "The disk is full."
    assert snapshot.problem is not None
    assert (snapshot.problem.code, snapshot.problem.hint) == ("no_space", "Free some space.")


def test_pause_is_the_persons_own_word():
    snapshot = take_snapshot(
        at(participant=seen(), manifest=MANIFEST, contributing=False, rest=verdicts.paused(), trouble=NoSpace("Full."))
    )
    assert (snapshot.verdict.code, snapshot.activity) == ("paused", Activity.PAUSED)
    assert "you" in snapshot.sentence


def test_a_network_that_is_left_alone_says_why():
    snapshot = take_snapshot(at(participant=seen(), manifest=MANIFEST, rest=verdicts.resting("metered")))
    assert (snapshot.verdict.code, snapshot.activity) == ("resting", Activity.PAUSED)
    assert "costs money" in snapshot.sentence
    assert snapshot.contributing


def test_a_peer_that_trains_and_hears_nobody_is_not_connected():
    view, offline = seen(), OwnReach(Reachability.OFFLINE)
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST, reach=offline))
    assert (snapshot.verdict.code, snapshot.verdict.reason) == ("not_connected", "offline")
    assert snapshot.activity is Activity.TRAINING
    joining = seen(phase=Phase.JOINING)
    assert take_snapshot(at(participant=joining, manifest=MANIFEST, reach=offline)).verdict.code == "starting"


@pytest.mark.parametrize(
    ("has_way", "reason", "said"),
    [
        (True, "offline", "o's computer does not answer, nor does any other"),
        (False, "no_network", "This computer has no network"),
    ],
)
def test_whose_line_is_dead_is_said(*, has_way, reason, said):
    reach = OwnReach(Reachability.OFFLINE, has_way=has_way)
    snapshot = take_snapshot(at(participant=seen(), manifest=MANIFEST, reach=reach))
    assert snapshot.verdict.reason == reason
    assert said in snapshot.sentence
    assert snapshot.activity is Activity.TRAINING
    assert (snapshot.reach.sentence == "This computer has no network.") is not has_way


@pytest.mark.parametrize("reach", [None, OwnReach(Reachability.OFFLINE)])
def test_computer_whose_pass_has_ended_says_so(reach):
    there = at(participant=seen(), manifest=MANIFEST, reach=reach, pass_ends=10.0)
    assert take_snapshot(there).verdict.reason != "pass_ended"
    snapshot = take_snapshot(replace(there, now=71.0))
    assert snapshot.verdict.reason == "pass_ended"
    assert "o's computer does not answer and this computer's pass has ended" in snapshot.sentence
    assert snapshot.activity is Activity.TRAINING


@pytest.mark.parametrize("organiser", ["its founder", "this computer"])
def test_organiser_without_a_name_is_called_so(organiser):
    manifest = msgspec.structs.replace(MANIFEST, organiser=organiser)
    snapshot = take_snapshot(at(participant=seen(), manifest=manifest, reach=OwnReach(Reachability.OFFLINE)))
    assert snapshot.sentence.startswith("The organiser's computer does not answer")


def test_a_paused_peer_sees_where_the_others_are():
    ahead = StateName(25, b"m" * 32)
    peers = {BEA: report(epoch=25, lineage=ahead.lineage)}
    view = seen(phase=Phase.IDLE, followed=ahead, samples=40, others_samples=30, others_samples_per_s=61.8, peers=peers)
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST, contributing=False, rest=verdicts.paused()))
    assert (snapshot.epoch, snapshot.epoch_samples, snapshot.samples_per_s) == (25, 30, 61.8)
    assert snapshot.peers[0].epoch == 7


def test_how_others_reach_this_computer_is_told():
    assert take_snapshot(at()).reach is None
    reach = take_snapshot(at(reach=OwnReach(Reachability.RELAYED, relays=2))).reach
    assert reach is not None
    assert (reach.standing, bool(reach.sentence), bool(reach.advice)) == ("relayed", True, True)


@pytest.mark.parametrize(
    ("audible", "found", "told"),
    [
        (False, "offline", "offline"),
        (True, "offline", "unknown"),
        (False, "reachable", "offline"),
        (True, "reachable", "reachable"),
        (False, "unknown", "unknown"),
    ],
)
def test_a_computer_is_offline_while_it_hears_nobody(*, audible, found, told):
    view = seen(audible=audible)
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST, reach=OwnReach(Reachability(found))))
    assert snapshot.reach.standing == told
    assert ("firewall" in snapshot.reach.advice) == (told == "offline")
    assert (snapshot.verdict.code == "not_connected") == (told == "offline")


def test_joining_is_said():
    snapshot = take_snapshot(at(participant=seen(phase=Phase.JOINING), manifest=MANIFEST))
    assert snapshot.activity is Activity.JOINING


def test_training_says_how_far_and_with_how_many():
    snapshot = take_snapshot(at(participant=seen(samples=40), manifest=MANIFEST))
    assert snapshot.activity is Activity.TRAINING
    assert snapshot.sentence == "Training alone for now: 40 of 100 samples for step 8."
    assert (snapshot.epoch, snapshot.epoch_samples, snapshot.samples_per_s) == (7, 40, 8.0)
    (me,) = snapshot.peers
    assert (me.is_me, me.samples_pending, me.samples_per_s) == (True, 40, 8.0)


def test_the_others_samples_and_speed_are_added():
    view = seen(samples=40, others_samples=3, others_samples_per_s=61.8, peers={BEA: report()})
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST))
    assert snapshot.sentence == "Training together with one other: 43 of 100 samples for step 8."
    assert (snapshot.epoch_samples, snapshot.samples_per_s) == (43, 69.8)


@pytest.mark.parametrize(
    ("activity", "role", "words"),
    [
        ("stepping", "volunteer", "together with one other"),
        ("fetching", "volunteer", "together with one other"),
        ("loading", "volunteer", "together with one other"),
        ("joining", "volunteer", "alone for now"),
        ("idle", "volunteer", "alone for now"),
        ("finished", "volunteer", "alone for now"),
        ("idle", "backbone", "alone for now"),
        ("helping", "helper", "alone for now"),
        ("a word of another version", "volunteer", "alone for now"),
    ],
)
def test_a_peer_between_two_steps_is_company(activity, role, words):
    """A report that was read while its peer took the step is no news that it has gone."""
    view = seen(samples=40, peers={BEA: report(activity=activity, role=role, in_step=False)})
    passes = {BEA: Pass(BEA, "Bea", "", 0.0, 1e10, BEA, PassRole.BACKBONE if role == "backbone" else PassRole.MEMBER)}
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST, passes=passes))
    assert snapshot.sentence == f"Training {words}: 40 of 100 samples for step 8."


def test_more_than_enough_samples_are_enough():
    snapshot = take_snapshot(at(participant=seen(samples=547_200), manifest=MANIFEST))
    assert snapshot.sentence == "Training alone for now: all 100 samples for step 8 are gathered."


@pytest.mark.parametrize(("delayed", "words"), [(False, ""), (True, " while training goes on")])
def test_averaging_says_whether_training_goes_on(*, delayed, words):
    view = seen(phase=Phase.COLLECTING, averaging=AveragingNumbers(delayed=delayed))
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST))
    assert snapshot.activity is Activity.AVERAGING
    assert snapshot.sentence == f"Averaging alone for now{words}: everyone's work becomes step 8 of the model."


def test_catching_up_says_how_far_it_is():
    view = seen(phase=Phase.FETCHING, fetching=Fetching(3, 12))
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST))
    assert snapshot.activity is Activity.CATCHING_UP
    assert snapshot.sentence == "Catching up with the others, who are ahead, 3 of 12 pieces are here."


def test_a_peer_that_only_averages_says_why():
    snapshot = take_snapshot(at(participant=seen(assists=True), manifest=MANIFEST))
    assert snapshot.sentence == "Helps to average: this line is too slow for its own gradients."
    assert snapshot.samples_per_s == 0.0


def test_a_peer_that_has_stopped_has_no_speed():
    view = seen(samples=40, peers={BEA: report(activity="finished", in_step=False)})
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST, rest=verdicts.paused()))
    assert (snapshot.me.samples_per_s, snapshot.samples_per_s) == (0.0, 0.0)
    me, bea = snapshot.peers
    assert (me.samples_per_s, bea.name, bea.activity, bea.samples_per_s) == (0.0, "Bea", "finished", 0.0)


@pytest.mark.parametrize(("role", "shown"), [(PassRole.MEMBER, "volunteer"), (PassRole.BACKBONE, "backbone")])
def test_names_and_backbones_are_those_of_passes(role, shown):
    view = seen(peers={BEA: report(role="backbone"), PeerId(b"x" * 32): report()})
    passes = {BEA: Pass(BEA, "Trudy", "", 0.0, 1e10, BEA, role)}
    others = take_snapshot(at(participant=view, manifest=MANIFEST, passes=passes)).peers[1:]
    assert {(other.name, other.role) for other in others} == {("Trudy", shown), (short(b"x" * 32), "volunteer")}


@pytest.mark.parametrize(("silent", "speed"), [(frozenset(), 61.8), (frozenset({BEA}), 0.0)])
def test_a_silent_peer_has_no_speed(silent, speed):
    view = seen(peers={BEA: report()}, silent=silent)
    assert take_snapshot(at(participant=view, manifest=MANIFEST)).peers[1].samples_per_s == speed


@pytest.mark.parametrize(("point", "epoch"), [(CurvePoint(34, 5.0), 35), (CurvePoint(35, None, 5.0), 35)])
def test_before_its_trainer_runs_an_engine_knows_the_epoch(point, epoch, tmp_path):
    board = Board(tmp_path / "board.json", target_samples=64)
    board.hold(Ledger(points=[point]).to_bytes(), point.epoch)
    view = seen(phase=Phase.IDLE, state=None, followed=None)
    assert take_snapshot(at(participant=view, manifest=MANIFEST, board=board)).epoch == epoch
    joining = seen(phase=Phase.JOINING, state=None, followed=StateName(0, b"m" * 32))
    assert take_snapshot(at(participant=joining, manifest=MANIFEST, board=board)).epoch == epoch
    training = take_snapshot(at(participant=seen(), manifest=MANIFEST, board=board))
    assert training.epoch == HELD.epoch


def test_a_wrong_clock_is_told_with_what_to_do():
    level, sentence = clock_notice(-42.4)
    assert level == "warning"
    assert "42 seconds behind" in str(sentence)
    assert "settings" in str(sentence)
    assert "10 minutes ahead of" in str(clock_notice(600.0)[1])
    assert str(clock_notice(0.0)[1]) == "This computer's clock agrees with the collaboration's time again."


def test_a_helper_says_where_the_others_stand():
    peers = {
        HAL: report(role="helper", activity="helping", in_step=False, helps=True),
        BEA: report(),
    }
    view = seen(role="helper", phase=Phase.IDLE, samples_per_s=0.0, others_samples=5, peers=peers)
    snapshot = take_snapshot(at(participant=view, manifest=MANIFEST))
    assert snapshot.activity is Activity.HELPING
    assert "trains nothing itself" in snapshot.sentence
    assert (snapshot.epoch, snapshot.epoch_samples) == (7, 5)
    assert {(view.name, view.role, view.activity) for view in snapshot.peers} == {
        ("Ada", "helper", "helping"),
        ("Hal", "helper", "helping"),
        ("Bea", "volunteer", "training"),
    }


@pytest.mark.parametrize(("total", "reason"), [(7, "ended"), (8, "finished")])
def test_end_of_the_schedule_is_told_as_such(total, reason):
    manifest = msgspec.structs.replace(MANIFEST, optimizer={"name": "lamb", "total_epochs": total})
    snapshot = take_snapshot(at(participant=seen(phase=Phase.FINISHED), manifest=manifest))
    assert (snapshot.verdict.code, snapshot.verdict.reason) == ("resting", reason)
    assert snapshot.activity is Activity.FINISHED
    assert "step 7" in snapshot.sentence


def test_trainer_that_lacks_experts_says_so_and_does_not_contribute():
    def said(lack, **changes):
        return take_snapshot(at(participant=seen(**changes), manifest=MANIFEST, hosting=HostingView(0, lack=lack)))

    none = said(ExpertsLack(live=0, places=64, layer=1))
    assert (none.verdict.code, none.activity) == ("waiting", Activity.WAITING)
    assert str(verdicts.headline(none.verdict)) == "Waiting for experts"
    assert "0 of all 64 are live" in none.sentence
    assert "an expert of layer 3; 40 of all 64 are live" in said(ExpertsLack(live=40, places=64, layer=3)).sentence
    assert said(None).verdict.code == "contributing"
    lack = ExpertsLack(live=0, places=64, layer=1)
    assert said(lack, phase=Phase.AVERAGING).verdict.code == "contributing", "a round goes on without experts"
