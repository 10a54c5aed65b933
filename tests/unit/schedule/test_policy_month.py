"""When to run: a month of use, against a reference that looks at the whole past."""

import time
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as change

from core.api.modes import Switches, UseMode, UseSwitch
from core.api.rules import UseRules
from core.api.week import read_week
from core.schedule.hours import Hours
from core.schedule.policy import ABSENT_S, HOLD_S, RELEASE, Circumstances, decide
from core.schedule.sensed import Sensed, SensedGpu
from tests.unit.schedule.test_policy import CARD, DAY_S, NOON, STRICT, decided, reason

ANY_RULES = st.builds(
    UseRules,
    hours=st.sampled_from(["always", "mon-fri 20:00-07:00", "sat sun 08:00-12:00"]),
    on_battery=st.booleans(),
    in_use=st.booleans(),
    in_use_gpu=st.booleans(),
    idle_minutes=st.integers(1, 60),
    programs=st.sampled_from([(), ("steam",), ("blender", "steam")]),
    full_screen=st.booleans(),
    busy_percent=st.sampled_from([None, 50]),
    gpu_busy_percent=st.sampled_from([None, 50]),
    celsius_max=st.sampled_from([None, 80]),
    watts_max=st.sampled_from([None, 60]),
    use_metered=st.booleans(),
    month_bytes=st.sampled_from([None, 1000]),
)
ANY_SWITCH = st.builds(
    UseSwitch,
    mode=st.sampled_from([UseMode.RULES, UseMode.RULES, *UseMode]),
    meanwhile=st.sampled_from([None, *UseMode]),
    until=st.floats(NOON, NOON + 20 * DAY_S),
)


@given(ANY_RULES, st.sampled_from(["", "cpu", CARD, "mps"]), st.floats(NOON, NOON + 30 * DAY_S))
def test_unknown_senses_never_forbid(rules, device, now):
    rules = change(rules, hours="always")
    assert decided(Sensed(gpus=(SensedGpu(name=CARD),)), rules, now=now, device=device).rest is None


@dataclass(frozen=True)
class Event:
    """Something that is sensed from a moment on; `touched`: somebody has used the keyboard then."""

    moment: float
    sensed: Sensed
    touched: bool


def maybe(values):
    return st.sampled_from([None, *values])


