"""Rules that a system cannot serve."""

from core.api.rules import UseRules
from core.schedule.sensed import Sensed, SensedGpu, untold


def test_system_that_tells_nothing_serves_no_rule_of_senses():
    names = untold(Sensed())
    assert (
        {"idle_minutes", "on_battery", "celsius_max", "gpu_busy_percent"}
        <= set(names)
        <= set(UseRules.__struct_fields__)
    )


def test_card_alone_serves_its_rules():
    told = Sensed(gpus=(SensedGpu(name="cuda:0", busy=0.1, celsius=40.0),), on_battery=False)
    assert set(untold(Sensed())) - set(untold(told)) == {
        "gpu_busy_percent",
        "celsius_max",
        "warm_celsius",
        "on_battery",
    }


def test_desktop_that_tells_all_has_none():
    told = Sensed(
        idle_s=0.0, on_battery=True, battery=0.5, full_screen=False, busy=0.0, celsius=50.0, watts=9.0, fan_rpm=0.0,
        gpus=(SensedGpu(name="cuda:0", busy=0.0),),
    )  # fmt: skip
    assert untold(told) == ()
