"""The page of the settings that says when Potluck rests."""

from PySide6.QtCore import QDateTime, QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QMenu, QPushButton

from app.views.settings.amounts import AmountRow
from app.views.settings.page import SettingsPage
from app.widgets.field import Field
from app.widgets.labels import sentence
from app.widgets.limit_box import LimitBox
from app.widgets.mode_row import ModeRow
from app.widgets.whole_box import WholeBox
from app.words import page_text, text
from core.api.modes import SUBJECTS, UseMode, UseSubject
from core.api.reports import MachineView
from core.api.rules import PROGRAM_LETTERS_MAX, PROGRAMS_MAX, THREADS_MAX, read_programs
from core.api.settings import SettingsView

MINUTES_MAX = 1440
CELSIUS_MAX = 120
WATTS_MAX = 10_000
GIGABYTE_BYTES = 1e9


class RulesPage(SettingsPage):
    """Three switches, and the rules that hold where these stand in the middle."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.amounts = AmountRow()
        self.modes = {
            "computing": ModeRow(tr("Computing")),
            "gpu": ModeRow(tr("Graphics card")),
            "network": ModeRow(tr("Network")),
        }
        self.programs = QLineEdit(maxLength=PROGRAMS_MAX * (PROGRAM_LETTERS_MAX + 2), placeholderText="blender, steam")
        self._running: tuple[str, ...] = ()
        self._untold: tuple[str, ...] = ()
        self._grey = sentence(tone="muted")
        self._grey.setText(tr("Your system does not tell what the grey rules need: they would stop nothing."))
        self._grey.hide()
        self.add_program = QPushButton(tr("&Add one that runs…"))
        self.add_program.setAutoDefault(False)
        self.add_program.setEnabled(False)
        self.add_program.clicked.connect(lambda: self.running_menu().popup(self._below_button()))
        self.gpu_programs = QLineEdit(
            maxLength=PROGRAMS_MAX * (PROGRAM_LETTERS_MAX + 2), placeholderText="steam, ~/Games"
        )
        self.column.addWidget(self.amounts)
        self._make_switches()
        used = self._make_use(self.add_rows(tr("While somebody uses this computer")))
        other = self._make_otherwise(self.add_rows(tr("At other times")))
        rests = self._make_rests(self.add_rows(tr("Other reasons to rest")))
        self.align(used, other, rests)
        self.column.addWidget(self._grey)
        self.column.addStretch(1)
        self.setFocusProxy(self.amounts.buttons["quiet"])

    def show_machine(self, machine: MachineView) -> None:
        """Grey out the rules that stop nothing here, and offer the programs that run."""
        self._untold = machine.untold
        for name, field in self.fields.items():
            field.enable(on=name not in machine.untold)
        self._follow_battery()
        self._grey.setVisible(bool(machine.untold))
        self._running = machine.programs
        self.add_program.setEnabled(bool(machine.programs))

    def _follow_battery(self) -> None:
        """A charge below which it rests means something only where it may run on the battery."""
        self.fields["battery_percent"].enable(on="battery_percent" not in self._untold and not self.battery.isChecked())

    def running_menu(self) -> QMenu:
        """Programs that run and are not listed yet; choosing one lists it."""
        menu, listed = QMenu(self), self._listed_programs()
        menu.aboutToHide.connect(menu.deleteLater)
        for name in self._running:
            if name not in listed:
                action = menu.addAction(text.plain(name).replace("&", "&&"))
                action.triggered.connect(lambda _=False, one=name: self._list_program(one))
        return menu

    def _list_program(self, name: str) -> None:
        self.programs.setText(", ".join([*self._listed_programs(), name]))

    def _below_button(self) -> QPoint:
        return self.add_program.mapToGlobal(self.add_program.rect().bottomLeft())

    def _make_switches(self) -> None:
        tr = text.tr
        grid = self.add_rows(tr("May Potluck use this computer?"))
        names = {"computing": tr("Computing"), "gpu": tr("Graphics card"), "network": tr("Network")}
        for subject in SUBJECTS:
            self._bind_mode(subject, Field(grid, self.modes[subject], name=names[subject]))

    def _bind_mode(self, subject: UseSubject, field: Field) -> None:
        row = self.modes[subject]

        def show(view: SettingsView) -> None:
            switch = getattr(view, subject)
            row.show_mode(switch.mode)
            ends = switch.ends(float(QDateTime.currentSecsSinceEpoch()))
            field.say("" if ends is None else _meanwhile(switch.meanwhile, ends))

        self.bind(subject, field, show, lambda: row.mode.value)

    def _make_use(self, grid: QGridLayout) -> QGridLayout:
        tr = text.tr
        self.idle = WholeBox(unit=tr("min"), most=MINUTES_MAX)
        self.in_use = QCheckBox(tr("The &processor rests"))
        self.in_use_gpu = QCheckBox(tr("The &graphics card rests"))
        self.in_use_share = WholeBox(unit="%", most=100, step=5)
        self.in_use_threads = WholeBox(unit="", most=THREADS_MAX, zero=tr("As many as otherwise"))
        idle = Field(
            grid,
            self.idle,
            name=tr("Until there was no &input for"),
            note=tr("no key, no touch, no movement of the mouse"),
        )
        self.bind_whole("idle_minutes", idle, self.idle)
        note = tr("Otherwise it computes on, and other programs go first.")
        self.bind_check("in_use", Field(grid, self.in_use, note=note), self.in_use, forbids=True)
        note = tr("A card knows no priority: what is on the screen may stutter while it computes.")
        self.bind_check("in_use_gpu", Field(grid, self.in_use_gpu, note=note), self.in_use_gpu, forbids=True)
        share = Field(grid, self.in_use_share, name=tr("It computes"), note=tr("of the time"))
        self.bind_whole("in_use_share", share, self.in_use_share)
        threads = Field(grid, self.in_use_threads, name=tr("&Threads of the processor"))
        self.bind_whole("in_use_threads", threads, self.in_use_threads)
        self.in_use_memory = LimitBox(unit=tr("GB"), scale=GIGABYTE_BYTES, first=0.5, most=100_000)
        note = tr("where training holds more, it rests and gives it back")
        memory = Field(grid, self.in_use_memory, name=tr("Memor&y, at most"), note=note)
        self.bind_bytes("in_use_memory_bytes", memory, self.in_use_memory)
        return grid

    def _make_otherwise(self, grid: QGridLayout) -> QGridLayout:
        tr = text.tr
        self.share = WholeBox(unit="%", most=100, step=5)
        note = tr("of the time; less keeps the computer cool and quiet")
        self.bind_whole("share", Field(grid, self.share, name=tr("Then it &computes"), note=note), self.share)
        return grid

    def _make_rests(self, grid: QGridLayout) -> QGridLayout:
        tr, free = text.tr, text.tr("No limit")
        self.battery = QCheckBox(tr("Rest while the computer runs on its &battery"))
        self.charge = WholeBox(unit="%", most=100, zero=tr("Until it is empty"), step=5)
        self.full_screen = QCheckBox(tr("Rest while a program &fills the screen"))
        self.busy = WholeBox(unit="%", most=100, zero=free, step=5)
        self.gpu_busy = WholeBox(unit="%", most=100, zero=free, step=5)
        self.heat = WholeBox(unit="°C", most=CELSIUS_MAX, zero=free, step=5)
        self.watts = WholeBox(unit="W", most=WATTS_MAX, zero=free, step=5)
        self.battery.toggled.connect(self._follow_battery)
        self.bind_check("on_battery", Field(grid, self.battery), self.battery, forbids=True)
        note = tr("of the battery's charge, where Potluck may run on it")
        self.bind_whole("battery_percent", Field(grid, self.charge, name=tr("Rest be&low"), note=note), self.charge)
        self.bind_check("full_screen", Field(grid, self.full_screen), self.full_screen, forbids=True)
        programs = Field(grid, self.programs, name=tr("Rest while these &run"))
        grid.addWidget(self.add_program, grid.rowCount() - 2, 2, alignment=Qt.AlignmentFlag.AlignLeft)
        self.bind(
            "programs", programs, lambda view: self.programs.setText(", ".join(view.programs)), self._listed_programs
        )
        note = tr("names as above, or folders such as ~/Games; both lists take them")
        cards = Field(grid, self.gpu_programs, name=tr("Rest the car&d while these run"), note=note)
        self.bind(
            "gpu_programs",
            cards,
            lambda view: self.gpu_programs.setText(", ".join(view.gpu_programs)),
            lambda: read_programs(self.gpu_programs.text()),
        )
        note, name = tr("of the processor"), tr("Rest when other programs need more than")
        self.bind_whole("busy_percent", Field(grid, self.busy, name=name, note=note), self.busy, limit=True)
        note, name = tr("of its time"), tr("Rest the card when they need more than")
        gpu_busy = Field(grid, self.gpu_busy, name=name, note=note)
        self.bind_whole("gpu_busy_percent", gpu_busy, self.gpu_busy, limit=True)
        note = tr("in the processor, or in the card that computes")
        self.bind_whole(
            "celsius_max", Field(grid, self.heat, name=tr("Rest when h&otter than"), note=note), self.heat, limit=True
        )
        note = tr("taken by the processor, or by the card that computes")
        self.bind_whole(
            "watts_max", Field(grid, self.watts, name=tr("Rest above a power of"), note=note), self.watts, limit=True
        )
        return grid

    def _listed_programs(self) -> list[str]:
        return read_programs(self.programs.text())


def _meanwhile(mode: UseMode | None, ends: float) -> str:
    """Where a switch stands for a time."""
    tr = text.tr
    words = {
        UseMode.ALWAYS: tr("On until {moment}, whatever the rules say"),
        UseMode.NEVER: tr("Off until {moment}"),
        UseMode.RULES: tr("By the rules until {moment}"),
    }
    return words[mode].format(moment=page_text.moment(ends)) if mode is not None else ""
