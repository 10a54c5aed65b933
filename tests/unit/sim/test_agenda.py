from hypothesis import given
from hypothesis import strategies as st

from tests.sim.world.agenda import Agenda

START = 1_700_000_000.0
DELAYS = st.sampled_from([0.0, 0.0001, 0.003, 0.004, 0.1, 1.0, 90.0, 86_400.0]) | st.floats(0, 10)


def test_things_happen_in_order_of_time_and_of_planning() -> None:
    agenda = Agenda(100.0)
    seen: list[str] = []
    agenda.at(103.0, seen.append, "later")
    agenda.at(101.0, seen.append, "first")
    agenda.at(101.0, seen.append, "second")
    agenda.after(0.5, seen.append, "soon")
    agenda.run(102.0)
    assert seen == ["soon", "first", "second"]
    assert agenda.now == 102.0
    assert len(agenda) == 1
    agenda.run(110.0)
    assert seen[-1] == "later"
    assert agenda.happened == 4


def test_past_events_run_at_once_and_time_never_goes_back() -> None:
    agenda = Agenda(100.0)
    times: list[float] = []

    def plan() -> None:
        times.append(agenda.now)
        agenda.at(50.0, lambda: times.append(agenda.now))

    agenda.at(101.0, plan)
    agenda.run(101.0)
    assert times == [101.0, 101.0]


@given(
    st.lists(st.tuples(DELAYS, st.lists(DELAYS, max_size=3)), max_size=30),
    st.lists(st.floats(0, 20), max_size=5),
)
def test_everything_happens_once_in_its_order(planned, pauses):
    """Against a list of what waits, looked through for every event."""
    agenda, happened, waiting = Agenda(START), [], []

    def plan(delay_s, children):
        number = len(waiting) + len(happened)
        waiting.append((agenda.now + delay_s, number))
        agenda.after(delay_s, happen, number, children)

    def happen(number, children):
        first = min(waiting)
        assert (agenda.now, number) == first
        waiting.remove(first)
        happened.append(number)
        for delay_s in children:
            plan(delay_s, ())

    for delay_s, children in planned:
        plan(delay_s, children)
    for seconds in pauses:
        until = agenda.now + seconds
        agenda.run(until)
        assert agenda.now == until
        assert all(at > until for at, _ in waiting)
        plan(seconds, ())
        assert len(agenda) == len(waiting)
    agenda.run(START + 1e6)
    assert not waiting
    assert agenda.happened == len(happened)
    assert len(agenda) == 0
