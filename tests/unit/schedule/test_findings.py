"""What several senses tell becomes one value."""

import math
import struct
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.schedule.sensed import Sensed, SensedGpu
from core.schedule.senses.findings import KEPT_S, Findings


@dataclass(frozen=True)
class Named:
    name: str
    is_coarse: bool = False

    def run(self, tell):
        raise NotImplementedError


X, GNOME, HINT = Named("x"), Named("gnome"), Named("hint", is_coarse=True)


def test_nothing_told_is_nothing_known():
    assert Findings().whole(5.0) == Sensed()
    assert Findings().next_at(5.0) == math.inf


def test_idle_time_grows_without_a_word():
    findings = Findings()
    findings.put(X, Sensed(idle_s=1.0), 100.0)
    assert findings.news(100.0) == Sensed(idle_s=1.0)
    assert findings.next_at(100.0) == math.inf
    assert findings.whole(36_100.0).idle_s == 36_001.0
    assert findings.news(36_100.0) is None
    findings.put(X, Sensed(idle_s=0.0), 36_100.0)
    assert findings.news(36_100.0) == Sensed(idle_s=0.0)


def test_somebody_at_the_computer_stays_until_told_otherwise():
    findings = Findings()
    findings.put(X, Sensed(idle_s=0.0), 100.0)
    assert findings.whole(500.0).idle_s == 0.0
    assert findings.next_at(500.0) == math.inf


WORDS = st.builds(Sensed, idle_s=st.none() | st.just(0.0) | st.floats(0.1, 1e5), on_battery=st.none() | st.booleans())
HAPPENS = st.tuples(st.floats(0.0, 100.0), st.sampled_from([X, GNOME, HINT]), st.none() | WORDS)


@given(st.lists(HAPPENS, max_size=12), st.floats(0.0, 1e5))
def test_news_alone_tell_what_is_known_at_any_moment(happens, later):
    """Some seconds after each other senses tell something, or end."""
    findings, now = Findings(), 0.0
    heard, heard_at = findings.news(now), now
    for pause_s, sense, told in happens:
        due = findings.next_at(now)
        while due <= now + pause_s:
            news = findings.news(due)
            if news is not None:
                heard, heard_at = news, due
            now, due = due, findings.next_at(due)
        now += pause_s
        if told is None:
            findings.end(sense, now)
        else:
            findings.put(sense, told, now)
        news = findings.news(now)
        if news is not None:
            heard, heard_at = news, now
        assert findings.whole(now).is_like(heard.after(now - heard_at))
    if findings.next_at(now) == math.inf:
        assert findings.news(now + later) is None


def test_least_idle_of_all_sessions_counts():
    findings = Findings()
    findings.put(X, Sensed(idle_s=50.0), 0.0)
    findings.put(GNOME, Sensed(idle_s=20.0), 0.0)
    assert findings.whole(1.0).idle_s == 21.0


def test_last_word_of_ended_sense_holds_for_a_minute():
    findings = Findings()
    findings.put(X, Sensed(on_battery=True, idle_s=20.0), 0.0)
    findings.end(X, 10.0)
    findings.end(X, 10.0 + KEPT_S - 1.0)
    assert findings.whole(10.0 + KEPT_S - 0.1) == Sensed(on_battery=True, idle_s=30.0)
    assert findings.whole(10.0 + KEPT_S) == Sensed()
    assert findings.next_at(10.0 + KEPT_S) == math.inf


def test_end_of_kept_word_is_a_moment():
    findings = Findings()
    findings.put(X, Sensed(on_battery=True), 0.0)
    findings.end(X, 10.0)
    assert findings.next_at(11.0) == 10.0 + KEPT_S


def test_new_word_replaces_kept_one_at_once():
    findings = Findings()
    findings.put(X, Sensed(on_battery=True, battery=0.5), 0.0)
    findings.end(X, 10.0)
    findings.put(X, Sensed(on_battery=False), 11.0)
    assert findings.whole(11.0 + KEPT_S) == Sensed(on_battery=False)


def test_coarse_sense_counts_only_alone():
    findings = Findings()
    findings.put(HINT, Sensed(idle_s=0.0), 0.0)
    assert findings.whole(0.0).idle_s == 0.0
    findings.put(X, Sensed(idle_s=7.0), 0.0)
    assert findings.whole(0.0).idle_s == 7.0


def test_more_use_is_believed():
    findings = Findings()
    findings.put(X, Sensed(full_screen=False, busy=0.254, battery=0.5, celsius=61.4, programs=frozenset({"a"})), 0.0)
    findings.put(GNOME, Sensed(full_screen=True, busy=0.1, battery=0.75, programs=frozenset({"b"})), 0.0)
    whole = findings.whole(0.0)
    assert whole == Sensed(full_screen=True, busy=0.25, battery=0.5, celsius=61.0, programs=frozenset({"a", "b"}))


def test_what_nobody_tells_stays_unknown():
    findings = Findings()
    findings.put(X, Sensed(on_battery=False), 0.0)
    findings.put(GNOME, Sensed(gpus=(SensedGpu(name="cuda:0", busy=0.333, watts=99.7),)), 0.0)
    assert findings.whole(0.0) == Sensed(on_battery=False, gpus=(SensedGpu(name="cuda:0", busy=0.33, watts=100.0),))


def test_counters_of_x_are_read_with_padding():
    names = ("SERVERTIME", "IDLETIME", "DEVICEIDLETIME 2")
    items = b"".join(
        (struct.pack("=IiIH", 70 + each, 0, 4, len(name)) + name.encode()).ljust((14 + len(name) + 3) // 4 * 4, b"\0")
        for each, name in enumerate(names)
    )
    pytest.importorskip("xcffib")
    from core.schedule.senses.x11 import counters

    reply = struct.pack("=8xI20x", len(names)) + items
    assert counters(reply) == {"SERVERTIME": 70, "IDLETIME": 71, "DEVICEIDLETIME 2": 72}
    with pytest.raises(struct.error):
        counters(reply[:-20])
