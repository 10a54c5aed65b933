"""Which build of torch fits computers as they are described."""

from pathlib import Path

import pytest

from core.parts import choice
from core.parts.choice import Hardware, builds_for, look

H100 = {"driver": (580, 82, 7), "capabilities": ((9, 0),)}
CASES = {
    "no card": (Hardware(system="linux"), ("cpu",)),
    "an H100": (Hardware(system="linux", **H100), ("cu130", "cu132", "cu126", "cpu")),
    "an H100 with an older driver": (
        Hardware(system="linux", driver=(550, 54, 14), capabilities=((9, 0),)),
        ("cu126", "cpu"),
    ),
    "a Pascal card": (Hardware(system="linux", driver=(580,), capabilities=((6, 1),)), ("cu126", "cpu")),
    "a Pascal and a Turing card": (
        Hardware(system="linux", driver=(580,), capabilities=((6, 1), (7, 5))),
        ("cu130", "cu132", "cu126", "cpu"),
    ),
    "a Blackwell card with an older driver": (
        Hardware(system="linux", driver=(570, 1), capabilities=((12, 0),)),
        ("cpu",),
    ),
    "a Kepler card": (Hardware(system="linux", driver=(470, 256, 2), capabilities=((3, 5),)), ("cpu",)),
    "a driver that tells no capability": (Hardware(system="linux", driver=(535, 1)), ("cu126", "cpu")),
    "an RTX on Windows": (
        Hardware(system="win32", machine="amd64", driver=(581, 29), capabilities=((8, 9),)),
        ("cu130", "cu132", "cu126", "cpu"),
    ),
    "a driver too old for Windows": (
        Hardware(system="win32", machine="amd64", driver=(527, 41), capabilities=((8, 6),)),
        ("cpu",),
    ),
    "a Radeon": (Hardware(system="linux", amd=("gfx1100",)), ("rocm7.2", "rocm7.1", "cpu")),
    "a Strix Halo": (Hardware(system="linux", amd=("gfx1151",)), ("rocm7.2", "cpu")),
    "a Radeon that no build knows": (Hardware(system="linux", amd=("gfx803",)), ("cpu",)),
    "a Radeon on Windows": (Hardware(system="win32", machine="amd64", amd=("gfx1100",)), ("cpu",)),
    "an Arc": (Hardware(system="linux", intel=True), ("xpu", "cpu")),
    "a Mac": (Hardware(system="darwin", machine="arm64"), ("mps",)),
    "a small ARM computer": (Hardware(system="linux", machine="aarch64"), ("cpu",)),
}


@pytest.mark.parametrize("which", CASES)
def test_builds_fit_the_cards_of_a_computer(which):
    hardware, fitting = CASES[which]
    assert builds_for(hardware) == fitting


@pytest.mark.parametrize("system", ["linux", "win32", "darwin"])
def test_last_build_needs_no_card_and_is_locked(system):
    machine = "arm64" if system == "darwin" else "x86_64"
    *_, plain = builds_for(Hardware(system=system, machine=machine, intel=True, amd=("gfx1100",), **H100))
    locked = Path(__file__).parents[3] / "resources" / "locked" / f"{choice.lock_name(plain, system)}.txt"
    assert "--hash=sha256:" in locked.read_text()


def test_advice_names_a_newer_driver_where_that_helps():
    assert "580" in choice.advice_of(CASES["a Blackwell card with an older driver"][0])
    assert not any(choice.advice_of(CASES[which][0]) for which in ("an H100", "no card", "a Kepler card"))


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def linux(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


@pytest.mark.usefixtures("linux")
def test_look_reads_drivers_and_cards(tmp_path):
    put(tmp_path, "sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 8\ngfx_target_version 0\n")
    put(tmp_path, "sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 96\ngfx_target_version 110001\n")
    put(tmp_path, "sys/class/kfd/kfd/topology/nodes/2/properties", "gfx_target_version 90010\n")
    for name, text in (("vendor", "0x8086\n"), ("class", "0x030000\n"), ("device", "0x56a0\n")):
        put(tmp_path, f"sys/bus/pci/devices/0000:03:00.0/{name}", text)
    found = look(tmp_path, ask=lambda _: "580.82.07, 9.0\n580.82.07, 12.0\n")
    assert found == Hardware(
        system="linux",
        driver=(580, 82, 7),
        capabilities=((9, 0), (12, 0)),
        amd=("gfx1101", "gfx90a"),
        intel=True,
    )


@pytest.mark.usefixtures("linux")
@pytest.mark.parametrize(
    "said", ["", "NVIDIA-SMI has failed because it couldn't communicate with the driver\n", "a, b\n"]
)
def test_look_takes_no_nonsense(tmp_path, said):
    put(tmp_path, "sys/bus/pci/devices/0000:00:02.0/vendor", "0x8086\n")
    put(tmp_path, "sys/class/kfd/kfd/topology/nodes/0/properties", "\xff gfx_target_version x\n")
    assert builds_for(look(tmp_path, ask=lambda _: said)) == ("cpu",)


@pytest.mark.usefixtures("linux")
def test_look_asks_the_kernel_where_nvidias_program_is_missing(tmp_path):
    put(tmp_path, "sys/module/nvidia/version", "550.54.14\n")
    assert look(tmp_path, ask=lambda _: "").driver == (550, 54, 14)
