"""The page of the settings about the network."""

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QHBoxLayout, QPushButton, QSpinBox, QVBoxLayout, QWidget

from app.widgets.field import Field, announce
from app.widgets.labels import sentence
from app.widgets.limit_box import LimitBox
from app.words import text
from core.api.settings import PORT_MAX, PortTest, SettingsView, Wish
from core.api.snapshot import ProblemView

MEGABIT_BYTES = 125_000.0
GIGABYTE_BYTES = 1e9


class NetworkPage(QWidget):
    """Limits, what is used at all, and the port."""

    test_asked = Signal()
    """The person wants to know whether others can call this computer."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.upload = LimitBox(unit=tr("Mbit/s"), scale=MEGABIT_BYTES, first=0.1, most=100_000)
        self.download = LimitBox(unit=tr("Mbit/s"), scale=MEGABIT_BYTES, first=0.1, most=100_000)
        self.month = LimitBox(unit=tr("GB"), scale=GIGABYTE_BYTES, first=1, most=1_000_000)
        self.metered = QCheckBox(tr("Use connections that &cost money by the megabyte"))
        self.relay = QCheckBox(tr("Carry connections for &others"))
        self.port = QSpinBox()
        self.port.setLocale(text.digits())
        self.port.setRange(0, PORT_MAX)
        self.port.setSpecialValueText(tr("Any"))
        self.port.setGroupSeparatorShown(False)
        self.test = QPushButton(tr("&Test the port"))
        self.test.setAutoDefault(False)
        self.test.clicked.connect(self._ask)
        self._tested = sentence()
        self._tested.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._build()
        self.fields: Mapping[str, Field] = MappingProxyType(self._fields())
        self._column.addLayout(self._test_row())
        self._column.addStretch(1)
        self.setFocusProxy(self.upload)

    @property
    def tested(self) -> str:
        """The shown result of the port test."""
        return self._tested.text()

    def show_settings(self, view: SettingsView) -> None:
        """Show the network part of the engine's settings."""
        self.upload.show_limit(view.upload_bytes_s)
        self.download.show_limit(view.download_bytes_s)
        self.month.show_limit(view.month_bytes)
        self.metered.setChecked(view.use_metered)
        self.relay.setChecked(view.relay)
        self.port.setValue(view.port)
        used = "" if view.month_used_bytes is None else text.size(view.month_used_bytes)
        self.fields["month_bytes"].say(text.tr("{used} used so far", used) if used else "")
        self.fields["port"].say(text.told(view.note, view.said) or text.tr("where others call this computer"))
        self._tested.clear()
        self.test.setEnabled(True)

    def wish(self) -> Wish:
        """All values that the page shows."""
        month = self.month.limit
        return {
            "upload_bytes_s": self.upload.limit,
            "download_bytes_s": self.download.limit,
            "month_bytes": None if month is None else round(month),
            "use_metered": self.metered.isChecked(),
            "relay": self.relay.isChecked(),
            "port": self.port.value(),
        }

    def show_test(self, tested: PortTest) -> None:
        """Show the result of a port test, with advice."""
        self._say_test(f"{text.told(tested.sentence, tested.said)} {text.told(tested.advice, tested.said)}")

    def show_test_failed(self, problem: ProblemView) -> None:
        """Say why the port could not be tested."""
        self._say_test(text.problem(problem))

    def _say_test(self, words: str) -> None:
        self.test.setEnabled(True)
        self._tested.setText(text.one_line(words))
        announce(self.test, self._tested.text())

    def _ask(self) -> None:
        self.test.setEnabled(False)
        self._tested.setText(text.tr("Others are asked to call this computer. This takes some seconds…"))
        self.test_asked.emit()

    def _build(self) -> None:
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(14, 12, 14, 8)
        self._column.setSpacing(6)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(2, 1)
        self._column.addLayout(self._grid)

    def _fields(self) -> dict[str, Field]:
        tr, grid = text.tr, self._grid
        return {
            "upload_bytes_s": Field(grid, self.upload, name=tr("&Upload"), note=tr("what is sent")),
            "download_bytes_s": Field(grid, self.download, name=tr("&Download"), note=tr("what is received")),
            "month_bytes": Field(grid, self.month, name=tr("In a &month")),
            "use_metered": Field(
                grid, self.metered, note=tr("Otherwise Potluck rests while the system calls the connection metered.")
            ),
            "relay": Field(
                grid,
                self.relay,
                note=tr("Volunteers that nobody can call reach others through this computer, within small limits."),
            ),
            "port": Field(grid, self.port, name=tr("&Port")),
        }

    def _test_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self.test, alignment=Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._tested, stretch=1)
        return row
