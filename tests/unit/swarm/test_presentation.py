"""What a participant shows of itself."""

from core.swarm.presence.membership import GOES_ON_S, SILENT_S
from core.swarm.words.epoch import Phase
from tests.unit.swarm.stage import FIRST, Stage, peer, report_of


def test_a_view_adds_up_the_others_at_the_same_state() -> None:
    stage = Stage()
    stage.ready()
    stage.progress(samples=7, samples_per_s=2.0, loss=1.0)
    stage.read(p1=report_of(time=stage.now, samples=40, samples_per_s=0.0), p2=report_of(time=stage.now, in_step=False))
    view = stage.actor.view(stage.now)
    assert (view.phase, view.state, view.samples, view.samples_per_s) == (Phase.TRAINING, FIRST, 7, 2.0)
    assert (view.others_samples, view.others_samples_per_s) == (40, 0.0)
    assert view.peers.keys() == {peer(1), peer(2)}


def test_a_view_tells_silent_peers_from_those_that_report() -> None:
    stage = Stage()
    stage.ready()
    stage.read(p1=report_of(time=stage.now))
    began = stage.now
    assert (stage.actor.view(began).silent, stage.actor.view(began).audible) == (frozenset(), True)
    later = stage.actor.view(began + SILENT_S)
    assert (later.silent, later.audible) == (frozenset({peer(1)}), False)


def test_a_report_says_where_this_peer_is_to_be_reached() -> None:
    stage = Stage()
    stage.actor.start([], host="11.1.1.1", port=7, now=stage.now)
    report = stage.actor.report(stage.now)
    assert (report.host, report.port, report.time) == ("11.1.1.1", 7, stage.now)


def test_report_counts_what_was_accumulated_since_the_trainer_spoke() -> None:
    stage = Stage()
    stage.ready()
    stage.progress(samples=7, samples_per_s=20.0, loss=1.0)
    assert stage.actor.report(stage.now).samples == 7
    assert stage.actor.report(stage.now + 0.5).samples == 17
    assert stage.actor.report(stage.now + 60).samples == 7 + 20 * GOES_ON_S
