"""Snapshots as an engine would send them, for tests and screenshots.

`PYTHONPATH=. python tests/gui/examples.py DIR` writes one JSON file a state.
"""

import sys
from datetime import date, timedelta
from pathlib import Path

import msgspec

from core.api import verdict as verdicts
from core.api.reports import DayGift, GiftHistory, MachineView, ReceiptList, ReceiptView, TeamView, TrustView
from core.api.score import Filled, Score
from core.api.settings import SettingsView
from core.api.snapshot import (
    Activity,
    Collaboration,
    CurvePoint,
    LeaderboardRow,
    LossView,
    Mine,
    Notice,
    PeerView,
    ReachView,
    Snapshot,
    activity_of,
)
from core.api.verdict import Verdict, VerdictCode
from tests.gui.moderated import copies, moderation, people

TARGET = 2048
TODAY = date(2026, 11, 24)
MEANING = LossView(
    "masked-word loss",
    "nats",
    guesses="blanks",
    epoch=40,
    score=Score(4.81, 0.31),
    baselines={"word frequencies": Score(6.31, 0.06), "the word before": Score(5.92, 0.19)},
    filled=(
        Filled(
            ("If the file does not ", ", an error is raised and the ", " is closed."),
            ("exist", "file"),
            ("exist", "stream"),
        ),
        Filled(
            ("Return a ", " of the values in the table, in the order in which they were added."), ("list",), ("list",)
        ),
        Filled(
            ("The default ", " is used where no other is given by the caller of this function."), ("name",), ("value",)
        ),
    ),
)
"""This computer's last look at the held-out text."""
TRAINING = verdicts.contributing("training", others=2, samples=1264, target=TARGET, epoch=40)
WEEK = (0.2, 0.8, 0.0)
"""Who gave how much lately."""
PEOPLE = (("lantern7", "Ada's laptop", 104.2), ("maple2xk", "Bee", 61.8), ("quiet4vd", "Kitchen PC", 9.4))


def peers(activity: Activity, epoch: int) -> list[PeerView]:
    """Three volunteers, of which the second is me, and a backbone."""
    people = [
        PeerView(
            peer=peer,
            name=name,
            is_me=place == 1,
            role="volunteer",
            activity=(activity if place == 1 else Activity.TRAINING).value,
            epoch=epoch,
            samples_pending=300 * (3 - place),
            samples_per_s=0.0 if place == 1 and activity is Activity.PAUSED else speed,
        )
        for place, (peer, name, speed) in enumerate(PEOPLE)
    ]
    backbone = PeerView(
        peer="hearth00",
        name="Welcome desk",
        is_me=False,
        role="backbone",
        activity=Activity.WAITING.value,
        epoch=epoch,
        samples_pending=0,
        samples_per_s=0.0,
    )
    return [*people, backbone]


def standings(epoch: int) -> list[LeaderboardRow]:
    """Standings of the three volunteers."""
    shares = (0.594, 0.352, 0.054)
    return [
        LeaderboardRow(
            rank=place + 1,
            peer=peer,
            name=name,
            is_me=place == 1,
            samples=round(share * epoch * TARGET),
            share=share,
            week=WEEK[place],
            epochs=epoch,
        )
        for place, ((peer, name, _), share) in enumerate(zip(PEOPLE, shares, strict=True))
    ]


def curve(epochs: int) -> list[CurvePoint]:
    """A loss that falls, with a little noise, and a look at the held-out text every fifth epoch."""
    points = []
    for epoch in range(1, epochs + 1):
        fall = 5.2 + 3.3 * 0.93**epoch
        wobble = 0.09 * ((epoch * 7919 % 13) / 13 - 0.5)
        heldout = fall - 0.55 + wobble / 2 if epoch % 5 == 0 or epoch == 1 else None
        points.append(CurvePoint(epoch, fall + wobble, heldout))
    return points


def snapshot(verdict: Verdict = TRAINING, *, epoch: int = 40, samples: int = 1264) -> Snapshot:
    """A collaboration after some epochs."""
    contributing, activity = verdict.code is not VerdictCode.PAUSED, activity_of(verdict)
    return Snapshot(
        version="0.1.0",
        pid=4242,
        time=1_760_000_000.0,
        verdict=verdict,
        contributing=contributing,
        collaboration=Collaboration(
            name="A small ALBERT on Python's documentation",
            id="ab" * 32,
            summary="Masked words and sentence order.",
            organiser="this computer",
            target_samples=TARGET,
            loss=MEANING,
            page="https://pot.example",
        ),
        me=Mine(
            peer="maple2xk",
            name="Bee",
            samples=round(0.352 * epoch * TARGET),
            samples_pending=600 if contributing else 0,
            samples_per_s=61.8 if contributing else 0.0,
            epochs=epoch,
            bytes_sent=412_000_000,
            bytes_received=398_000_000,
            worker_pid=4243 if contributing else None,
            contributing_s=1260,
        ),
        epoch=epoch,
        epoch_samples=samples,
        samples_per_s=175.4 if contributing else 113.6,
        peers=peers(activity, epoch),
        leaderboard=standings(epoch) if epoch else [],
        week_since="2025-10-06" if epoch else "",
        curve=curve(epoch),
        reach=ReachView(
            "punchable",
            "This computer is behind a router. Other volunteers reach it directly after a short introduction.",
            "It works well as it is. With UPnP in the router, connections would start a little faster.",
        ),
        notice_last=7,
        today=gifts()[-1] if epoch else DayGift(day=TODAY.isoformat()),
    )


