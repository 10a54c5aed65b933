"""When to run: one pure decision for computing, for each graphics card and for the network.

The order is fixed (BOINC's, `check_suspend_processing`), and the first rule that forbids is the reason everywhere:

    computing   switch - battery - charge - in use - memory - hours - listed program - full screen - others busy -
                heat - watts - fan - meter
    a card      what forbids computing - switch - in use - listed program - others busy - heat - watts
    network     switch - hours - metered - the month's bytes

A switch at "always" passes over the rules of its row; computing at "always" also over the hours for the network and
over a card's rules, for that is what "compute now" means to a person, but not over what costs money.

Potluck rests at once and goes on late, so that nothing has it stop and go every few seconds.  What was sensed forbids
until it has been absent for `ABSENT_S` seconds; idle time has its own minutes.  A reading that passed its limit, which
training itself may reach, forbids until it has been at most `RELEASE` of it, and not above the limit for `HOLD_S`
seconds.  What a sense does not tell forbids nothing; what it tells no more counts as absent.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from core.api import verdict as verdicts
from core.api.modes import Switches, UseMode, UseSwitch
from core.api.numbers import volume
from core.api.rules import MEMORY_IN_USE, UseRules
from core.api.verdict import Verdict
from core.schedule.hours import Hours
from core.schedule.sensed import Sensed, SensedGpu

ABSENT_S: Final = 10.0
HOLD_S: Final = 60.0
RELEASE: Final = 0.9
MINUTE_S: Final = 60.0
PROCESSOR: Final = frozenset({"", "cpu"})
"""Devices that no graphics card is; "": not known yet."""
_FIRST_OF_KIND: Final = frozenset({"cuda", "xpu"})
"""Names that torch gives a number to."""

LatchName = tuple[str, str]
"""What is sensed, and of what: a card, or a program; empty: of the computer."""
Latches = Mapping[LatchName, float]
"""What forbids since it was sensed, and the moment since which each is absent or below its limit; infinite: not yet."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """Something sensed that a rule forbids."""

    name: LatchName
    forbids: bool
    """By itself, whatever was before."""
    is_gone: bool = True
    """Whether it need not forbid any longer if it does not forbid by itself."""
    hold_s: float = ABSENT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a decision depends on besides senses, rules and switches."""

    now: float
    """Unix seconds."""
    hours: Hours
    """Hours of the rules in this computer's time zone."""
    others: Hours | None = None
    """Hours of the rules in which another share holds; None: there are none."""
    month_used_bytes: int = 0
    device: str = ""
    """What training computes on, as torch calls it, with commas between several devices; empty: not known yet."""
    latches: Latches = field(default_factory=dict)
    """Latches of the decision before; empty at first, and after a change of the rules."""