EVENTS = st.lists(
    st.builds(
        Event,
        st.floats(0.0, 30 * DAY_S).map(lambda second: NOON + round(second)),
        st.builds(
            Sensed,
            remote=maybe([True, False]),
            on_battery=maybe([True, False]),
            battery=maybe([0.1, 0.9]),
            full_screen=maybe([True, False]),
            busy=maybe([0.2, 0.48, 0.9]),
            programs=st.sampled_from([frozenset(), frozenset({"steam"})]),
            celsius=maybe([60.0, 78.0, 90.0]),
            watts=maybe([20.0, 58.0, 90.0]),
            metered=maybe([True, False]),
            gpus=st.sampled_from(
                [(), (SensedGpu(name=CARD, busy=0.2),), (SensedGpu(name=CARD, busy=0.7, celsius=85.0),)]
            ),
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda event: event.moment,
).map(lambda events: sorted(events, key=lambda event: event.moment))


def followed(events, rules, switches, moments):
    """Reasons at `moments`, by decisions at events and at the moments that the policy itself asks for."""
    hours = Hours(read_week(rules.hours), lambda _: 0.0)
    told, sensed, touched, latches, wake = [], Sensed(), None, {}, NOON
    agenda = sorted(
        [(event.moment, 0, event) for event in events] + [(m, 1, None) for m in moments], key=lambda e: e[:2]
    )
    said = None
    for moment, order, event in agenda:
        while wake is not None and (wake < moment or (order and wake <= moment)):
            now = wake
            idle = None if touched is None else now - touched
            decision = decide(
                replace(sensed, idle_s=idle),
                rules,
                switches,
                Circumstances(now=now, hours=hours, device=CARD, latches=latches),
            )
            latches, wake, said = decision.latches, decision.changes, reason(decision.rest)
            assert wake is None or wake > now
            if idle == 0:  # that holds until the sense tells again, which it does a second later
                wake = now + 1 if wake is None else min(wake, now + 1)
        if event is not None:
            sensed, wake = event.sensed, moment
            touched = moment if event.touched else touched
        else:
            told.append(said)
    return told


def passed(events, now, read, limit):
    """Whether a reading forbids, by its whole past."""
    if limit is None:
        return False
    forbids, below_since = False, None
    for event, following in zip(events, [*events[1:], None], strict=True):
        if event.moment > now:
            break
        value = read(event.sensed) or 0.0
        end = now if following is None else min(now, following.moment)
        if value > limit:
            forbids, below_since = True, None
        elif forbids:
            below_since = event.moment if below_since is None else below_since
            lets_go = below_since + HOLD_S
            last = following is None or following.moment > end
            forbids = value > RELEASE * limit or lets_go > end or (lets_go == end and not last)
    return forbids


def held(events, now, there):
    """Whether something that was there forbids still, by its whole past."""
    ends = [
        now if following is None else following.moment
        for event, following in zip(events, [*events[1:], None], strict=True)
        if event.moment <= now and there(event.sensed)
    ]
    return bool(ends) and now < ends[-1] + ABSENT_S


def reference(events, rules, switches, now):
    """The reason at a moment, written down once more."""
    before = [event for event in events if event.moment <= now]
    touches = [event.moment for event in before if event.touched]
    used = held(events, now, lambda s: s.remote) or bool(touches and now - touches[-1] < 60 * rules.idle_minutes)
    day, minute = int(now // DAY_S + 3) % 7, int(now % DAY_S // 60)
    evening, morning = minute >= 20 * 60, minute < 7 * 60
    is_open = {
        "a": True,
        "m": (day < 5 and evening) or ((day - 1) % 7 < 5 and morning),
        "s": day >= 5 and 8 * 60 <= minute < 12 * 60,
    }[rules.hours[0]]

    def stands(switch):
        return switch.meanwhile if switch.meanwhile is not None and now < switch.until else switch.mode

    def off(switch, name):
        late = switch.meanwhile is not None and now < switch.until
        return (
            [f"paused:{name}{'_' if name and late else ''}{'until' if late else ''}"]
            if stands(switch) == "never"
            else []
        )

    def over(read, limit):
        return passed(events, now, read, limit)

    def card(field):
        return lambda sensed: getattr(sensed.gpus[0], field) if sensed.gpus else None

    always = stands(switches.computing) == "always"
    rows = off(switches.computing, "")
    if not always:
        rows += ["battery"] * (held(events, now, lambda s: s.on_battery) and not rules.on_battery)
        rows += ["battery_low"] * held(events, now, lambda s: s.on_battery and s.battery == 0.1)
        rows += ["in_use"] * (used and not rules.in_use) + ["schedule"] * (not is_open)
        rows += ["program"] * (held(events, now, lambda s: s.programs) and "steam" in rules.programs)
        rows += ["full_screen"] * (held(events, now, lambda s: s.full_screen) and not rules.full_screen)
        rows += ["busy"] * over(lambda s: None if s.busy is None else 100 * s.busy, rules.busy_percent)
        rows += ["heat"] * over(lambda s: s.celsius, rules.celsius_max)
        rows += ["watts"] * over(lambda s: s.watts, rules.watts_max)
    rows += off(switches.gpu, "gpu")
    if not always and stands(switches.gpu) != "always":
        rows += ["gpu_in_use"] * (used and not rules.in_use_gpu)
        rows += ["gpu_busy"] * over(lambda s: 100 * s.gpus[0].busy if s.gpus else None, rules.gpu_busy_percent)
        rows += ["gpu_heat"] * over(card("celsius"), rules.celsius_max)
    rows += off(switches.network, "network")
    if stands(switches.network) != "always":
        rows += ["schedule"] * (not always and not is_open) + ["metered"] * (
            held(events, now, lambda s: s.metered) and not rules.use_metered
        )
    return None if not rows else rows[0] if ":" in rows[0] else f"resting:{rows[0]}"


@settings(max_examples=150, deadline=None)
@given(EVENTS, ANY_RULES, st.builds(Switches, computing=ANY_SWITCH, gpu=ANY_SWITCH, network=ANY_SWITCH), st.data())
def test_a_month_of_use_is_as_the_reference_says(events, rules, switches, data):
    near = [event.moment + offset for event in events for offset in (0, 1, 9, 10, 59, 60, 61, 60 * rules.idle_minutes)]
    moments = sorted(
        {NOON, *near, *data.draw(st.lists(st.integers(0, 30 * 86_400).map(lambda s: NOON + s), max_size=30))}
    )
    assert followed(events, rules, switches, moments) == [reference(events, rules, switches, now) for now in moments]


def test_a_month_is_decided_in_a_second():
    events = [
        Event(
            NOON + 600.0 * number, Sensed(busy=(number % 9) / 10, celsius=60.0 + number % 25), touched=number % 3 == 0
        )
        for number in range(30 * 24 * 6)
    ]
    began = time.process_time()
    followed(events, change(STRICT, on_battery=True), Switches(), [])
    assert time.process_time() - began < 1.0
