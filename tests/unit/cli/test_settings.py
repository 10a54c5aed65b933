"""`potluck settings`, with an engine of cardboard and without one."""

import json

import msgspec
import pytest

from core.__main__ import main
from core.api.modes import OFF
from core.base.problems import BadInput
from core.cli.engine.settings import ROWS
from core.cli.parsing.quantities import read_choice, read_gigabytes, read_rate, read_volume, read_whole
from core.engine.limits.preferences import view
from core.storage.settings import Settings, load_settings, save_settings


@pytest.mark.parametrize(
    ("text", "bytes_s"),
    [
        ("2mbit", 250_000),
        ("2 Mbit/s", 250_000),
        ("1,5 MB", 1_500_000),
        ("500kbit", 62_500),
        ("2Mbps", 250_000),
        ("250kB/s", 250_000),
        ("1gbit", 125_000_000),
        ("4096 bytes", 4096),
        ("0", 0),
        ("none", None),
        ("No limit", None),
    ],
)
def test_speeds(text, bytes_s):
    assert read_rate(text) == bytes_s


@pytest.mark.parametrize(
    "text", ["", "2", "fast", "2mb", "2 furlongs", "-1mbit", "1e5kB", "9" * 30 + "kB", "2kB/min", "1,000kB"]
)
def test_invalid_speed_gets_a_sentence(text):
    with pytest.raises(BadInput, match="2mbit"):
        read_rate(text)


@pytest.mark.parametrize(("text", "count"), [("50GB", 50 * 10**9), ("800 mb", 8 * 10**8), ("1.5TB", 15 * 10**11)])
def test_amounts(text, count):
    assert read_volume(text) == count
    assert read_volume("off") is None


@pytest.mark.parametrize("text", ["50", "50 Gbit", "many", "GB", "1,000MB"])
def test_invalid_amount_gets_a_sentence(text):
    with pytest.raises(BadInput, match="50GB"):
        read_volume(text)


def test_choices_and_numbers():
    assert [read_choice(text) for text in ("Yes", "on", "no", "OFF")] == [True, True, False, False]
    assert read_whole("24000") == 24_000
    for read, text in ((read_choice, "maybe"), (read_whole, "-5"), (read_whole, "1.5"), (read_whole, "\u0663")):
        with pytest.raises(BadInput):
            read(text)


def test_disk_is_read_in_whole_gigabytes():
    assert [read_gigabytes(text) for text in ("4", "24000", "4GB", "4 gb", "3000MB", "1TB")] == [
        4,
        24000,
        4,
        4,
        3,
        1000,
    ]
    for text in ("abc", "500MB", "1.5", "4 mbit", "-4"):
        with pytest.raises(BadInput) as caught:
            read_gigabytes(text)
        assert "as in 4 or 4GB" in caught.value.hint


def said(capsys):
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_shown_and_changed_while_an_engine_runs(running, capsys):
    assert main(["settings"]) == 0
    shown = said(capsys)
    assert "upload          no limit\n" in shown
    assert "month           no limit; 1.2 GB used so far\n" in shown
    assert "hours           always\n" in shown
    assert "port            22222\n" in shown
    assert main(["settings", "upload", "2mbit"]) == 0
    assert said(capsys) == "upload          2 Mbit/s\n"
    assert running.engine.preferences.settings.upload_bytes_s == 250_000
    assert main(["settings", "upload", "none"]) == 0
    assert running.engine.preferences.settings.upload_bytes_s is None
    assert main(["settings", "hours", "mon-fri", "20-7,", "sat"]) == 0
    assert running.engine.preferences.settings.hours == "mon-fri 20-7, sat"
    capsys.readouterr()
    assert main(["settings", "port", "24000"]) == 0
    assert "port 24000 counts from the next start" in said(capsys)