@dataclass(frozen=True, slots=True)
class ComputeProfile:
    """How much of the computer training uses while it computes."""

    share: int = 100
    """Percentage of the time."""
    threads: int = 0
    """Threads of the processor; 0: as the settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A reason to rest for each of the three; None: it may be used."""

    computing: Verdict | None
    gpus: Mapping[str, Verdict | None]
    """By name, as torch calls each: those that are sensed, and those that training computes on."""
    network: Verdict | None
    devices: tuple[str, ...]
    """What training computes on."""
    profile: ComputeProfile
    latches: Latches
    """For the next decision."""
    changes: float | None
    """First moment, unix seconds, at which time alone may make another decision of this; None: there is none."""

    @property
    def gpu(self) -> Verdict | None:
        """Why a graphics card that training computes on may not be used; None: all of them may, or there is none."""
        return next((reason for device in self.devices if (reason := self.gpus.get(device)) is not None), None)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Devices of training that rest while the others compute."""
        resting = tuple(device for device in self.devices if self.gpus.get(device) is not None)
        return resting if len(resting) < len(self.devices) else ()

    @property
    def rest(self) -> Verdict | None:
        """Why nothing may be trained: nobody would get what is trained without the network.

        Training on several devices rests when all of them must.
        """
        return self.computing or (None if self.left_out else self.gpu) or self.network


def decide(sensed: Sensed, rules: UseRules, switches: Switches, at: Circumstances) -> Decision:
    """What may be used now, and if not, why.

    Args:
        sensed: As of now; None in it: not known.
        rules: The person's.
        switches: The person's.
        at: The rest.
    """
    devices = tuple(f"{name}:0" if name in _FIRST_OF_KIND else name for name in at.device.split(","))
    cards = {gpu.name: gpu for gpu in sensed.gpus}
    for device in devices:
        if device not in PROCESSOR:
            cards.setdefault(device, SensedGpu(name=device))
    findings = [*_findings(sensed, rules), *_limits(sensed, rules), *_readings(sensed, rules, cards.values())]
    latches, releases = _latched(findings, at)
    used = ("remote", "") in latches or ("idle", "") in latches
    case = _Case(rules, switches, at, latches, used)
    computing = next(case.computing(), None)
    moments = [*_own_moments(sensed, rules, switches, at), *releases]
    return Decision(
        computing=computing,
        gpus={name: computing or next(case.gpu(name), None) for name in cards},
        network=next(case.network(), None),
        devices=devices,
        profile=_profile(rules, latches, at, used=used),
        latches=latches,
        changes=min(moments, default=None),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """The rules of each row of the module's table, in order: those that forbid, the first of which counts."""

    rules: UseRules
    switches: Switches
    at: Circumstances
    latches: Latches
    used: bool

    @property
    def always(self) -> bool:
        """Whether the person wants to compute in spite of the rules."""
        return self.switches.computing.at(self.at.now) is UseMode.ALWAYS

    def computing(self) -> Iterator[Verdict]:
        """What forbids to compute at all."""
        rules, latches = self.rules, self.latches
        if self.switches.computing.at(self.at.now) is UseMode.NEVER:
            yield self._paused("", self.switches.computing)
        if self.always:
            return
        if ("battery", "") in latches:
            yield verdicts.resting("battery")
        if ("battery_low", "") in latches:
            yield verdicts.resting("battery_low", percent=rules.battery_percent)
        if self.used and not rules.in_use:
            yield verdicts.resting("in_use", minutes=rules.idle_minutes)
        if ("in_use_memory", "") in latches and rules.in_use_memory_bytes is not None:
            memory = volume(rules.in_use_memory_bytes)
            yield verdicts.resting(MEMORY_IN_USE, memory=memory, minutes=rules.idle_minutes)
        yield from self._hours()
        yield from self._programs("program", rules.programs)
        if ("full_screen", "") in latches:
            yield verdicts.resting("full_screen")
        yield from self._over()

    def gpu(self, name: str) -> Iterator[Verdict]:
        """What forbids a graphics card, besides what forbids to compute at all."""
        rules, switch = self.rules, self.switches.of_card(name, self.at.now)
        mode = switch.at(self.at.now)
        if mode is UseMode.NEVER:
            yield self._paused("gpu", switch)
        if self.always or mode is UseMode.ALWAYS:
            return
        if self.used and not rules.in_use_gpu:
            yield verdicts.resting("gpu_in_use", minutes=rules.idle_minutes)
        yield from self._programs("gpu_program", rules.gpu_programs)
        yield from self._over(name)

    def network(self) -> Iterator[Verdict]:
        """What forbids to use the network."""
        rules, mode = self.rules, self.switches.network.at(self.at.now)
        if mode is UseMode.NEVER:
            yield self._paused("network", self.switches.network)
        if mode is UseMode.ALWAYS:
            return
        if not self.always:
            yield from self._hours()
        if ("metered", "") in self.latches:
            yield verdicts.resting("metered")
        if rules.month_bytes is not None and self.at.month_used_bytes >= rules.month_bytes:
            yield verdicts.resting("month")

    def _programs(self, reason: str, listed: Iterable[str]) -> Iterator[Verdict]:
        for program in listed:
            if ("program", program) in self.latches:
                yield verdicts.resting(reason, program=program)

    def _over(self, card: str = "") -> Iterator[Verdict]:
        """Readings that have passed their limits: the computer's, or a card's."""
        rules = self.rules
        busy = rules.gpu_busy_percent if card else rules.busy_percent
        limits = {
            "busy": ("percent", busy),
            "heat": ("celsius", rules.celsius_max),
            "watts": ("watts", rules.watts_max),
            "fan": ("limit", rules.fan_rpm_max),
            "meter_high": ("limit", rules.meter_max),
            "meter_low": ("limit", rules.meter_min),
        }
        for reading, (unit, limit) in limits.items():
            if (reading, card) in self.latches:
                yield verdicts.resting(f"gpu_{reading}" if card else reading, **{unit: limit or 0})

    def _hours(self) -> Iterator[Verdict]:
        now, hours = self.at.now, self.at.hours
        if not hours.open(now):
            opens = hours.next_change(now)
            moment = hours.wall_time(opens, now) if opens is not None else {}
            yield verdicts.resting("schedule", until=opens, **moment)

    def _paused(self, subject: str, switch: UseSwitch) -> Verdict:
        until = switch.ends(self.at.now)
        if until is None:
            return verdicts.paused(subject)
        moment = self.at.hours.wall_time(until, self.at.now)
        return verdicts.paused(f"{subject}_until".lstrip("_"), until=until, **moment)


