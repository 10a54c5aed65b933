"""Senses that look, at recorded answers of systems and drivers."""

import contextlib
import functools
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import msgspec
import psutil
import pytest

from core.schedule.sensed import Sensed, SensedGpu
from core.schedule.senses import cards as graphics
from core.schedule.senses import owner, registry, sensors
from core.schedule.senses.cards import DrmCards, Nvidia
from core.schedule.senses.child import LINE_BYTES_MAX
from core.schedule.senses.findings import Absent, Periodic
from core.schedule.senses.logind import DesktopSession, others
from core.schedule.senses.macos import last_input as macos_input
from core.schedule.senses.owner import HeldNames
from core.schedule.senses.processes import Processes
from core.schedule.senses.registry import senses_of
from core.schedule.senses.sensors import Rapl, battery
from core.schedule.senses.windows import desktop, last_input


class Enough(Exception):
    """A sense has told what a test wants to know."""


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_hottest_sensor_of_processor_counts(monkeypatch):
    def sensor(*celsius):
        return [SimpleNamespace(current=each) for each in celsius]

    told = {"coretemp": sensor(41.0, 67.5, -273.0), "acpitz": sensor(90.0), "nvme": sensor(80.0)}
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: told, raising=False)
    assert sensors.heat() == Sensed(celsius=67.5)
    del told["coretemp"]
    assert sensors.heat() == Sensed(celsius=90.0)
    del told["acpitz"]
    with pytest.raises(Absent):
        sensors.heat()


def test_fastest_fan_is_told_where_one_turns(monkeypatch):
    told = {"nct6775": [SimpleNamespace(current=900), SimpleNamespace(current=65_535)], "amdgpu": []}
    monkeypatch.setattr(psutil, "sensors_fans", lambda: told, raising=False)
    assert sensors.fans() == Sensed(fan_rpm=900.0)
    told["nct6775"][0].current = 0
    with pytest.raises(Absent):
        sensors.fans()


def test_meter_is_a_file_a_program_or_an_address(tmp_path):
    price, program = tmp_path / "price.json", tmp_path / "meter"
    price.write_text('{"price": -2.5e1, "hour": 3}')
    assert owner.number_of(str(price)) == -25.0
    program.write_text("#!/bin/sh\necho surplus: 412 W\n")
    program.chmod(0o755)
    assert owner.number_of(str(program)) == 412.0
    server = HTTPServer(("127.0.0.1", 0), Priced)
    threading.Thread(target=server.handle_request, daemon=True).start()
    assert owner.number_of(f"http://127.0.0.1:{server.server_port}/now") == 31.75
    server.server_close()


@pytest.mark.parametrize("says", ["", "no number", None, "#!/bin/sh\nexit 3\n", "\x00\xff"])
def test_meter_that_says_nothing_useful_is_absent(tmp_path, says):
    meter = tmp_path / "meter"
    if says is not None:
        meter.write_text(says)
        meter.chmod(0o755 if says.startswith("#!") else 0o644)
    with pytest.raises(Absent):
        owner.number_of(str(meter))


