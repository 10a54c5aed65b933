"""The page of the settings about what an owner hears, feels and pays."""

from PySide6.QtWidgets import QGridLayout, QLineEdit

from app.views.settings.page import SettingsPage
from app.widgets.field import Field
from app.widgets.whole_box import WholeBox
from app.words import text
from core.api.reports import MachineView
from core.api.rules import FOLDER_LETTERS_MAX, METER_MAX
from core.api.week import TEXT_MAX

CELSIUS_MAX = 120
FAN_RPM_MAX = 100_000
MARGIN = 28
"""Points beside the letters of a line."""


class OwnerPage(SettingsPage):
    """Less at some hours and in the heat; rest for a fan's noise, or for a number such as the price of electricity."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        clock = self._make_clock(self.add_rows(tr("Another share by the clock")))
        heat = self._make_heat(self.add_rows(tr("Heat and noise")))
        meter = self._make_meter(self.add_rows(tr("A number that your home says")))
        self.align(clock, heat, meter)
        self.column.addStretch(1)
        self.setFocusProxy(self.hours)

    def show_machine(self, machine: MachineView) -> None:
        """Grey out what this system does not tell, and show what the meter says."""
        for name in ("warm_celsius", "fan_rpm_max"):
            self.fields[name].enable(on=name not in machine.untold)
        said = self._meter_note
        if machine.meter is not None:
            said = text.tr("it says {number} now").format(number=text.decimal(f"{machine.meter:g}"))
        self.fields["meter"].say(said)

    def _make_clock(self, grid: QGridLayout) -> QGridLayout:
        tr = text.tr
        self.hours = QLineEdit(maxLength=TEXT_MAX, placeholderText="mon-fri 8:00-18:00")
        self.share = WholeBox(unit="%", most=100, step=5)
        note = tr("as on the page Hours; empty: at none")
        self.bind_line("other_hours", Field(grid, self.hours, name=tr("At these ho&urs"), note=note), self.hours)
        note = tr("of the time, in place of the share on the first page")
        self.bind_whole("other_share", Field(grid, self.share, name=tr("it &computes"), note=note), self.share)
        return grid

    def _make_heat(self, grid: QGridLayout) -> QGridLayout:
        tr, free = text.tr, text.tr("No limit")
        self.warm = WholeBox(unit="°C", most=CELSIUS_MAX, zero=free, step=5)
        self.warm_share = WholeBox(unit="%", most=100, step=5)
        self.fan = WholeBox(unit=tr("rpm"), most=FAN_RPM_MAX, zero=free, step=100)
        note = tr("in the processor, or in a card")
        warm = Field(grid, self.warm, name=tr("When hotter &than"), note=note)
        self.bind_whole("warm_celsius", warm, self.warm, limit=True)
        note = tr("of the time; the first page has a heat at which it rests")
        share = Field(grid, self.warm_share, name=tr("it computes at &most"), note=note)
        self.bind_whole("warm_share", share, self.warm_share)
        note = tr("turns a minute, of the fastest fan")
        fan = Field(grid, self.fan, name=tr("Rest when a &fan does more than"), note=note)
        self.bind_whole("fan_rpm_max", fan, self.fan, limit=True)
        return grid

    def _make_meter(self, grid: QGridLayout) -> QGridLayout:
        tr, free = text.tr, text.tr("No limit")
        self.meter = QLineEdit(maxLength=FOLDER_LETTERS_MAX, placeholderText="http://meter.local/price")
        shown = self.meter.fontMetrics().horizontalAdvance(self.meter.placeholderText())
        self.meter.setMinimumWidth(shown + MARGIN)
        self.above = WholeBox(unit="", most=METER_MAX, zero=free)
        self.below = WholeBox(unit="", most=METER_MAX, zero=free)
        self._meter_note = tr("an address, a file or a program that says a number: a price, the sun's watts")
        self.bind_line(
            "meter", Field(grid, self.meter, name=tr("Where it &is said"), note=self._meter_note), self.meter
        )
        note = tr("such as a price of electricity")
        above = Field(grid, self.above, name=tr("Rest when it is &above"), note=note)
        self.bind_whole("meter_max", above, self.above, limit=True)
        note = tr("such as the power that your roof has to spare")
        below = Field(grid, self.below, name=tr("Rest when it is &below"), note=note)
        self.bind_whole("meter_min", below, self.below, limit=True)
        return grid
