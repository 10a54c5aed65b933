"""Settings on the command line: how each is read, and shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Final

from core.api.modes import UseSubject, UseSwitch
from core.api.numbers import speed, volume
from core.api.settings import SettingsView
from core.cli.parsing.quantities import (
    read_choice,
    read_experts,
    read_gigabytes,
    read_limit,
    read_names,
    read_none,
    read_rate,
    read_volume,
    read_whole,
)
from core.cli.printing.tables import switch_text


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting on the command line."""

    field: str
    """One of `core.api.settings.FIELDS`."""
    read: Callable[[str], float | str | bool | list[str] | None]
    show: Callable[[SettingsView], str]


def _limit(rate_bytes_s: float | None) -> str:
    return "no limit" if rate_bytes_s is None else speed(rate_bytes_s)


def _month(shown: SettingsView) -> str:
    limit = "no limit" if shown.month_bytes is None else volume(shown.month_bytes)
    return limit if shown.month_used_bytes is None else f"{limit}; {volume(shown.month_used_bytes)} used so far"


def _memory(shown: SettingsView) -> str:
    limit = "half of what is free" if shown.memory_bytes is None else volume(shown.memory_bytes)
    return f"{limit} (of the computer's memory, for training)"


def _experts(shown: SettingsView) -> str:
    most = "auto" if shown.experts is None else f"at most {shown.experts}" if shown.experts else "off"
    return f"{most} (of a mixture that live here and answer others; auto: as memory allows)"


def _choice(field: str, *, yes: str, no: str) -> SettingRow:
    """A setting that is on or off, with what each of the two means."""
    return SettingRow(field, read_choice, lambda shown: f"yes ({yes})" if getattr(shown, field) else f"no ({no})")


def _most(limit: int | None, unit: str) -> str:
    return "no limit" if limit is None else f"rests above {limit} {unit}"


def _switch(subject: UseSubject, shown: SettingsView) -> str:
    switch: UseSwitch = getattr(shown, subject)
    return switch_text(switch, datetime.now().astimezone().timestamp())


def _keep(shown: SettingsView) -> str:
    memory = f"for {shown.keep_minutes} min" if shown.keep_minutes else "not at all"
    return f"{memory} (memory that training holds while it rests, to go on at once)"