class Priced(BaseHTTPRequestHandler):
    """A meter of somebody's home."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"31.75 cents")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("letter", ["\x01", '"', "\U0001f600", "\udce9"])
def test_line_of_many_long_names_is_bounded(monkeypatch, letter):
    def process(pid):
        if pid == 1:
            raise psutil.NoSuchProcess(pid)
        name = f"{pid:05}" + letter * 100
        return SimpleNamespace(oneshot=contextlib.nullcontext, name=lambda: name, ppid=lambda: 3, exe=str)

    monkeypatch.setattr(psutil, "pids", lambda: range(100_000, 110_000))
    monkeypatch.setattr(psutil, "Process", process)
    sensed = Processes(1, HeldNames()).look()
    assert len(sensed.programs) > 900
    line = msgspec.json.encode(sensed)
    assert len(line) < LINE_BYTES_MAX
    assert msgspec.json.decode(line, type=Sensed) == sensed


def test_battery_that_does_not_tell_is_unknown(monkeypatch):
    for told, expected in (
        (None, Sensed()),
        (SimpleNamespace(percent=41.0, power_plugged=False), Sensed(on_battery=True, battery=0.41)),
        (SimpleNamespace(percent=100.5, power_plugged=None), Sensed(battery=1.0)),
    ):
        monkeypatch.setattr(psutil, "sensors_battery", lambda told=told: told, raising=False)
        monkeypatch.setattr("core.schedule.senses.sensors.sys.platform", "darwin")
        assert battery() == expected


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's files")
def test_battery_of_a_mouse_is_not_the_computers(tmp_path):
    mouse = {"type": "Battery\n", "scope": "Device\n", "status": "Discharging\n", "capacity": "55\n"}
    write(tmp_path / "hidpp_battery_0", **mouse)
    assert battery(tmp_path) == Sensed()
    write(tmp_path / "AC", type="Mains\n", online="0\n")
    write(tmp_path / "macsmc-battery", type="Battery\n", status="Discharging\n", capacity="41\n")
    assert battery(tmp_path) == Sensed(on_battery=True, battery=0.41)
    write(tmp_path / "AC", online="1\n")
    write(tmp_path / "macsmc-battery", status="Not charging\n")
    assert battery(tmp_path) == Sensed(on_battery=False, battery=0.41)
    assert battery(tmp_path / "none") == Sensed()


def test_watts_are_differences_of_counters_of_energy(tmp_path):
    write(tmp_path / "intel-rapl:0", energy_uj="999_000".replace("_", ""), max_energy_range_uj="999999")
    write(tmp_path / "intel-rapl:1", energy_uj="0", max_energy_range_uj="999999")
    write(tmp_path / "intel-rapl:0:0", energy_uj="5", max_energy_range_uj="999999")
    rapl = Rapl(tmp_path)
    assert rapl.look_at(10.0) == Sensed()
    write(tmp_path / "intel-rapl:0", energy_uj="99000")
    write(tmp_path / "intel-rapl:1", energy_uj="300000")
    assert rapl.look_at(12.0).watts == pytest.approx((0.1 + 0.3) / 2)
    with pytest.raises(Absent):
        Rapl(tmp_path / "none").look()


def test_cards_of_amd_and_intel_are_told(tmp_path):
    amd, intel = tmp_path / "card1" / "device", tmp_path / "card0" / "device"
    write(amd, vendor="0x1002\n", gpu_busy_percent="37\n")
    write(amd / "hwmon" / "hwmon3", power1_average="61000000\n", temp1_input="54000\n")
    write(intel, vendor="0x8086\n")
    write(tmp_path / "card2" / "device", vendor="0x10de\n")
    write(tmp_path / "card1-DP-1", status="connected\n")
    processes = tmp_path / "proc"
    write(processes / "7" / "fd")
    cards = DrmCards(lambda: {7}, tmp_path, processes)
    amd_told = SensedGpu(name="cuda:0", busy=0.37, watts=61.0, celsius=54.0)
    assert cards.look() == Sensed(gpus=(SensedGpu(name="xpu:0"), amd_told))
    (processes / "7" / "fd" / "5").symlink_to("/dev/kfd")
    assert [gpu.busy for gpu in cards.look().gpus] == [None, None]
    with pytest.raises(Absent):
        DrmCards(lambda: {7}, processes).look()


def test_card_of_amd_beside_nvidia_claims_no_name(tmp_path):
    write(tmp_path / "card0" / "device", vendor="0x1002\n", gpu_busy_percent="37\n")
    with pytest.raises(Absent):
        DrmCards(set, tmp_path, is_beside_nvidia=True).look()
    write(tmp_path / "card1" / "device", vendor="0x8086\n")
    assert DrmCards(set, tmp_path, is_beside_nvidia=True).look() == Sensed(gpus=(SensedGpu(name="xpu:0"),))


@pytest.mark.skipif(sys.platform != "linux", reason="the files are Linux's")
@pytest.mark.parametrize("has_driver", [False, True])
def test_each_name_of_card_is_of_one_sense(tmp_path, monkeypatch, has_driver):
    pytest.importorskip("jeepney")
    write(tmp_path / "card0" / "device", vendor="0x1002\n")
    driver = tmp_path / "nvidiactl"
    if has_driver:
        driver.touch()
    monkeypatch.setattr(registry, "NVIDIA", (str(driver),))
    monkeypatch.setattr(graphics, "DrmCards", functools.partial(DrmCards, cards=tmp_path))
    cards = [sense for sense in senses_of("linux", {}, 1, HeldNames()) if sense.name.startswith("graphics cards")]
    names = []

    def first(sensed):
        names.extend(gpu.name for gpu in sensed.gpus)
        raise Enough

    for sense in cards:
        with contextlib.suppress(Absent, Enough):
            if isinstance(sense, Nvidia):
                first(sense.look(Nvml()))
            sense.run(first)
    assert names == (["cuda:0", "cuda:1"] if has_driver else ["cuda:0"])


class Nvml:
    """Answers of a driver: card 0 keeps samples of processes, card 1 does not, and has no sensor of power."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def __init__(self):
        self.computing = [SimpleNamespace(pid=500)]
        self.asked = []

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByIndex(self, number):
        return number

    def nvmlDeviceGetProcessUtilization(self, card, since):
        if card == 1:
            raise self.NVMLError
        self.asked.append(since)
        samples = ((500, 9, 80), (500, 12, 30), (77, 11, 60))
        return [SimpleNamespace(pid=pid, timeStamp=stamp, smUtil=busy) for pid, stamp, busy in samples]

    def nvmlDeviceGetComputeRunningProcesses(self, card):
        return self.computing

    def nvmlDeviceGetUtilizationRates(self, card):
        return SimpleNamespace(gpu=45)

    def nvmlDeviceGetPowerUsage(self, card):
        if card == 1:
            raise self.NVMLError
        return 91_500

    def nvmlDeviceGetTemperature(self, card, sensor):
        return 63


