from core.sim.agenda import Agenda


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


def test_what_is_past_happens_at_once_and_time_never_goes_back() -> None:
    agenda = Agenda(100.0)
    times: list[float] = []

    def plan() -> None:
        times.append(agenda.now)
        agenda.at(50.0, lambda: times.append(agenda.now))

    agenda.at(101.0, plan)
    agenda.run(101.0)
    assert times == [101.0, 101.0]
