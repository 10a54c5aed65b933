"""When to run: each rule, and their order."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as change

from core.api.modes import OFF, Switches, UseMode, UseSwitch
from core.api.rules import UseRules
from core.api.verdict import SENTENCES, sentence
from core.api.week import read_week
from core.schedule.hours import Hours
from core.schedule.policy import ABSENT_S, HOLD_S, Circumstances, ComputeProfile, decide
from core.schedule.sensed import Sensed, SensedGpu

NOON = 1_795_003_200.0
"""Wednesday, 18 November 2026, 12:00 UTC."""
DAY_S = 86_400.0
ALWAYS = UseSwitch(mode=UseMode.ALWAYS)
CARD = "cuda:0"
RULES, SWITCHES, UNKNOWN = UseRules(), Switches(), Sensed()
STRICT = UseRules(
    hours="mon-fri 20:00-07:00",
    in_use=False,
    programs=("blender", "steam"),
    busy_percent=50,
    celsius_max=80,
    watts_max=60,
    month_bytes=1000,
)
"""Rules under which everything forbids."""
WORST = Sensed(
    idle_s=1.0,
    remote=True,
    on_battery=True,
    battery=0.1,
    full_screen=True,
    busy=0.9,
    programs=frozenset({"steam", "bash"}),
    celsius=95.0,
    watts=90.0,
    metered=True,
    gpus=(SensedGpu(name=CARD, busy=0.9, celsius=95.0, watts=200.0),),
)


def at(now=NOON, rules=RULES, **changes):
    fields = {"now": now, "hours": Hours(read_week(rules.hours), lambda _: 0.0)}
    return Circumstances(**(fields | changes))


def decided(sensed=UNKNOWN, rules=RULES, switches=SWITCHES, **changes):
    return decide(sensed, rules, switches, at(rules=rules, **changes))


def reason(verdict):
    return None if verdict is None else f"{verdict.code}:{verdict.reason}"


@pytest.mark.parametrize(
    ("sensed", "rules", "why"),
    [
        (Sensed(on_battery=True), UseRules(), "battery"),
        (Sensed(on_battery=True, battery=0.29), UseRules(on_battery=True), "battery_low"),
        (Sensed(on_battery=True, battery=0.30), UseRules(on_battery=True), None),
        (Sensed(on_battery=False, battery=0.1), UseRules(), None),
        (Sensed(idle_s=179.0), UseRules(in_use=False), "in_use"),
        (Sensed(idle_s=180.0), UseRules(in_use=False), None),
        (Sensed(idle_s=0.0), UseRules(), None),
        (Sensed(remote=True, idle_s=9e9), UseRules(in_use=False), "in_use"),
        (Sensed(), UseRules(hours="mon-fri 20:00-07:00"), "schedule"),
        (Sensed(programs=frozenset({"steam"})), UseRules(programs=("blender", "steam")), "program"),
        (Sensed(programs=frozenset({"steam"})), UseRules(programs=("blender",)), None),
        (Sensed(full_screen=True), UseRules(), "full_screen"),
        (Sensed(full_screen=True), UseRules(full_screen=True), None),
        (Sensed(busy=0.51), UseRules(busy_percent=50), "busy"),
        (Sensed(busy=0.99), UseRules(), None),
        (Sensed(celsius=81.0), UseRules(celsius_max=80), "heat"),
        (Sensed(watts=61.0), UseRules(watts_max=60), "watts"),
        (Sensed(fan_rpm=2501.0), UseRules(fan_rpm_max=2500), "fan"),
        (Sensed(meter=31.0), UseRules(meter_max=30), "meter_high"),
        (Sensed(meter=-5.0), UseRules(meter_max=30), None),
        (Sensed(meter=-5.0), UseRules(meter_min=400), "meter_low"),
        (Sensed(meter=400.0), UseRules(meter_min=400), None),
        (Sensed(), UseRules(meter_min=400, meter_max=500, fan_rpm_max=1), None),
        (Sensed(programs=frozenset({"~/Games"})), UseRules(programs=("~/Games",)), "program"),
        (Sensed(idle_s=1.0, own_bytes=3 * 10**9), UseRules(in_use_memory_bytes=2 * 10**9), "in_use_memory"),
        (Sensed(remote=True, own_bytes=3 * 10**9), UseRules(in_use_memory_bytes=2 * 10**9), "in_use_memory"),
        (Sensed(idle_s=1.0, own_bytes=10**9), UseRules(in_use_memory_bytes=2 * 10**9), None),
        (Sensed(idle_s=9e9, own_bytes=3 * 10**9), UseRules(in_use_memory_bytes=2 * 10**9), None),
    ],
)
def test_each_rule_forbids_computing_by_itself(sensed, rules, why):
    decision = decided(sensed, rules)
    assert reason(decision.computing) == (why and f"resting:{why}")
    assert decision.rest == decision.computing


@pytest.mark.parametrize(
    ("sensed", "rules", "why"),
    [
        (Sensed(idle_s=0.0), UseRules(), "gpu_in_use"),
        (Sensed(idle_s=0.0), UseRules(in_use_gpu=True), None),
        (Sensed(gpus=(SensedGpu(name=CARD, busy=0.6),)), UseRules(), "gpu_busy"),
        (Sensed(gpus=(SensedGpu(name=CARD, busy=0.6),)), UseRules(gpu_busy_percent=None), None),
        (Sensed(gpus=(SensedGpu(name=CARD, celsius=81.0),)), UseRules(celsius_max=80), "gpu_heat"),
        (Sensed(gpus=(SensedGpu(name=CARD, watts=61.0),)), UseRules(watts_max=60), "gpu_watts"),
        (Sensed(gpus=(SensedGpu(name="cuda:1", busy=0.9),)), UseRules(), None),
        (Sensed(programs=frozenset({"steam"})), UseRules(gpu_programs=("steam",)), "gpu_program"),
    ],
)
@pytest.mark.parametrize("device", ["cuda:0", "cuda"])
def test_each_rule_of_a_card_forbids_that_card_alone(sensed, rules, why, device):
    decision = decided(sensed, rules, device=device)
    assert decision.computing is None
    assert reason(decision.gpus[CARD]) == reason(decision.rest) == (why and f"resting:{why}")
    assert decided(sensed, rules, device="cpu").rest is None
    beside = decided(sensed, rules, device="cpu,cuda")
    assert beside.rest is None
    assert beside.left_out == ((CARD,) if why else ())
    assert reason(beside.gpu) == reason(decision.gpu)


def test_memory_given_back_is_not_taken_again_while_in_use():
    rules = UseRules(in_use_memory_bytes=2 * 10**9)
    first = decided(Sensed(idle_s=1.0, own_bytes=3 * 10**9), rules)
    given_back = decided(Sensed(idle_s=5.0, own_bytes=0), rules, now=NOON + 60, latches=first.latches)
    assert reason(given_back.rest) == "resting:in_use_memory"
    gone = decided(Sensed(idle_s=181.0, own_bytes=0), rules, now=NOON + 240, latches=given_back.latches)
    assert decided(Sensed(idle_s=200.0), rules, now=NOON + 260, latches=gone.latches).rest is None


def test_one_card_of_several_is_switched_off_for_a_time():
    switches = Switches(cards={"cuda:1": UseSwitch().off(NOON + 3600, NOON)})
    decision = decided(switches=switches, device="cuda:0,cuda:1")
    assert (decision.rest, decision.left_out, decision.changes) == (None, ("cuda:1",), NOON + 3600)
    assert reason(decision.gpus["cuda:1"]) == "paused:gpu_until"
    assert decided(switches=switches, device="cuda:0,cuda:1", now=NOON + 3601).left_out == ()
    insisted = Switches(gpu=OFF, cards={"cuda:1": ALWAYS})
    assert decided(switches=insisted, device="cuda:0,cuda:1").left_out == ("cuda:0",)


def test_share_follows_the_clock_and_the_heat():
    rules = UseRules(share=40, other_hours="wed 11:00-13:00", other_share=90, warm_celsius=60, warm_share=20)
    others = Hours(read_week(rules.other_hours), lambda _: 0.0)
    assert decided(rules=rules, others=others).profile == ComputeProfile(90)
    assert decided(rules=rules, others=others).changes == NOON + 3600
    assert decided(rules=rules, others=others, now=NOON + 3600).profile == ComputeProfile(40)
    warm = decided(Sensed(celsius=61.0), rules, others=others)
    assert warm.profile == ComputeProfile(20)
    cooler = decided(Sensed(celsius=59.0), rules, others=others, now=NOON + 99, latches=warm.latches)
    assert cooler.profile == ComputeProfile(20), "it was above 90 % of the limit all the time"
    assert decided(Sensed(gpus=(SensedGpu(name=CARD, celsius=61.0),)), rules).profile == ComputeProfile(20)


def test_training_rests_when_each_of_its_cards_must():
    hot = tuple(SensedGpu(name=name, celsius=90.0) for name in ("cuda:0", "cuda:1"))
    rules = UseRules(celsius_max=80)
    assert decided(Sensed(gpus=hot[:1]), rules, device="cuda,cuda:1").left_out == ("cuda:0",)
    both = decided(Sensed(gpus=hot), rules, device="cuda,cuda:1")
    assert both.left_out == ()
    assert reason(both.rest) == "resting:gpu_heat"


@pytest.mark.parametrize(
    ("sensed", "rules", "used", "why"),
    [
        (Sensed(metered=True), UseRules(), 0, "metered"),
        (Sensed(metered=True), UseRules(use_metered=True), 0, None),
        (Sensed(), UseRules(month_bytes=1000), 1000, "month"),
        (Sensed(), UseRules(month_bytes=1000), 999, None),
    ],
)
def test_each_rule_of_the_network_keeps_training_from_it(sensed, rules, used, why):
    decision = decided(sensed, rules, month_used_bytes=used)
    assert decision.computing is None
    assert reason(decision.network) == reason(decision.rest) == (why and f"resting:{why}")


def test_the_first_rule_that_forbids_is_the_reason():
    sensed, rules, switches, order = WORST, STRICT, Switches(computing=OFF, gpu=OFF, network=OFF), []
    mended = {
        "paused:": lambda: (sensed, rules, change(switches, computing=UseSwitch())),
        "resting:battery": lambda: (sensed, change(rules, on_battery=True), switches),
        "resting:battery_low": lambda: (replace(sensed, on_battery=False), rules, switches),
        "resting:in_use": lambda: (sensed, change(rules, in_use=True), switches),
        "resting:schedule": lambda: (sensed, change(rules, hours="always"), switches),
        "resting:program": lambda: (replace(sensed, programs=frozenset()), rules, switches),
        "resting:full_screen": lambda: (replace(sensed, full_screen=False), rules, switches),
        "resting:busy": lambda: (replace(sensed, busy=0.0), rules, switches),
        "resting:heat": lambda: (replace(sensed, celsius=20.0), rules, switches),
        "resting:watts": lambda: (replace(sensed, watts=2.0), rules, switches),
        "paused:gpu": lambda: (sensed, rules, change(switches, gpu=UseSwitch())),
        "resting:gpu_in_use": lambda: (sensed, change(rules, in_use_gpu=True), switches),
        "resting:gpu_busy": lambda: (sensed, change(rules, gpu_busy_percent=None), switches),
        "resting:gpu_heat": lambda: (sensed, change(rules, celsius_max=None), switches),
        "resting:gpu_watts": lambda: (sensed, change(rules, watts_max=None), switches),
        "paused:network": lambda: (sensed, rules, change(switches, network=UseSwitch())),
        "resting:metered": lambda: (sensed, change(rules, use_metered=True), switches),
        "resting:month": lambda: (sensed, change(rules, month_bytes=None), switches),
    }
    while (rest := decided(sensed, rules, switches, device=CARD, month_used_bytes=2000).rest) is not None:
        order.append(reason(rest))
        sensed, rules, switches = mended[order[-1]]()
    assert order == list(mended)
    assert {tuple(told.split(":")) for told in order} <= set(SENTENCES)


def test_always_passes_over_rules_but_pays_nothing():
    decision = decided(WORST, STRICT, Switches(computing=ALWAYS), device=CARD, month_used_bytes=2000)
    assert (decision.computing, decision.gpus[CARD]) == (None, None)
    assert reason(decision.network) == "resting:metered"
    free = Switches(computing=ALWAYS, network=ALWAYS)
    assert decided(WORST, STRICT, free, device=CARD, month_used_bytes=2000).rest is None
    no_card = Switches(computing=ALWAYS, gpu=OFF)
    assert reason(decided(WORST, STRICT, no_card, device=CARD).rest) == "paused:gpu"


def test_a_card_rests_when_computing_does():
    decision = decided(Sensed(on_battery=True), switches=Switches(gpu=ALWAYS), device=CARD)
    assert reason(decision.gpus[CARD]) == "resting:battery"


def test_a_pause_with_an_end_says_when():
    rest = decided(switches=Switches(computing=UseSwitch().off(NOON + 3600, NOON))).rest
    assert (reason(rest), rest.until, rest.args) == ("paused:until", NOON + 3600, {"clock": "13:00"})
    assert str(sentence(rest)) == "Paused by you: nothing is computed. Potluck continues at 13:00."
    gpu = decided(switches=Switches(gpu=UseSwitch().off(NOON + DAY_S, NOON)), device=CARD).rest
    assert (reason(gpu), gpu.args) == ("paused:gpu_until", {"clock": "12:00", "day": "Thursday"})


def test_a_limit_that_was_passed_lets_go_late():
    rules, latches, told = UseRules(celsius_max=80), {}, []
    for second, celsius in [
        (0, 79.0),
        (1, 81.0),
        (2, 70.0),
        (61, 70.0),
        (62, 70.0),
        (63, 81.0),
        (90, 78.0),
        (200, 78.0),
    ]:
        decision = decided(Sensed(celsius=celsius), rules, now=NOON + second, latches=latches)
        latches = decision.latches
        told.append(decision.rest is not None)
        if second == 2:
            assert decision.changes == NOON + 2 + HOLD_S
    assert told == [False, True, True, True, False, True, True, True]


@pytest.mark.parametrize(
    ("there", "rules"),
    [
        (Sensed(on_battery=True), UseRules()),
        (Sensed(on_battery=True, battery=0.1), UseRules(on_battery=True)),
        (Sensed(idle_s=0.0), UseRules(in_use=False)),
        (Sensed(remote=True), UseRules(in_use=False)),
        (Sensed(programs=frozenset({"steam"})), UseRules(programs=("blender", "steam"))),
        (Sensed(full_screen=True), UseRules()),
        (Sensed(metered=True), UseRules()),
    ],
)
def test_what_flaps_has_training_rest_throughout(there, rules):
    latches, before = {}, decided(there, rules).rest
    for tenth in range(100):
        decision = decided(UNKNOWN if tenth % 2 else there, rules, now=NOON + tenth / 10, latches=latches)
        assert decision.rest == before
        latches = decision.latches
    assert decision.changes == NOON + 9.9 + ABSENT_S
    assert decided(now=decision.changes - 0.1, rules=rules, latches=latches).rest == before
    assert decided(now=decision.changes, rules=rules, latches=latches).rest is None


def test_idle_minutes_are_waited_for_and_no_longer():
    rules = UseRules(in_use=False)
    latches = decided(Sensed(idle_s=0.0), rules).latches
    assert decided(Sensed(idle_s=179.9), rules, latches=latches).rest is not None
    assert decided(Sensed(idle_s=180.0), rules, latches=latches).rest is None


def test_a_busy_card_that_tells_no_more_rests_on():
    busy = decided(Sensed(gpus=(SensedGpu(name=CARD, busy=0.9),)), device=CARD)
    silent = decided(Sensed(gpus=(SensedGpu(name=CARD),)), now=NOON + 5, device=CARD, latches=busy.latches)
    assert silent.rest == busy.rest
    assert silent.changes == NOON + 5 + HOLD_S
    assert decided(now=silent.changes, device=CARD, latches=silent.latches).rest is None


def test_the_profile_while_somebody_is_there():
    rules = UseRules(share=80, in_use_share=30, in_use_threads=2)
    assert decided(Sensed(idle_s=1.0), rules).profile == ComputeProfile(30, 2)
    assert decided(Sensed(idle_s=1e4), rules).profile == decided(Sensed(), rules).profile == ComputeProfile(80, 0)
    assert decided(Sensed(remote=True), UseRules(share=20, in_use_share=30)).profile.share == 20
