"""A newer version: one line while there is one, and what is new in it, with the button that takes it."""

import contextlib
from functools import cached_property

import msgspec
from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.commands.line_command import LineAnswer, LineCommand
from app.engine.store import Store
from app.widgets.field import announce
from app.widgets.labels import label, sentence
from app.words import text
from core.api import updates
from core.api.updates import UpdateProgress, UpdateState, UpdateView

FULL = 1000
SIZE_FIRST = QSize(560, 360)
SCREEN_SHARE = 0.95


class UpdateDialog(QDialog):
    """Says what is known of a newer version, and takes it when the person says so.

    Args:
        command: Runs `potluck update`.
        parent: The window.
    """

    restart_asked = Signal()
    """The person wants to go on as the version that is here."""

    def __init__(self, command: LineCommand, parent: QWidget) -> None:
        super().__init__(parent)
        tr = text.tr
        self._command, self._view = command, UpdateView(state=UpdateState.CURRENT)
        self.setWindowTitle(text.title(tr("Newer versions")))
        self.state, self.news, self.said = sentence(), sentence(tone="muted"), sentence()
        self.daily = QCheckBox(tr("Look for newer versions once a &day"))
        self.bar = QProgressBar(textVisible=False, maximum=FULL)
        self.act, self.away = QPushButton(), QPushButton(tr("&Close"))
        self.daily.clicked.connect(lambda on: self._ask("--on" if on else "--off"))
        self.act.clicked.connect(self._act)
        self.away.clicked.connect(self.reject)
        self._build()
        self.resize(SIZE_FIRST.boundedTo(self.screen().availableSize() * SCREEN_SHARE))

    def ask(self) -> None:
        """Show what is known; nobody is asked for that."""
        if not self._command.runs:
            self._ask("--show")
        self.open()
        self.raise_()

    def _act(self) -> None:
        if self._view.state is UpdateState.READY:
            self.said.setText(text.tr("Potluck goes on as the new version after the present step."))
            self.act.setEnabled(False)
            self.restart_asked.emit()
        else:
            self._ask("--get" if self._view.state is UpdateState.OFFERED else "--check")

    def _ask(self, word: str) -> None:
        self.said.setText(text.tr("Looking…") if word in {"--check", "--get"} else "")
        self.bar.setVisible(word == "--get")
        self.bar.setMaximum(0)
        self.act.setEnabled(False)
        self._command.ask(["update", word], self._answered, heard=self._hear)

    def _hear(self, line: bytes) -> None:
        with contextlib.suppress(msgspec.DecodeError):
            told = msgspec.json.decode(line, type=UpdateProgress)
            sizes = text.size(told.done_bytes), text.size(told.total_bytes)
            self.said.setText(text.tr("Downloading: {done} of {total}", *sizes))
            self.bar.setMaximum(FULL)
            self.bar.setValue(round(FULL * told.done_bytes / max(1, told.total_bytes)))

    def _answered(self, lines: list[bytes]) -> None:
        words = text.tr("Newer versions could not be looked for.")
        with contextlib.suppress(msgspec.DecodeError):
            line = lines[-1] if lines else b""
            answer = msgspec.json.decode(line, type=LineAnswer)
            if answer.event == "problem":
                words = text.problem(answer.trouble)
            elif answer.event == "update":
                self._view, words = msgspec.json.decode(line, type=UpdateView), ""
        self._show()
        self.said.setText(text.one_line(words))
        if words:
            announce(self, words)

    def _show(self) -> None:
        tr, view = text.tr, self._view
        self.state.setText(" ".join(one.told(tr) for one in updates.told(view)))
        self.news.setText("\n".join(f"• {line}" for line in view.news))
        words = {
            UpdateState.READY: tr("&Restart with {version}", view.version),
            UpdateState.OFFERED: tr("&Get {version}", view.version),
        }
        self.act.setText(words.get(view.state, tr("&Look now")))
        self.bar.hide()
        ours = view.state is not UpdateState.NOT_OURS
        self.act.setEnabled(ours)
        self.act.setVisible(ours)
        self.daily.setVisible(ours)
        self.daily.setChecked(view.on)

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(text.tr("Newer versions"), factor=1.4, bold=True))
        column.addWidget(self.state)
        scroll = QScrollArea(widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidget(self.news)
        self.news.setAlignment(Qt.AlignmentFlag.AlignTop)
        column.addWidget(scroll, stretch=1)
        for widget in (self.said, self.bar, self.daily):
            column.addWidget(widget)
        buttons = QHBoxLayout()
        buttons.addWidget(self.away)
        self.away.setAutoDefault(False)
        buttons.addStretch(1)
        buttons.addWidget(self.act)
        self.act.setDefault(True)
        column.addLayout(buttons)
        self._show()


class UpdateLine(QFrame):
    """One line and one button above the pages, while there is a newer version or one did not start.

    Args:
        store: Has the snapshot.
        command: Runs `potluck update`.
        window: The window.
    """

    restart_asked = Signal()
    """The person wants to go on as the version that is here."""

    def __init__(self, store: Store, command: LineCommand, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("card")
        self._store, self._command, self._window = store, command, window
        self.words, self.look = sentence(), QPushButton(text.tr("What is &new…"))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 12, 6)
        row.addWidget(self.words, stretch=1)
        row.addWidget(self.look)
        self.look.clicked.connect(lambda: self.dialog.ask())  # noqa: PLW0108 - not built before
        store.changed.connect(self._follow)
        self.hide()

    @cached_property
    def dialog(self) -> UpdateDialog:
        """What is new, built when it is first asked for."""
        dialog = UpdateDialog(self._command, self._window)
        dialog.restart_asked.connect(self.restart_asked)
        return dialog

    def _follow(self) -> None:
        view = self._store.snapshot.update if self._store.snapshot is not None else None
        newer = view is not None and view.state in {UpdateState.READY, UpdateState.OFFERED}
        self.setVisible(newer or (view is not None and bool(view.back_from)))
        if view is not None:
            told = updates.told(view)
            self.words.setText(" ".join(one.told(text.tr) for one in (told if newer else told[1:])))
