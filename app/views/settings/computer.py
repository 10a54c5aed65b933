"""The page of the settings about this computer: its name, what training takes of it, and what that costs."""

import contextlib
from typing import Annotated

import msgspec
from msgspec import Meta
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit

from app.commands.own_commands import OwnCommands
from app.views.settings.login import LoginField
from app.views.settings.page import SettingsPage
from app.widgets.device_choice import DeviceChoice
from app.widgets.field import Field
from app.widgets.limit_box import LimitBox
from app.widgets.whole_box import WholeBox
from app.words import text
from core.api.rules import THREADS_MAX
from core.api.settings import DISK_GIGABYTES_MAX, EXPERTS_MAX, KEEP_MINUTES_MAX, NAME_LETTERS

GIGABYTE_BYTES = 1e9
ENERGY_MAX = 10_000
DEVICES_MAX = 64


class _Device(msgspec.Struct, frozen=True):
    name: str
    title: str


class _Devices(msgspec.Struct, frozen=True):
    """The line that `potluck devices` printed, as far as it is used here."""

    devices: Annotated[tuple[_Device, ...], Meta(max_length=DEVICES_MAX)] = ()


class ComputerSettingsPage(SettingsPage):
    """Name, devices, threads, memory, the system's sleep, and figures for the electricity."""

    def __init__(self, commands: OwnCommands) -> None:
        super().__init__()
        tr = text.tr
        self._commands = commands
        self._looked = False
        self.name = QLineEdit(maxLength=NAME_LETTERS, placeholderText=tr("as the system says"))
        self.device = DeviceChoice()
        name = self._make_name(self.add_rows())
        self.login = LoginField(name, commands.startup)
        self._make_devices(self.add_rows(tr("Training runs on")))
        shares = self._make_shares(self.add_rows(tr("It takes")))
        energy = self._make_energy(self.add_rows(tr("Electricity")))
        self.align(name, shares, energy)
        self.column.addStretch(1)
        self.setFocusProxy(self.name)

    def look(self) -> None:
        """Find out what training can run on, once: that takes seconds, since torch is loaded for it."""
        if not self._looked:
            self._looked = True
            self._commands.devices.ask(["devices"], self._show_devices)

    def _show_devices(self, lines: list[bytes]) -> None:
        with contextlib.suppress(msgspec.DecodeError):
            found = msgspec.json.decode(lines[-1] if lines else b"{}", type=_Devices).devices
            self.device.show_found([(one.name, one.title) for one in found])

    def _make_name(self, grid: QGridLayout) -> QGridLayout:
        tr = text.tr
        note = tr("how collaborations that you join from now on call this computer")
        self.bind_line("name", Field(grid, self.name, name=tr("&Your name"), note=note), self.name)
        return grid

    def _make_devices(self, grid: QGridLayout) -> None:
        field = Field(grid, self.device)
        self.bind("device", field, lambda view: self.device.show_device(view.device), lambda: self.device.device)

    def _make_shares(self, grid: QGridLayout) -> QGridLayout:
        tr = text.tr
        self.threads = WholeBox(unit="", most=THREADS_MAX, zero=tr("All cores but one"))
        self.memory = LimitBox(unit=tr("GB"), scale=GIGABYTE_BYTES, first=0.5, most=100_000)
        self.memory.setSpecialValueText(tr("Half of what is free"))
        self.keep = WholeBox(unit=tr("min"), most=KEEP_MINUTES_MAX, zero=tr("Not at all"), step=5)
        self.compile = QCheckBox(tr("&Compile the model first"))
        self.awake = QCheckBox(tr("&Do not let this computer fall asleep while it contributes"))
        self.bind_whole("threads", Field(grid, self.threads, name=tr("&Threads of the processor")), self.threads)
        memory = Field(grid, self.memory, name=tr("&Memory"), note=tr("of the computer, not of a graphics card"))
        self.bind_bytes("memory_bytes", memory, self.memory)
        self.disk = WholeBox(unit=tr("GB"), most=DISK_GIGABYTES_MAX)
        note = tr("for text that is read on the way, and pieces of it that are kept for others")
        self.bind_whole("disk_gigabytes", Field(grid, self.disk, name=tr("Disk f&or data"), note=note), self.disk)
        self.experts = WholeBox(unit="", most=EXPERTS_MAX, zero=tr("As memory allows"))
        self.experts.setMinimum(-1)
        note = tr("of a model with experts; they answer others, and 0 is for none")
        self.bind(
            "experts",
            Field(grid, self.experts, name=tr("Experts that li&ve here"), note=note),
            lambda view: self.experts.setValue(-1 if view.experts is None else view.experts),
            lambda: None if self.experts.value() < 0 else self.experts.value(),
        )
        note = tr("while it rests, to go on at once; after that it is given back")
        self.bind_whole("keep_minutes", Field(grid, self.keep, name=tr("Memory is kept &for"), note=note), self.keep)
        note = tr("Training stands still for some minutes at first, and is faster then on some devices.")
        self.bind_check("compile", Field(grid, self.compile, note=note), self.compile)
        self.bind_check("keep_awake", Field(grid, self.awake), self.awake)
        return grid

    def _make_energy(self, grid: QGridLayout) -> QGridLayout:
        tr = text.tr
        self.watts = WholeBox(unit="W", most=ENERGY_MAX, zero=tr("As measured or estimated"), step=5)
        self.cents = WholeBox(unit=tr("cents"), most=ENERGY_MAX, zero=tr("Not told"))
        self.grams = WholeBox(unit="g", most=ENERGY_MAX, zero=tr("Not told"), step=10)
        note = tr("more is drawn while this computer contributes")
        self.bind_whole("energy_watts", Field(grid, self.watts, name=tr("&Power"), note=note), self.watts)
        note = tr("of your money for a kilowatt-hour; My gift shows what yours comes to")
        self.bind_whole("energy_cents", Field(grid, self.cents, name=tr("Pr&ice"), note=note), self.cents)
        note = tr("for a kilowatt-hour")
        self.bind_whole("energy_grams", Field(grid, self.grams, name=tr("Carbon dio&xide"), note=note), self.grams)
        return grid
