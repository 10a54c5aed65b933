"""The DHT is broken on purpose, one rule at a time: the checkers of the small worlds notice each.

The worlds are those of `test_dht_worlds`, where the whole DHT trips no checker; the judgement on attacks is that of
`test_dht_attacks`.
"""

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module

import pytest

import core.dht
from core.dht.memory import Memory
from core.dht.messages import Record
from core.dht.records import Proofs
from core.dht.space import position
from tests.sim.attacks.hostile_dht import Scale
from tests.sim.attacks.records import forgery, gives, replay
from tests.sim.dht.worlds import SmallSettings, SmallWorld

SEEDS = range(100, 112)
SCALE = Scale(peers=60, lookups=40)


def problems(**changes: object) -> Iterator[str]:
    """Findings of the checkers in some small worlds, one after the other."""
    for seed in SEEDS:
        verdict = SmallWorld(seed, replace(SmallSettings.drawn(seed), **changes)).run()
        if not verdict.ok:
            yield verdict.problem


def everywhere(monkeypatch: pytest.MonkeyPatch, name: str, value: Callable, *, only: str = "") -> None:
    """Put another function in the place of one, in each module of the DHT that uses it."""
    replaced = 0
    for module in pkgutil.iter_modules(core.dht.__path__):
        here = import_module(f"core.dht.{module.name}")
        if hasattr(here, name) and only in {"", module.name}:
            monkeypatch.setattr(here, name, value)
            replaced += 1
    assert replaced


def forgers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Liars of the small worlds give forged records."""
    monkeypatch.setattr("tests.sim.dht.liars.LIES", (lambda _: gives(first=False),))


def test_forgers_in_the_whole_dht_trip_no_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    forgers(monkeypatch)
    assert list(problems(liars=0.2)) == []


@pytest.mark.parametrize(
    ("only", "broken"),
    [
        ("", lambda peer: int.from_bytes(peer, "big")),
        ("", lambda peer: position(peer) >> 128),
        ("lookup", lambda peer: ~position(peer)),
    ],
    ids=["an id is its own place", "half of the bits", "a lookup goes to the farthest"],
)
def test_a_broken_distance_is_noticed(monkeypatch: pytest.MonkeyPatch, only: str, broken: Callable) -> None:
    everywhere(monkeypatch, "position", broken, only=only)
    assert any("nearest to a key lack the record" in problem for problem in problems())


def test_records_that_outlive_their_end_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(self: Memory, key, held, now) -> dict:
        return {**self._read.get(key, {}), **held}

    monkeypatch.setattr(Memory, "known", known)
    assert any("after it had expired" in problem for problem in problems())


def test_an_earlier_expiration_that_wins_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def earlier(record: Record, known: Record | None) -> bool:
        return known is None or record.expires_ms < known.expires_ms

    assert replay(SCALE, on=True).succeeded > 0.95
    everywhere(monkeypatch, "supersedes", earlier)
    assert any("lack the record" in problem for problem in problems())
    assert replay(SCALE, on=True).succeeded < 0.5


def test_a_missing_signature_check_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Proofs, "holds", lambda self, key, record: True)
    assert forgery(SCALE, on=True).succeeded < 0.5
    forgers(monkeypatch)
    assert any("its owner never wrote it" in problem for problem in problems(liars=0.2))