ROWS: Final[Mapping[str, SettingRow]] = MappingProxyType(
    {
        "upload": SettingRow("upload_bytes_s", read_rate, lambda shown: _limit(shown.upload_bytes_s)),
        "download": SettingRow("download_bytes_s", read_rate, lambda shown: _limit(shown.download_bytes_s)),
        "month": SettingRow("month_bytes", read_volume, _month),
        "metered": _choice(
            "use_metered",
            yes="connections that cost money by the megabyte are used",
            no="Potluck rests while the connection costs money by the megabyte",
        ),
        "relay": _choice(
            "relay",
            yes="this computer carries connections for others who cannot be called",
            no="nothing is carried for others",
        ),
        "hours": SettingRow("hours", str, lambda shown: shown.hours),
        "device": SettingRow("device", str, lambda shown: shown.device),
        "threads": SettingRow("threads", read_whole, lambda shown: str(shown.threads or "all cores but one")),
        "memory": SettingRow("memory_bytes", read_volume, _memory),
        "disk": SettingRow(
            "disk_gigabytes", read_gigabytes, lambda shown: f"{shown.disk_gigabytes} GB (of the disk, for data)"
        ),
        "experts": SettingRow("experts", read_experts, _experts),
        "compile": _choice(
            "compile",
            yes="training stands still first, and is faster then on some devices",
            no="training begins at once",
        ),
        "keep": SettingRow("keep_minutes", read_whole, _keep),
        "awake": _choice(
            "keep_awake",
            yes="the computer does not fall asleep while it contributes",
            no="the system lets the computer fall asleep as ever",
        ),
        "energy-watts": SettingRow(
            "energy_watts", read_whole, lambda shown: f"{shown.energy_watts or 'as measured or estimated'} (W)"
        ),
        "energy-cents": SettingRow("energy_cents", read_whole, lambda shown: str(shown.energy_cents or "not told")),
        "energy-grams": SettingRow("energy_grams", read_whole, lambda shown: str(shown.energy_grams or "not told")),
        "computing": SettingRow("computing", str.lower, partial(_switch, "computing")),
        "gpu": SettingRow("gpu", str.lower, partial(_switch, "gpu")),
        "network": SettingRow("network", str.lower, partial(_switch, "network")),
        "battery": _choice(
            "on_battery",
            yes="it computes also while the computer runs on its battery",
            no="it rests while the computer runs on its battery",
        ),
        "charge": SettingRow(
            "battery_percent", read_whole, lambda shown: f"{shown.battery_percent} % (it rests below, on the battery)"
        ),
        "idle": SettingRow(
            "idle_minutes",
            read_whole,
            lambda shown: f"{shown.idle_minutes} min (the computer is in use for so long after the last key)",
        ),
        "in-use": _choice(
            "in_use",
            yes="the processor computes also while the computer is in use",
            no="the processor rests while the computer is in use",
        ),
        "in-use-gpu": _choice(
            "in_use_gpu",
            yes="a graphics card computes also while the computer is in use",
            no="a graphics card rests while the computer is in use",
        ),
        "in-use-share": SettingRow(
            "in_use_share", read_whole, lambda shown: f"{shown.in_use_share} % of the time (while it is in use)"
        ),
        "in-use-threads": SettingRow(
            "in_use_threads", read_whole, lambda shown: str(shown.in_use_threads or "as many as otherwise")
        ),
        "share": SettingRow("share", read_whole, lambda shown: f"{shown.share} % of the time"),
        "in-use-memory": SettingRow(
            "in_use_memory_bytes",
            read_volume,
            lambda shown: (
                "no limit of its own"
                if shown.in_use_memory_bytes is None
                else f"{volume(shown.in_use_memory_bytes)} (it rests where training holds more while it is in use)"
            ),
        ),
        "other-hours": SettingRow("other_hours", read_none, lambda shown: shown.other_hours or "none"),
        "other-share": SettingRow("other_share", read_whole, lambda shown: f"{shown.other_share} % (in other-hours)"),
        "warm": SettingRow(
            "warm_celsius",
            read_limit,
            lambda shown: (
                "no limit"
                if shown.warm_celsius is None
                else f"{shown.warm_celsius} °C (hotter, it computes in {shown.warm_share} % of the time at most)"
            ),
        ),
        "warm-share": SettingRow("warm_share", read_whole, lambda shown: f"{shown.warm_share} % of the time"),
        "programs": SettingRow("programs", read_names, lambda shown: ", ".join(shown.programs) or "none"),
        "gpu-programs": SettingRow("gpu_programs", read_names, lambda shown: ", ".join(shown.gpu_programs) or "none"),
        "full-screen": _choice(
            "full_screen",
            yes="it computes also while a program fills the screen",
            no="it rests while a program fills the screen",
        ),
        "busy": SettingRow(
            "busy_percent", read_limit, lambda shown: _most(shown.busy_percent, "% of the processor in other programs")
        ),
        "gpu-busy": SettingRow(
            "gpu_busy_percent",
            read_limit,
            lambda shown: _most(shown.gpu_busy_percent, "% of the graphics card in other programs"),
        ),
        "heat": SettingRow("celsius_max", read_limit, lambda shown: _most(shown.celsius_max, "°C")),
        "watts": SettingRow("watts_max", read_limit, lambda shown: _most(shown.watts_max, "W")),
        "fan": SettingRow("fan_rpm_max", read_limit, lambda shown: _most(shown.fan_rpm_max, "turns of a fan a minute")),
        "meter": SettingRow("meter", read_none, lambda shown: shown.meter or "none"),
        "meter-above": SettingRow(
            "meter_max", read_limit, lambda shown: _most(shown.meter_max, "(the meter's number)")
        ),
        "meter-below": SettingRow(
            "meter_min",
            read_limit,
            lambda shown: "no limit" if shown.meter_min is None else f"rests below {shown.meter_min} (its number)",
        ),
        "name": SettingRow("name", str, lambda shown: shown.name or "as the system calls this computer"),
        "port": SettingRow("port", read_whole, lambda shown: str(shown.port or "drawn at the first start")),
    }
)
