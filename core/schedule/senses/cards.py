"""Graphics cards: NVIDIA's by its driver, through NVML (nvidia-ml-py), AMD's and Intel's by files of the kernel."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from core.schedule.sensed import Sensed, SensedGpu
from core.schedule.senses.findings import Absent, Tell

CARDS_S: Final = 5.0
CARDS: Final = Path("/sys/class/drm")
PROCESSES: Final = Path("/proc")
_KINDS: Final[Mapping[str, str]] = MappingProxyType({"0x1002": "cuda", "0x8086": "xpu"})
"""Torch's word for the cards of a maker, by its number on the bus: its build for AMD says "cuda", too."""
_DEVICES: Final = ("/dev/dri/", "/dev/kfd")


class Nvidia:
    """Looks at NVIDIA's cards in the order of the bus: with cards of several kinds in one computer torch has another.

    Args:
        own: Numbers of Potluck's processes.
        nvml: The library; None: the one that is installed.
    """

    name: Final = "graphics cards (NVML)"
    is_coarse: Final = False

    def __init__(self, own: Callable[[], Collection[int]], nvml: Any = None) -> None:
        self._own = own
        self._nvml = nvml
        self._seen: dict[int, int] = {}

    def run(self, tell: Tell) -> None:
        """Look every five seconds.

        Raises:
            Absent: the library is not installed, or there is no driver.
        """
        nvml = self._nvml or _library()
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise Absent("no driver of NVIDIA") from error
        try:
            while True:
                tell(self.look(nvml))
                time.sleep(CARDS_S)
        finally:
            nvml.nvmlShutdown()

    def look(self, nvml: Any) -> Sensed:
        """Return what the driver tells of all cards now."""
        return Sensed(gpus=tuple(self._card(nvml, number) for number in range(nvml.nvmlDeviceGetCount())))

    def _card(self, nvml: Any, number: int) -> SensedGpu:
        card = nvml.nvmlDeviceGetHandleByIndex(number)
        busy = watts = celsius = None
        with suppress(nvml.NVMLError):
            busy = self._busy(nvml, number, card)
        with suppress(nvml.NVMLError):
            watts = nvml.nvmlDeviceGetPowerUsage(card) / 1000
        with suppress(nvml.NVMLError):
            celsius = float(nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU))
        return SensedGpu(name=f"cuda:{number}", busy=busy, watts=watts, celsius=celsius)

    def _busy(self, nvml: Any, number: int, card: Any) -> float | None:
        """Return the share of the card's time that programs of others had since the last look.

        The driver has samples of each process.  Where it keeps none, the share of all programs is that of the others as
        long as none of Potluck's has the card, and is unknown otherwise.
        """
        own = self._own()
        try:
            samples = nvml.nvmlDeviceGetProcessUtilization(card, self._seen.get(number, 0))
        except nvml.NVMLError:
            if any(process.pid in own for process in nvml.nvmlDeviceGetComputeRunningProcesses(card)):
                return None
            return float(nvml.nvmlDeviceGetUtilizationRates(card).gpu) / 100
        latest: dict[int, Any] = {}
        for sample in samples:
            if sample.pid not in latest or sample.timeStamp > latest[sample.pid].timeStamp:
                latest[sample.pid] = sample
        self._seen[number] = max((each.timeStamp for each in samples), default=self._seen.get(number, 0))
        return min(1.0, sum(float(each.smUtil) for pid, each in latest.items() if pid not in own) / 100)


def _library() -> Any:
    try:
        import pynvml  # noqa: PLC0415 - only where there may be such a card
    except ImportError as error:
        raise Absent("nvidia-ml-py is not installed") from error
    return pynvml


class DrmCards:
    """Looks at AMD's and Intel's cards, in the order of the kernel.

    Args:
        own: Numbers of Potluck's processes.
        cards: The folder that has a link for each card.
        processes: The folder that has one for each process.
        is_beside_nvidia: The driver of NVIDIA is loaded: torch's "cuda" are its cards then, and AMD's have no name.
    """

    def __init__(
        self,
        own: Callable[[], Collection[int]],
        cards: Path = CARDS,
        processes: Path = PROCESSES,
        *,
        is_beside_nvidia: bool = False,
    ) -> None:
        self._own = own
        self._kinds = {maker: kind for maker, kind in _KINDS.items() if kind != "cuda" or not is_beside_nvidia}
        self._cards = cards
        self._processes = processes

    def look(self) -> Sensed:
        """Look at all cards once.

        A card does not tell whose work it does: while one of Potluck's processes has a card open, how busy others keep
        it is unknown.

        Raises:
            Absent: there are none with a name.
        """
        found: list[SensedGpu] = []
        numbers: dict[str, int] = {}
        is_used = any(self._has_card(pid) for pid in self._own())
        for card in sorted(self._cards.glob("card[0-9]"), key=lambda each: each.name):
            device = card / "device"
            kind = self._kinds.get(_text(device / "vendor"))
            if kind is None:
                continue
            number = numbers[kind] = numbers.get(kind, -1) + 1
            found.append(_card(device, f"{kind}:{number}", is_used=is_used))
        if not found:
            raise Absent("no card of AMD or Intel that torch has a name for")
        return Sensed(gpus=tuple(found))

    def _has_card(self, pid: int) -> bool:
        try:
            files = (self._processes / str(pid) / "fd").iterdir()
            return any(str(each.readlink()).startswith(_DEVICES) for each in files)
        except OSError:
            return False


def _card(device: Path, name: str, *, is_used: bool) -> SensedGpu:
    sensors = next(iter(sorted((device / "hwmon").glob("hwmon*"))), device / "hwmon" / "none")
    percent = None if is_used else _number(device / "gpu_busy_percent")
    watts = _number(sensors / "power1_average") or _number(sensors / "power1_input")
    celsius = _number(sensors / "temp1_input")
    return SensedGpu(
        name=name,
        busy=None if percent is None else min(1.0, max(0.0, percent / 100)),
        watts=None if watts is None else watts / 1e6,
        celsius=None if celsius is None else celsius / 1000,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _number(path: Path) -> int | None:
    try:
        return int(_text(path))
    except ValueError:
        return None
