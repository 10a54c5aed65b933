"""How fast, against iperf3 in the same run over the same line; and whether control waits behind bulk."""

import asyncio
import shutil
import subprocess
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from tests.lab.crew import Member, public_hosts, two_homes
from tests.lab.ground import Ground, Kind

LINE = "100mbit"
SLOW_LINE = "10mbit"
RTT_S = 0.040
SETTLE_S = 6.0
CONTROL_EXTRA_S = 0.050
TARGETS = {"tcp": 0.90, "relay": 0.85, "quic": 0.80}
"""Share of iperf3's throughput."""
UNSHAPED_MB_PER_S = 400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement."""

    wanted: str
    """The way that should be taken: tcp, relay, quic."""
    way: str | None
    line: str
    rtt_s: float
    megabytes_per_s: float
    cpu_s_per_gigabyte: float
    iperf3_megabytes_per_s: float | None

    @property
    def share(self) -> float | None:
        """Speed as a share of iperf3's."""
        return None if not self.iperf3_megabytes_per_s else self.megabytes_per_s / self.iperf3_megabytes_per_s

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share}


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Round trips of small messages, without and with bulk on a slow line."""

    idle_p95_s: float
    busy_p95_s: float

    @property
    def kept(self) -> bool:
        return self.busy_p95_s <= self.idle_p95_s + CONTROL_EXTRA_S

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"kept": self.kept}

    def text(self) -> str:
        return (
            f"control on a line of {SLOW_LINE}, round trip {RTT_S * 1000:.0f} ms: "
            f"p95 {self.idle_p95_s * 1000:.0f} ms idle, "
            f"{self.busy_p95_s * 1000:.0f} ms beside bulk (at most {CONTROL_EXTRA_S * 1000:.0f} ms more)"
        )


def run_speed(*, seconds: float) -> list[Line]:
    return asyncio.run(_speed(seconds))


def run_control() -> Control:
    return asyncio.run(_control())


def iperf3(ground: Ground, *, seconds: float) -> float | None:
    """MB/s of one TCP connection from home a to home b, which has to be public; None when iperf3 is not here."""
    if shutil.which("iperf3") is None:
        return None
    server = subprocess.Popen(
        ground.inside("b", ["iperf3", "-s", "-1", "--forceflush"]), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        while "Server listening" not in (line := server.stdout.readline()):
            if not line:
                raise RuntimeError("iperf3 did not start")
        words = ["iperf3", "-c", ground.address("b"), "-J", "-t", str(int(seconds)), "-O", "1"]
        report = msgspec.json.decode(ground.run("a", *words))
    finally:
        server.kill()
        server.communicate()
    return float(report["end"]["sum_received"]["bits_per_second"]) / 8e6


async def _speed(seconds: float) -> list[Line]:
    lines = []
    with Ground() as ground:
        for line, rtt_s, a, b, wanted in (
            (None, 0.0, Kind.PUBLIC, Kind.PUBLIC, "tcp"),
            (LINE, RTT_S, Kind.KEPT, Kind.PUBLIC, "tcp"),
            (LINE, RTT_S, Kind.SYMMETRIC, Kind.SYMMETRIC, "relay"),
            (LINE, RTT_S, Kind.KEPT, Kind.KEPT, "quic"),
        ):
            ground.set_delay(rtt_s)
            ground.set_rate(line)
            ground.set_home("a", a)
            ground.set_home("b", Kind.PUBLIC)
            bare = iperf3(ground, seconds=seconds)
            ground.set_home("b", b)
            if wanted == "quic":
                ground.block_tcp()
            async with public_hosts(ground) as hosts:
                told = await _loaded(ground, hosts, seconds=seconds)
            if told is not None:
                lines.append(
                    Line(wanted=wanted, line=line or "unshaped", rtt_s=rtt_s, iperf3_megabytes_per_s=bare, **told)
                )
    return lines


async def _loaded(ground: Ground, hosts: list[Member], *, seconds: float) -> dict[str, Any] | None:
    async with two_homes(ground, hosts, settle_s=SETTLE_S) as (caller, called):
        caller.order("dial", peer=called.name, patience_s=12.0, watch_s=2.0)
        if (await caller.hear(timeout_s=30))["event"] == "failed":
            return None
        caller.order("load", peer=called.name, seconds=seconds)
        told = await caller.hear(timeout_s=seconds + 60)
        del told["event"], told["pause_s"]
        return told


async def _control() -> Control:
    with Ground() as ground:
        ground.set_delay(RTT_S)
        ground.set_home("a", Kind.KEPT)
        ground.set_home("b", Kind.PUBLIC)
        ground.set_rate(SLOW_LINE)
        async with public_hosts(ground) as hosts, two_homes(ground, hosts, settle_s=SETTLE_S) as (caller, called):
            caller.order("dial", peer=called.name, patience_s=12.0, watch_s=0.5)
            await caller.hear(timeout_s=30)
            p95 = []
            for busy in (False, True):
                caller.order("ping", peer=called.name, count=100, every_s=0.05, busy=busy)
                times = sorted((await caller.hear(timeout_s=60))["seconds"])
                p95.append(times[int(0.95 * len(times))])
            return Control(idle_p95_s=p95[0], busy_p95_s=p95[1])


def table(lines: list[Line]) -> str:
    rows = [f"{'way':12}{'line':10}{'rtt ms':>8}{'MB/s':>9}{'iperf3':>9}{'share':>7}{'CPU s/GB':>10}"]
    for line in lines:
        way = line.wanted if line.way == line.wanted else f"{line.wanted}?{line.way}"
        bare = "-" if line.iperf3_megabytes_per_s is None else f"{line.iperf3_megabytes_per_s:.1f}"
        share = "-" if line.share is None else f"{line.share * 100:.0f}%"
        rows.append(
            f"{way:12}{line.line:10}{line.rtt_s * 1000:8.0f}{line.megabytes_per_s:9.1f}{bare:>9}{share:>7}"
            f"{line.cpu_s_per_gigabyte:10.2f}"
        )
    return "\n".join(rows)


def shortfalls(lines: list[Line]) -> list[str]:
    """Ways that are missing, or too slow."""
    told = [
        f"tcp, unshaped: {line.megabytes_per_s:.0f} MB/s, at least {UNSHAPED_MB_PER_S:.0f} wanted"
        for line in lines
        if line.line == "unshaped" and line.megabytes_per_s < UNSHAPED_MB_PER_S
    ]
    for wanted, target in TARGETS.items():
        here = [line for line in lines if line.wanted == wanted and line.way == wanted and line.line != "unshaped"]
        if not here:
            told.append(f"{wanted}: not measured")
        told += [
            f"{wanted}: {line.share * 100:.0f}% of iperf3, at least {target * 100:.0f}% wanted"
            for line in here
            if line.share is not None and line.share < target
        ]
    return told
