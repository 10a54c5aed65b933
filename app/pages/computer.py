"""My computer: what it is, what Potluck uses of it, and what a check finds."""

from collections.abc import Hashable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.commands.doctor import Checked, DoctorCommand
from app.engine.intents import Intents
from app.engine.reports import Reports
from app.engine.store import Store
from app.pages.asking import AskingPage
from app.pages.page import GAP
from app.views.actions import Actions
from app.views.card_switches import CardSwitches
from app.views.facts import Facts
from app.widgets.field import announce
from app.widgets.icons import Picture
from app.widgets.labels import card, label, sentence
from app.words import data_text, page_text, text
from core.api.reports import MachineView
from core.api.snapshot import Snapshot


class ComputerPage(AskingPage):
    """Facts, and the findings of `potluck doctor`."""

    needs_collaboration = False

    def __init__(
        self, store: Store, reports: Reports, intents: Intents, actions: Actions, doctor: DoctorCommand
    ) -> None:
        tr = text.tr
        super().__init__(store, reports, tr("My computer"), {"machine": None})
        self._doctor = doctor
        self.facts = Facts(
            {
                "name": tr("Name"),
                "system": tr("System"),
                "processor": tr("Processor"),
                "threads": tr("Threads that train"),
                "device": tr("Trains on"),
                "memory": tr("Memory"),
                "disk": tr("Disk"),
                "data": tr("Text to learn from"),
                "data_kept": tr("Text on the disk"),
                "home": tr("Potluck's files"),
            }
        )
        self.change = QPushButton(tr("Change what Potluck ma&y take…"))
        self.change.clicked.connect(lambda: actions.rule_asked.emit("threads"))
        self.part = QPushButton(tr("The &training part…"))
        self.part.clicked.connect(actions.part_asked)
        self.cards = CardSwitches(store, intents)
        self.check = QPushButton(tr("Check this comp&uter"))
        self._said = sentence(tone="muted")
        self._said.setText(tr("Looks at network, clock, disk, devices and more. It takes some seconds."))
        self._findings = QVBoxLayout()
        self._findings.setSpacing(GAP)
        frame, column = card(margin=2 * GAP)
        column.addWidget(self.facts)
        column.addSpacing(GAP)
        column.addWidget(self.cards)
        buttons = QHBoxLayout()
        buttons.addWidget(self.change)
        buttons.addWidget(self.part)
        buttons.addStretch(1)
        column.addLayout(buttons)
        self.column.addWidget(frame)
        frame, column = card(margin=2 * GAP, spacing=GAP)
        column.addWidget(label(tr("Is everything here that Potluck needs?"), bold=True))
        column.addWidget(self._said)
        column.addLayout(self._findings)
        column.addWidget(self.check, alignment=Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(frame)
        self.column.addStretch(1)
        self.check.clicked.connect(self._start)
        doctor.found.connect(self.show_findings)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show what each card may do, and how the text comes to this computer."""
        super().show_snapshot(snapshot)
        self.cards.show_snapshot(snapshot)
        self.facts.show_values({"data": data_text.flow(snapshot.data), "data_kept": data_text.kept(snapshot.data)})

    def about(self, snapshot: Snapshot) -> Hashable:
        """The answers follow from what is computed, and on what."""
        return snapshot.verdict.code, snapshot.me.device, snapshot.me.name, snapshot.me.worker_pid

    def show_reports(self) -> None:
        """Show the engine's answer."""
        machine = self.reports.last(MachineView)
        if machine is not None:
            self.facts.show_values(page_text.machine(machine))

    def show_findings(self, findings: Sequence[Checked]) -> None:
        """Show what the check has found, problems first."""
        self.check.setEnabled(True)
        while (item := self._findings.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        order = ("problem", "note", "fine")
        for one in sorted(findings, key=lambda found: order.index(found.level) if found.level in order else 0):
            self._findings.addWidget(_finding(one))
        self._say(page_text.findings([one.level for one in findings]))

    def _start(self) -> None:
        self.check.setEnabled(False)
        self._say(text.tr("Checking…"))
        self._doctor.start()

    def _say(self, words: str) -> None:
        self._said.setText(words)
        announce(self, words)


def _finding(found: Checked) -> QWidget:
    """A sign, a sentence, and advice below it."""
    whole = QWidget()
    grid = QGridLayout(whole)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(GAP)
    grid.setVerticalSpacing(2)
    sign = {"fine": "finished", "problem": "problem"}.get(found.level, "note")
    grid.addWidget(Picture(sign, 1.2), 0, 0, alignment=Qt.AlignmentFlag.AlignTop)
    said = sentence()
    said.setText(text.one_line(text.told(found.sentence, found.said)))
    said.setAccessibleName(f"{page_text.level(found.level)}: {said.text()}")
    grid.addWidget(said, 0, 1)
    if found.advice:
        advice = sentence(tone="muted")
        advice.setText(text.one_line(text.told(found.advice, found.said)))
        grid.addWidget(advice, 1, 1)
    grid.setColumnStretch(1, 1)
    return whole
