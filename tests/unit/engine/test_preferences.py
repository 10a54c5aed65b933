"""Changing what the person chose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.api.modes import ALWAYS, OFF, UseSwitch
from core.api.settings import FIELDS, RATE_BYTES_S_MIN
from core.base.problems import BadInput, UserProblem
from core.engine.limits.preferences import Preferences, changed, view
from core.engine.limits.setting_checks import BadSetting
from core.net.limits.pace import SMALLEST_BYTES_S
from core.storage.settings import Settings, load_settings

WISH = {
    "upload_bytes_s": 250_000,
    "download_bytes_s": None,
    "month_bytes": 5e10,
    "use_metered": True,
    "relay": False,
    "hours": "Mon-Fri  20:00-07:00,  sat sun",
    "port": 24_000,
    "device": "cuda:1, cpu",
    "threads": 3,
    "compile": True,
    "experts": 0,
    "keep_minutes": 0,
    "keep_awake": True,
    "energy_watts": 45,
    "energy_cents": 32,
    "energy_grams": 0,
    "computing": "rules",
    "gpu": "never",
    "network": "always",
    "programs": ["Blender.exe", " steam", "STEAM"],
    "in_use": False,
    "idle_minutes": 10,
    "in_use_threads": 0,
    "share": 50,
    "celsius_max": 85,
    "busy_percent": None,
    "battery_percent": 0,
    "memory_bytes": 4_000_000_000,
    "name": "Ada's  laptop ",
}
SHOWN = {
    "device": "cuda:1,cpu",
    "month_bytes": 50_000_000_000,
    "hours": "mon-fri 20:00-07:00, sat sun",
    "computing": UseSwitch(),
    "gpu": OFF,
    "network": ALWAYS,
    "programs": ("blender", "steam"),
    "name": "Ada's laptop",
}


def test_all_of_them_are_kept_told_and_shown(tmp_path):
    path, told = tmp_path / "settings.json", []
    preferences = Preferences(path, Settings(name="Ada", download_bytes_s=1e6))
    preferences.follow(told.append)
    preferences.change(WISH)
    assert told == [preferences.settings]
    assert load_settings(path).settings == preferences.settings
    shown = view(preferences.settings)
    assert {field: getattr(shown, field) for field in WISH} == WISH | SHOWN
    assert set(shown.__struct_fields__) >= set(FIELDS)
    preferences.switch("computing", on=False, now=0.0)
    preferences.save()
    assert load_settings(path).settings.computing == OFF


@pytest.mark.parametrize(
    ("wish", "part"),
    [
        ({"upload_bytes_s": 0}, "With 0 bit/s this computer could not stay in touch"),
        ({"upload_bytes_s": 1000.0}, "Allow at least 40 kbit/s"),
        ({"download_bytes_s": 1e15}, "No connection is that fast. Choose no limit"),
        ({"download_bytes_s": "much"}, "a number of bytes a second"),
        ({"download_bytes_s": True}, "a number of bytes a second"),
        ({"download_bytes_s": float("nan")}, "a number of bytes a second"),
        ({"month_bytes": 10**400}, "a number of bytes a month"),
        ({"month_bytes": 0}, "With 0 bytes a month"),
        ({"month_bytes": 1e17}, "Nobody uses that much"),
        ({"use_metered": 1}, "only be on or off"),
        ({"relay": None}, "only be on or off"),
        ({"compile": "yes"}, "only be on or off"),
        ({"hours": "noon"}, "neither a day nor times"),
        ({"hours": 5}, "never work"),
        ({"port": 80}, "from 1024 to 65535"),
        *(({"name": bad}, "not a name that") for bad in (None, 3, "x" * 41, "é" * 40, "<b>", "a\u202eb", "=1+1")),
        ({"name": "\u0410da"}, "several alphabets"),
        *(({"device": bad}, "not a device that can train") for bad in ("gpu", "cuda:", "cuda:1 ", "", None, 0, "meta")),
        *(
            ({"device": bad}, "not a device that can train")
            for bad in ("auto,cpu", "cuda:0,", ",cpu", "cpu;mps", "cpu," * 16)
        ),
        ({"device": "cuda:0,cpu,cuda:0"}, "named twice"),
        *(({"keep_minutes": bad}, "from 1 to 10080, or 0 to give") for bad in (-1, 1.0, True, None, 10**9, "2")),
        *(({"experts": bad}, "or 0 for none") for bad in (-1, 1.0, True, 10**9, "2")),
        *(({"threads": bad}, "or 0 for all cores but one") for bad in (-1, 1.0, True, None, 10**9, "2")),
        ({"port": 24000.0}, "whole number"),
        ({"port": True}, "whole number"),
        *(({"idle_minutes": bad}, "from 1 to 1440.") for bad in (0, 1441, None, "3")),
        *(({"share": bad}, "from 1 to 100.") for bad in (0, 101, None, True)),
        *(({"celsius_max": bad}, "from 30 to 120, or no limit.") for bad in (0, 29, 121, "hot")),
        *(({"memory_bytes": bad}, "Allow at least 256 MB") for bad in (0, 1e6, True, "4GB", 1e300)),
        ({"battery_percent": 101}, "from 1 to 100, or 0 to let it run empty."),
        *(({"gpu": bad}, "Choose always, rules, never.") for bad in ("sometimes", None, True, ["never"])),
        *(({"programs": bad}, "not a valid list of programs") for bad in ("steam", None, [1], ["a"] * 33)),
        *(({"programs": [bad]}, "not a valid name of a program") for bad in ("", "a\ab", "x" * 61)),
        *(({"gpu_programs": [bad]}, "not a valid folder") for bad in ("x/y", "..\\x", "/a\ab", "/" + "x" * 400)),
        *(
            ({"meter": bad}, "a meter that could say")
            for bad in ("price", "ftp://x", 3, None, "/" + "x" * 400, "/a\nb")
        ),
        ({"other_hours": "someday"}, "neither a day nor times"),
    ],
)
def test_what_cannot_be_gets_a_sentence_and_changes_nothing(tmp_path, wish, part):
    preferences = Preferences(tmp_path / "settings.json", Settings())
    with pytest.raises(BadSetting) as caught:
        preferences.change({"relay": False} | wish)
    assert part in str(caught.value)
    assert caught.value.code == f"setting.{next(iter(wish))}"
    assert preferences.settings == Settings()
    assert not (tmp_path / "settings.json").exists()


def test_what_is_no_setting():
    with pytest.raises(BadInput, match="There is no setting 'contributing'"):
        changed(Settings(), {"contributing": False})


def test_a_disk_that_cannot_be_written_changes_nothing(tmp_path):
    (tmp_path / "settings.json").mkdir()
    told = []
    preferences = Preferences(tmp_path / "settings.json", Settings())
    preferences.follow(told.append)
    with pytest.raises(UserProblem):
        preferences.change({"relay": False})
    assert preferences.settings.relay
    assert told == []


def test_a_port_counts_from_the_next_start():
    assert view(Settings(port=24_000)).note == ""
    assert view(Settings(port=24_000), port_now=24_000).note == ""
    assert "port 24000 counts from the next start" in view(Settings(port=24_000), port_now=21_000).note
    assert "the next start draws another" in view(changed(Settings(port=24_000), {"port": 0}), port_now=21_000).note


def test_the_smallest_limit_is_the_one_that_is_kept_to():
    assert RATE_BYTES_S_MIN >= SMALLEST_BYTES_S


NAMES = st.text(max_size=70)
ANY = st.none() | st.booleans() | st.integers() | st.floats() | NAMES | st.lists(NAMES) | st.sampled_from(["always"])


@given(st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=3))
def test_whatever_is_wished_the_settings_can_be_written_and_read(wish):
    import msgspec

    try:
        settings = changed(Settings(), wish)
    except BadInput:
        return
    assert msgspec.json.decode(msgspec.json.encode(settings), type=Settings) == settings
