"""Nobody looks at its mean while others may still wait for its words, and hivemind comes last."""

import asyncio
from argparse import Namespace
from types import SimpleNamespace

import pytest

from core.base.problems import Problem
from tests.bench.averaging import averaging
from tests.bench.averaging.averaging import one_round
from tests.bench.averaging.messages import Ended, RoundDone, Show, StartRound
from tests.bench.averaging.report import AveragingReport
from tests.bench.spread import Spread


class Told:
    """A peer that ends its round when it is let."""

    def __init__(self, *, ends: bool) -> None:
        self.words: list[object] = []
        self.may_end = asyncio.Event()
        if ends:
            self.may_end.set()

    def tell(self, words):
        self.words.append(words)

    async def hear(self, kind, *, timeout_s):
        del timeout_s
        if kind is Ended:
            await self.may_end.wait()
            return Ended()
        assert kind is RoundDone
        return self


def test_no_mean_is_looked_at_before_everybody_has_ended():
    async def case():
        quick, slow = Told(ends=True), Told(ends=False)
        go = StartRound(number=0, at=0.0)
        done = asyncio.create_task(one_round([quick, slow], go))
        for _ in range(5):
            await asyncio.sleep(0)
        assert quick.words == slow.words == [go]
        slow.may_end.set()
        assert await done == [quick, slow]
        assert quick.words == slow.words == [go, Show()]

    asyncio.run(case())


def args(**more):
    return Namespace(json=False, fleet=None, peers=2, warm=None, numel=10, codec="raw", rounds=1, **more)


def test_own_figures_are_printed_when_hivemind_fails(monkeypatch, capsys, tmp_path):
    report = AveragingReport(
        peers=2,
        numel=10,
        codec="raw",
        rounds=1,
        seconds=Spread(4.25, 4.0, 5.0),
        matchmaking_s=Spread(0.1, 0.1, 0.1),
        cpu_s=Spread(0.1, 0.1, 0.1),
        wire_bytes=100,
        relative_error=0.0,
        identical=True,
        truncated_rounds=0,
        failed_rounds=0,
        repeated=[],
        memory=1.0,
        cpus=2,
    )

    async def measured(*_):
        return report

    async def beside(*_):
        raise Problem("hivemind finished no round.")

    monkeypatch.setattr(averaging, "measure_as_asked", measured)
    monkeypatch.setattr(averaging, "beside_hivemind", beside)
    monkeypatch.setattr(averaging, "check", lambda _: None)
    with pytest.raises(Problem, match="finished no round"):
        averaging.run(args(hivemind=tmp_path, peers_scripts=tmp_path))
    assert "4.250 s a round" in capsys.readouterr().out


@pytest.mark.parametrize("fleet", ["pair", "30*2"])
def test_hivemind_is_told_fleets_in_full(monkeypatch, fleet, tmp_path):
    """Its scripts do not know our names."""
    told = []

    async def on_lines(*_, fleet, **__):
        told.append(fleet)
        return {"best_s": 2.0}

    monkeypatch.setattr(averaging.rivals, "hivemind_on_lines", on_lines)
    ours = SimpleNamespace(seconds=Spread(1.0, 1.0, 1.0), cpu_s=Spread(1.0, 1.0, 1.0), ratios={})
    monkeypatch.setattr(averaging.msgspec.structs, "replace", lambda _, **fields: fields)
    words = args(hivemind=tmp_path, peers_scripts=tmp_path)
    words.fleet = fleet
    beside = asyncio.run(averaging.beside_hivemind(ours, words, tmp_path, tmp_path))
    assert beside["ratios"] == {"hivemind": 0.5}
    assert told == [{"pair": "40*2"}.get(fleet, fleet)]


def test_where_gloo_fails_no_minutes_are_spent_on_hivemind(monkeypatch, tmp_path):
    async def gloo(*_, **__):
        raise Problem("There is no gloo.")

    monkeypatch.setattr(averaging.rivals, "gloo", gloo)
    monkeypatch.setattr(averaging.rivals, "hivemind", None)
    spread = Spread(1.0, 1.0, 1.0)
    ours = SimpleNamespace(seconds=spread, cpu_s=spread, peers=2, numel=10, codec="raw", ratios={})
    words = args(hivemind=tmp_path, peers_scripts=tmp_path)
    words.fleet = None
    with pytest.raises(Problem, match="no gloo"):
        asyncio.run(averaging.beside_hivemind(ours, words, tmp_path, tmp_path))
