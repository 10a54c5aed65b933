"""How numbers, counts and moments are written, alike in window, command line and the engine's sentences."""

import math
from datetime import datetime


def amount(number: float, *, decimals: int = 0) -> str:
    """A number with thousands set apart by a plain space, which every terminal can print: 12 345.

    Args:
        number: Finite.
        decimals: Digits after the point.
    """
    return f"{number:,.{decimals}f}".replace(",", " ")


def gathered(samples: int, target: int) -> str:
    """How far an epoch is: "40 of 2 048 samples"; once there are enough, more of them say nothing more."""
    if samples >= target:
        return f"{amount(target)} of {amount(target)} samples gathered, averaging"
    return f"{amount(samples)} of {amount(target)} samples"


def company(volunteers: int, backbones: int) -> str:
    """Words for the peers that are here: "3 volunteers, 1 backbone", which does not train."""
    trains = f"{amount(volunteers)} volunteer{'' if volunteers == 1 else 's'}"
    return f"{trains}, {amount(backbones)} backbone{'' if backbones == 1 else 's'}" if backbones else trains


def per_hundred(share: float) -> str:
    """A share of guesses: "35 of 100"."""
    return f"{round(100 * share)} of 100"


def speed(bytes_s: float) -> str:
    """A line's speed as people buy it, in bits: 2 Mbit/s, 512 kbit/s."""
    return f"{_scaled(8 * bytes_s, ('bit', 'kbit', 'Mbit', 'Gbit', 'Tbit'))}/s"


def volume(count_bytes: float) -> str:
    """An amount of data: 50 GB, 1.25 MB."""
    return _scaled(count_bytes, ("bytes", "kB", "MB", "GB", "TB", "PB"))


def lasting(seconds: float) -> str:
    """A length of time, rounded to the largest unit of which there are two at least: 90 seconds, 2 days, 730 days.

    Less than a second has one digit that is not 0: 0.4 seconds.
    """
    for unit, unit_s in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * unit_s:
            return f"{amount(seconds / unit_s)} {unit}"
    if 0 < seconds < 0.95:
        return f"{float(f'{seconds:.1g}'):.{max(1, -math.floor(math.log10(seconds)))}f} seconds"
    return "1 second" if round(seconds) == 1 else f"{amount(seconds)} seconds"


def _scaled(number: float, units: tuple[str, ...]) -> str:
    """With at most two decimals, in the largest unit that leaves a number from one on."""
    place = 0
    while round(number, 2) >= 1000 and place < len(units) - 1:
        number, place = number / 1000, place + 1
    return f"{f'{number:.2f}'.rstrip('0').rstrip('.')} {units[place]}"


def moment_text(at: float) -> str:
    """A moment by this computer's clock, to the minute.

    Args:
        at: Unix seconds.
    """
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"