def starting(sentence: str = "Training a tokenizer on the text: this is done once.") -> Snapshot:
    """Before there is a collaboration."""
    verdict = verdicts.starting("preparing", stage=sentence)
    return msgspec.structs.replace(
        snapshot(verdict, epoch=0, samples=0), collaboration=None, peers=[], samples_per_s=0.0
    )


def empty() -> Snapshot:
    """A collaboration in which nothing has happened."""
    whole = snapshot(verdicts.starting("joining"), epoch=0, samples=0)
    me = msgspec.structs.replace(whole.me, samples=0, samples_pending=0, samples_per_s=0.0, epochs=0)
    return msgspec.structs.replace(whole, me=me, peers=[], samples_per_s=0.0)


def settings() -> SettingsView:
    """Settings of a person who has chosen a few things."""
    return SettingsView(
        upload_bytes_s=250_000.0,
        download_bytes_s=None,
        month_bytes=50_000_000_000,
        use_metered=False,
        relay=True,
        hours="mon-fri 20:30-07:00, sat sun",
        port=24_000,
        month_used_bytes=1_234_567_890,
    )


def gifts() -> tuple[DayGift, ...]:
    """Gifts of the days on which something was given."""
    gave = (2.5, 0, 4.2, 6.8, 7.1, 0, 0, 3.3, 5.0, 8.4, 2.2, 6.1, 9.6, 2.17)
    return tuple(
        DayGift(
            day=(TODAY - timedelta(days=13 - place)).isoformat(),
            seconds=hours * 3600,
            samples=round(hours * 61.8 * 3600),
            bytes_sent=round(hours * 41e6),
            bytes_received=round(hours * 39e6),
            joules=hours * 45 * 3600,
        )
        for place, hours in enumerate(gave)
        if hours
    )


def reports() -> dict[str, object]:
    """Answers for the pages, of somebody who has been here for a while."""
    kinds = ("accepted", "accepted", "accepted", "nothing", "accepted", "helped", "alone", "accepted")
    rounds = tuple(
        ReceiptView(
            time=1_760_000_000.0 - 45 * place,
            epoch=40 - place,
            samples=0 if kind in {"nothing", "helped"} else 700 + 13 * place,
            reduced=120_000,
            relayed_bytes=0,
            signed=1 if kind == "alone" else 3,
            members=3,
            verdict=kind,
        )
        for place, kind in enumerate(kinds)
    )
    machine = MachineView(
        name="Bee",
        system="Linux 6.12",
        processor="AMD Ryzen 7 5800U with Radeon Graphics",
        threads=16,
        threads_used=7,
        memory_bytes=16_400_000_000,
        memory_free_bytes=9_100_000_000,
        memory_used_bytes=1_230_000_000,
        disk_free_bytes=212_000_000_000,
        disk_used_bytes=340_000_000,
        home="/home/bee/.local/share/potluck",
        device="processor",
        programs=("blender", "firefox", "steam"),
        untold=("full_screen", "watts_max"),
    )
    told = (
        ("info", "Potluck starts.", "engine.starts"),
        ("info", "In this collaboration this computer is called Bee.", "engine.name", {"name": "Bee"}),
        ("info", "Contributing.", "verdict.contributing.training"),
        (
            "warning",
            "For 60 s the computers have not managed to put their work together (9 attempts). They go on trying.",
            "round.failing",
            {"seconds": 60, "times": 9},
        ),
        ("info", "Paused by you.", "verdict.paused."),
        ("info", "Contributing.", "verdict.contributing.training"),
        ("problem", "The disk is full: the model cannot be saved. Free at least 200 MB.", ""),
    )
    notices = [Notice(place, 1_760_000_000.0 + 97 * place, *one) for place, one in enumerate(told, 1)]
    return {
        "history": GiftHistory(today=TODAY.isoformat(), days=gifts(), streak=7, kwh_cents=32),
        "receipts": ReceiptList(receipts=rounds, kept=40, rounds=40, reduced=4_800_000),
        "machine": machine,
        "moderation": moderation(),
        "people": people(),
        "copies": copies(),
        "team": TeamView(name="Night readers", rank=2, teams=5, next_name="Early birds", missing=12_400),
        "trust": TrustView(mine="0123 4567 89ab cdef 0123 4567 89ab cdef", organiser="89ab cdef " * 3 + "89ab cdef"),
        "activity": notices,
    }


STATES = {
    "training": snapshot,
    "averaging": lambda: snapshot(verdicts.contributing("averaging", others=2, epoch=40), samples=2048),
    "paused": lambda: snapshot(verdicts.paused()),
    "resting": lambda: snapshot(verdicts.resting("schedule", until=1_760_040_000.0, clock="20:30")),
    "catching_up": lambda: snapshot(verdicts.starting("catching_up", done=12, total=57)),
    "offline": lambda: snapshot(verdicts.not_connected("offline", organiser="Ada Lovelace")),
    "problem": lambda: snapshot(
        verdicts.problem(
            "no_space",
            "The disk is full: the model cannot be saved.",
            "Free at least 200 MB where Potluck keeps its files. Training continues by itself then.",
        )
    ),
    "preparing": starting,
    "empty": empty,
}


def main() -> None:
    """Write them all."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in STATES.items():
        (folder / f"{name}.json").write_bytes(msgspec.json.encode(make()))
    (folder / "reports.json").write_bytes(msgspec.json.encode(reports()))


if __name__ == "__main__":
    main()
