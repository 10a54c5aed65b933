"""Graphics cards of NVIDIA, as the driver tells through NVML (nvidia-ml-py)."""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final

from core.schedule.sensed import Sensed, SensedGpu
from core.schedule.senses.findings import Absent, Tell

LOOK_S: Final = 5.0


class Nvidia:
    """Looks at each card, in the order of the bus: with cards of several kinds in one computer torch has another one.

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
                time.sleep(LOOK_S)
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