def test_shown_and_changed_without_one(home, capsys):
    save_settings(home.settings_file, Settings(name="Ada"))
    assert main(["settings", "port"]) == 0
    assert said(capsys) == "port            drawn at the first start\n"
    assert main(["settings", "metered", "yes", "--json"]) == 0
    told = json.loads(said(capsys))
    assert (told["event"], told["running"], told["settings"]["use_metered"]) == ("settings", False, True)
    assert main(["settings", "month", "50GB"]) == 0
    assert said(capsys) == "month           50 GB\nPotluck does not run now; this holds from its next start.\n"
    assert load_settings(home.settings_file).settings == Settings(
        name="Ada", use_metered=True, month_bytes=50_000_000_000
    )


@pytest.mark.parametrize(("word", "kept"), [("off", 0), ("6", 6), ("auto", None)])
def test_number_of_experts_is_chosen(home, capsys, word, kept):
    assert main(["settings", "experts", word]) == 0
    assert said(capsys).split()[1 : 4 if kept else 2] == (["at", "most", "6"] if kept else [word])
    assert load_settings(home.settings_file).settings.experts == kept


@pytest.mark.parametrize(("setting", "other"), [("experts", "off"), ("experts", "auto"), ("heat", "none")])
def test_refusal_of_a_number_names_the_words_beside_it(home, capsys, setting, other):
    assert main(["settings", setting, "lots"]) == 2
    assert other in capsys.readouterr().err.replace(",", "").split()


def test_a_damaged_file_is_set_aside_and_told(home, capsys):
    home.create()
    home.settings_file.write_text("{")
    assert main(["settings", "relay", "no"]) == 0
    assert "could not be read" in capsys.readouterr().err
    assert load_settings(home.settings_file).settings == Settings(relay=False, computing=OFF)


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("speed 5", "There is no setting 'speed'."),
        ("upload 2", "'2' has no unit of speed."),
        ("heat 80°C", "'80°C' is not a whole number"),
        ("heat ৮০\u200dগ\\ু", "'৮০\u200dগ\\ু' is not a whole number"),
        ("upload 0", "With 0 bit/s this computer could not stay in touch"),
        ("upload 1kbit", "With 1 kbit/s this computer could not stay in touch"),
        ("hours sometimes", "'sometimes' is neither a day nor times of a day."),
        ("hours never", "With no hour left"),
        ("port 80", "cannot be chosen here"),
        ("relay perhaps", "neither yes nor no"),
    ],
)
def test_impossible_setting_gets_a_sentence(request, home, capsys, runs, words, sentence):
    if runs:
        request.getfixturevalue("running")
    assert main(["settings", *words.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("name", ["upload", "hours", "port"])
def test_nothing_is_no_value(home, capsys, name):
    assert main(["settings", name, ""]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)


def test_the_port_is_tested(running, capsys):
    assert main(["settings", "port", "test"]) == 0
    assert said(capsys) == "Others called and got through.\n"
    running.engine.advice = "Open it."
    assert main(["settings", "port", "test", "--json"]) == 0
    assert json.loads(said(capsys))["test"]["advice"] == "Open it."


def test_the_port_is_tested_by_an_engine_only(home, capsys):
    assert main(["settings", "port", "test"]) == 2
    assert "not running" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("programs Blender.exe, steam", "blender, steam"),
        ("programs obs studio, steam", "obs studio, steam"),
        ("programs none", "none"),
        ("heat 80", "rests above 80 °C"),
        ("gpu-busy none", "no limit"),
        ("busy 40%", "rests above 40 % of the processor in other programs"),
        ("computing always", "always"),
        ("in-use-share 40", "40 % of the time (while it is in use)"),
    ],
)
def test_rules_are_said_as_people_say_them(home, capsys, words, shown):
    assert main(["settings", *words.split()]) == 0
    assert said(capsys).split(maxsplit=1)[1].startswith(shown)


def test_yes_and_no_are_explained_each_in_its_words():
    shown = view(Settings())
    choices = [name for name, row in ROWS.items() if isinstance(getattr(shown, row.field), bool)]
    assert {"in-use", "battery", "metered", "awake"} <= set(choices)
    for name in choices:
        yes, no = (ROWS[name].show(msgspec.structs.replace(shown, **{ROWS[name].field: on})) for on in (True, False))
        assert yes.startswith("yes (")
        assert no.startswith("no (")
        assert yes.removeprefix("yes") != no.removeprefix("no"), name