def test_cards_of_nvidia_are_told_without_own_share():
    nvml = Nvml()
    sense = Nvidia(lambda: {77}, nvml)
    first = SensedGpu(name="cuda:0", busy=0.3, watts=91.5, celsius=63.0)
    assert sense.look(nvml).gpus == (first, SensedGpu(name="cuda:1", busy=0.45, celsius=63.0))
    nvml.computing = [SimpleNamespace(pid=77)]
    assert [gpu.busy for gpu in sense.look(nvml).gpus] == [0.3, None]
    assert nvml.asked == [0, 12]


class Windows:
    """Answers of Windows."""

    last, ticks, remote, state = 0, 0, False, 5

    def last_input_ms(self):
        return self.last

    def ticks_ms(self):
        return self.ticks

    def is_remote(self):
        return self.remote

    def notification_state(self):
        return self.state


def test_windows_tells_last_input_and_full_screen():
    calls = Windows()
    calls.last, calls.ticks = 2**32 - 500, 4_000
    assert last_input(calls) == Sensed(idle_s=4.5)
    calls.ticks = 2**32 - 100
    assert last_input(calls) == Sensed(idle_s=0.0)
    calls.last = None
    assert last_input(calls) == Sensed()
    assert desktop(calls) == Sensed(remote=False, full_screen=False)
    calls.state, calls.remote = 3, True
    assert desktop(calls) == Sensed(remote=True, full_screen=True)
    calls.state = None
    assert desktop(calls).full_screen is None


def test_macos_tells_last_input():
    told = [(0.2, 0.0), (7.5, 7.5), (float("inf"), None), (-1.0, None), (float("nan"), None)]
    assert [macos_input(lambda seconds=seconds: seconds).idle_s for seconds, _ in told] == [each for _, each in told]


def test_look_tells_only_what_is_new():
    answers = [Sensed(idle_s=idle) for idle in (0.0, 0.0, 1.0, 1.2, 5.0, 5.3, 0.0, 0.0, 2.0)]

    def look():
        if not answers:
            raise Enough
        return answers.pop(0)

    told = []
    with pytest.raises(Enough):
        Periodic("test", look, 0.0).run(told.append)
    assert [sensed.idle_s for sensed in told] == [0.0, 1.0, 5.0, 0.0, 2.0]


def session(uid, **changes):
    told = {"is_active": True, "is_remote": False, "is_locked": False, "idle_since": None}
    return DesktopSession(uid=uid, **{**told, **changes})


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ([], Sensed(remote=False)),
        ([session(1)], Sensed(remote=False)),
        ([session(1), session(2)], Sensed(remote=False, idle_s=0.0)),
        ([session(2, is_active=False)], Sensed(remote=False)),
        ([session(2, is_locked=True, is_remote=True)], Sensed(remote=False)),
        ([session(2, idle_since=60.0)], Sensed(remote=False, idle_s=40.0)),
        ([session(1, is_remote=True)], Sensed(remote=True)),
    ],
)
def test_sessions_of_others_count_in_foreground(sessions, expected):
    assert others(sessions, uid=1, now=100.0) == expected


@pytest.mark.parametrize("platform", ["linux", "win32", "darwin", "freebsd14"])
def test_each_system_has_senses_of_distinct_names(platform):
    if platform == "linux":
        pytest.importorskip("jeepney")
    for environ in ({}, {"DISPLAY": ":0"}, {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}):
        names = [sense.name for sense in senses_of(platform, environ, 1, HeldNames())]
        assert len(names) == len(set(names)), names
        assert ("input (X)" in names) == (platform == "linux" and "DISPLAY" in environ and len(environ) == 1)