def _profile(rules: UseRules, latches: Latches, at: Circumstances, *, used: bool) -> ComputeProfile:
    share = rules.share if at.others is None or not at.others.open(at.now) else rules.other_share
    if ("warm", "") in latches:
        share = min(share, rules.warm_share)
    if used:
        return ComputeProfile(min(share, rules.in_use_share), rules.in_use_threads)
    return ComputeProfile(share)


def _findings(sensed: Sensed, rules: UseRules) -> Iterator[_Finding]:
    """Everything that forbids, or has training use less, by being there."""
    low = sensed.battery is not None and 100 * sensed.battery < rules.battery_percent
    there = sensed.idle_s is not None and sensed.idle_s < MINUTE_S * rules.idle_minutes
    yield _Finding(("idle", ""), there, hold_s=ABSENT_S if sensed.idle_s is None else 0.0)
    yield _Finding(("remote", ""), bool(sensed.remote))
    yield _Finding(("battery", ""), bool(sensed.on_battery) and not rules.on_battery)
    yield _Finding(("battery_low", ""), bool(sensed.on_battery) and low)
    yield _Finding(("full_screen", ""), bool(sensed.full_screen) and not rules.full_screen)
    yield _Finding(("metered", ""), bool(sensed.metered) and not rules.use_metered)
    for program in {*rules.programs, *rules.gpu_programs}:
        yield _Finding(("program", program), program in sensed.programs)
    if rules.in_use_memory_bytes is not None:
        used = there or bool(sensed.remote)
        holds = used and (sensed.own_bytes or 0) > rules.in_use_memory_bytes
        yield _Finding(("in_use_memory", ""), holds, is_gone=not used)


def _limits(sensed: Sensed, rules: UseRules) -> Iterator[_Finding]:
    """Everything of the whole computer that forbids, or has training use less, beyond a limit."""
    hottest = max((each for each in (sensed.celsius, *(card.celsius for card in sensed.gpus)) if each), default=0.0)
    above = {
        "warm": (hottest, rules.warm_celsius, RELEASE),
        "fan": (sensed.fan_rpm or 0.0, rules.fan_rpm_max, RELEASE),
        "meter_high": (-math.inf if sensed.meter is None else sensed.meter, rules.meter_max, 1.0),
    }
    for reading, (value, limit, release) in above.items():
        if limit is not None:
            yield _Finding((reading, ""), value > limit, value <= release * limit, HOLD_S)
    if rules.meter_min is not None:
        low = sensed.meter is not None and sensed.meter < rules.meter_min
        yield _Finding(("meter_low", ""), low, hold_s=HOLD_S)


def _readings(sensed: Sensed, rules: UseRules, cards: Iterable[SensedGpu]) -> Iterator[_Finding]:
    """Everything that forbids above a limit."""
    told = [("", sensed.busy, sensed.celsius, sensed.watts)]
    told += [(card.name, card.busy, card.celsius, card.watts) for card in cards]
    for card, busy, celsius, watts in told:
        limits = {
            "busy": (busy and 100 * busy, rules.gpu_busy_percent if card else rules.busy_percent),
            "heat": (celsius, rules.celsius_max),
            "watts": (watts, rules.watts_max),
        }
        for reading, (value, limit) in limits.items():
            if limit is not None:
                yield _Finding((reading, card), (value or 0.0) > limit, (value or 0.0) <= RELEASE * limit, HOLD_S)


def _latched(findings: Iterable[_Finding], at: Circumstances) -> tuple[Latches, list[float]]:
    """The latches after these findings, and the moments at which some of them let go if nothing changes."""
    latches, releases = {}, []
    for finding in findings:
        if not finding.forbids and finding.name not in at.latches:
            continue
        since = math.inf if finding.forbids else min(at.now, at.latches[finding.name])
        ends = since + finding.hold_s
        if not finding.is_gone or at.now < ends:
            latches[finding.name] = since
        if not finding.forbids and finding.is_gone and at.now < ends:
            releases.append(ends)
    return latches, releases


def _own_moments(sensed: Sensed, rules: UseRules, switches: Switches, at: Circumstances) -> Iterator[float]:
    """Moments at which time alone changes what a rule or a switch says."""
    for switch in (switches.computing, switches.gpu, switches.network, *switches.cards.values()):
        if (ends := switch.ends(at.now)) is not None:
            yield ends
    for hours in (at.hours, at.others):
        if hours is not None and (change := hours.next_change(at.now)) is not None:
            yield change
    if sensed.idle_s and (left := MINUTE_S * rules.idle_minutes - sensed.idle_s) > 0:
        yield at.now + left
