"""Which build of torch fits this computer: decided by what the system tells of its cards, before torch is there.

Standard library only: `packaging/bootstrap.py` asks it too.  The tables are those of uv (`--torch-backend`), cut
down to the builds in which PyTorch 2.13.0 was published.
"""

import platform
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

Numbers = tuple[int, ...]
ASK_S: Final = 20.0
"""A driver that wakes a card can take some seconds to answer."""


class CudaBuild(NamedTuple):
    """A build for NVIDIA's cards, and what can run it."""

    name: str
    linux: Numbers
    """The oldest driver that can run it."""
    windows: Numbers
    oldest: tuple[int, int]
    """The least compute capability that it has kernels for."""
    newest: tuple[int, int]


CUDA: Final = (
    CudaBuild("cu130", (580,), (580,), (7, 5), (12, 9)),
    CudaBuild("cu132", (580,), (580,), (7, 5), (12, 9)),
    CudaBuild("cu126", (525, 60, 13), (528, 33), (5, 0), (9, 9)),
)
"""The first one that fits is the best: PyTorch calls 13.0 stable, and 13.2 experimental."""
ROCM: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "rocm7.2": frozenset(
            {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1102"}
            | {"gfx1150", "gfx1151", "gfx1200", "gfx1201"}
        ),
        "rocm7.1": frozenset(
            {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1102"}
            | {"gfx1200", "gfx1201"}
        ),
    }
)
"""Architectures of AMD's cards that a build for Linux has kernels for."""
INTEL: Final = ("0x56", "0xe2", "0x7d", "0x64", "0xb0")
"""How the numbers begin of Intel's graphics that torch can use: Arc, and Core Ultra."""
PLAIN: Final[Mapping[str, str]] = MappingProxyType({"linux": "cu130", "win32": "cpu", "darwin": "mps"})
"""The build that PyPI has, by system: the one without a label in its version."""
PYTORCH: Final = "https://download.pytorch.org/whl/"
"""PyTorch's own index, in which each build has a folder; it is asked for what pip's own places do not have."""
X86: Final = frozenset({"x86_64", "amd64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What the system tells of itself and its cards."""

    system: str
    """As in `sys.platform`."""
    machine: str = "x86_64"
    """The processor's kind in small letters."""
    driver: Numbers = ()
    """Version of NVIDIA's driver; empty: there is none."""
    capabilities: tuple[tuple[int, int], ...] = ()
    """Compute capabilities of NVIDIA's cards; empty: the driver does not tell."""
    amd: tuple[str, ...] = ()
    """Architectures of AMD's cards, `gfx1100` for example."""
    intel: bool = False
    """Whether there is a card of Intel that torch can use."""


def builds_for(hardware: Hardware) -> tuple[str, ...]:
    """The builds that fit a computer, the best first; the last one needs no card."""
    if hardware.system == "darwin":
        return ("mps",)
    fits = [build.name for build in CUDA if _runs(build, hardware)]
    if hardware.system == "linux" and hardware.machine in X86:
        fits += [name for name, known in ROCM.items() if known.intersection(hardware.amd)]
    if hardware.intel and hardware.machine in X86:
        fits.append("xpu")
    return (*fits, "cpu")


def label(build: str, system: str = sys.platform) -> str:
    """The label of a build in the version of torch, `cpu` in 2.13.0+cpu; empty: it is the one that PyPI has."""
    return "" if PLAIN.get(system) == build else build


def lock_name(build: str, system: str = sys.platform) -> str:
    """The file of the lock that names the build's hashes, without its end."""
    return f"torch-{label(build, system)}" if label(build, system) else "torch"


def advice_of(hardware: Hardware) -> str:
    """What a person could do so that a card of NVIDIA trains that no build fits now; empty: nothing is known."""
    if hardware.driver and builds_for(hardware) == ("cpu",) and max(hardware.capabilities, default=(9, 0)) >= (5, 0):
        return "A newer driver of NVIDIA (580 or later) would let its card train."
    return ""


def look(root: Path = Path("/"), *, ask: Callable[[Sequence[str]], str] | None = None) -> Hardware:
    """Find out what this computer has; a few files are read, and NVIDIA's own program is asked.

    Args:
        root: Where the system's files begin.
        ask: Runs a program; what it printed, empty when it failed.
    """
    system, machine = sys.platform, platform.machine().lower()
    if system == "darwin":
        return Hardware(system=system, machine=machine)
    words = ("nvidia-smi", "--query-gpu=driver_version,compute_cap", "--format=csv,noheader")
    rows = [line.split(",") for line in (ask or _printed)(words).splitlines() if line.count(",") == 1]
    versions = [_numbers(row[0]) for row in rows]
    driver = versions[0] if versions and versions[0] else _driver(root)
    cards = tuple(pair for row in rows if len(pair := _numbers(row[1])) == 2)
    found = {"driver": driver, "capabilities": cards, "amd": _amd(root), "intel": _intel(root)}
    return Hardware(system=system, machine=machine, **found)  # type: ignore[arg-type]


def _runs(build: CudaBuild, hardware: Hardware) -> bool:
    needed = build.windows if hardware.system == "win32" else build.linux
    cards = hardware.capabilities or (build.oldest,)
    return (
        bool(hardware.driver)
        and hardware.driver >= needed
        and any(build.oldest <= one <= build.newest for one in cards)
    )


def _numbers(text: str) -> Numbers:
    """The numbers of a version, as in 580.82.07; empty: it is none."""
    return tuple(map(int, text.strip().split("."))) if re.fullmatch(r"\s*\d+(\.\d+)*\s*", text) else ()


def _driver(root: Path) -> Numbers:
    """The version of a driver whose own program is not installed."""
    try:
        return _numbers((root / "sys/module/nvidia/version").read_text("ascii", "replace"))
    except OSError:
        return ()


def _amd(root: Path) -> tuple[str, ...]:
    """Architectures as the kernel's driver tells them: 110001 is gfx1101."""
    found = []
    for file in sorted(root.glob("sys/class/kfd/kfd/topology/nodes/*/properties")):
        try:
            told = re.search(r"^gfx_target_version (\d+)$", file.read_text("ascii", "replace"), re.MULTILINE)
        except OSError:
            continue
        if told and (number := int(told[1])):
            found.append(f"gfx{number // 10_000}{number // 100 % 100:x}{number % 100:x}")
    return tuple(found)


def _intel(root: Path) -> bool:
    """Whether a display on the bus is one of Intel's that torch can use."""
    for folder in root.glob("sys/bus/pci/devices/*"):
        try:
            vendor, kind, device = (
                (folder / name).read_text("ascii", "replace") for name in ("vendor", "class", "device")
            )
        except OSError:
            continue
        if vendor.startswith("0x8086") and kind.startswith("0x03") and device.startswith(INTEL):
            return True
    return False


def _printed(words: Sequence[str]) -> str:
    hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=ASK_S,
            creationflags=hidden,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""
