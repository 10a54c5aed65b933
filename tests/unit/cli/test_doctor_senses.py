"""What the doctor says of a system that tells much, little or nothing."""

from core.cli.engine.doctor_senses import told_of
from core.schedule.sensed import Sensed, SensedGpu


def test_all_that_is_told_is_said():
    sensed = Sensed(
        idle_s=41.0, on_battery=True, battery=0.5, full_screen=False, remote=True, celsius=61.0,
        gpus=(SensedGpu(name="cuda:0", busy=0.5),),
    )  # fmt: skip
    told, lacking = told_of(sensed)
    assert lacking is None
    for words in (
        "for 41 s",
        "It runs on its battery. The battery is charged to 50%.",
        "No program fills",
        "Somebody uses it from afar.",
        "61 °C",
        "cuda:0",
    ):
        assert words in str(told)


def test_what_is_not_told_is_said():
    told, lacking = told_of(Sensed(idle_s=0.0, on_battery=False, full_screen=True, remote=False))
    assert str(told).startswith("Somebody is at this computer now. It runs on mains. A program fills")
    assert str(lacking) == "Rules about what the system does not tell stop nothing here: the processor's heat."


def test_system_that_tells_nothing_is_said_to():
    told, lacking = told_of(Sensed())
    assert str(told) == "This system tells nothing about its use."
    assert ": the last key or touch, the battery, programs that fill the screen, remote desktop, the" in str(lacking)
