"""What trains: got, changed and removed, with its sizes told before anything is downloaded."""

import contextlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec
from PySide6.QtCore import QObject, QSize
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.commands.line_command import LineAnswer, LineCommand
from app.engine.store import Store
from app.looks.choices import Choices
from app.views.question import Question
from app.widgets.field import announce
from app.widgets.labels import label, sentence
from app.words import text
from core.api.sentence import later
from core.api.training_part import NEEDS_PART, NO_PART, PartBuild, PartProgress, PartState, PartView

FULL: Final = 1000
SIZE_FIRST: Final = QSize(560, 270)
SCREEN_SHARE: Final = 0.95
SAID: Final[Mapping[PartState, str]] = MappingProxyType(
    {
        PartState.OWN: later("This Potluck runs with a Python that has torch: nothing has to be downloaded."),
        PartState.HERE: later("The training part is here: this computer can train."),
        PartState.MISSING: later(
            "Training needs torch, which is not part of Potluck's own package. "
            "Without it this computer averages what others have trained."
        ),
        PartState.OLD: later("The training part here belongs to another version of Potluck. Get the new one."),
        PartState.DAMAGED: later("The training part is damaged: a file is missing, or has another size. Get it again."),
    }
)
STEPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "looking": later("Looking where it is…"),
        "downloading": later("Downloading: {done} of {total}"),
        "unpacking": later("Unpacking: {done} of {total}"),
        "trying": later("Trying whether it starts…"),
    }
)


def build_title(name: str) -> str:
    """What a build runs on, in the window's language."""
    if name.startswith("cu"):
        return text.tr("Graphics card of NVIDIA (CUDA {version})", f"{name[2:-1]}.{name[-1]}")
    if name.startswith("rocm"):
        return text.tr("Graphics card of AMD (ROCm {version})", name.removeprefix("rocm"))
    known = {"cpu": text.tr("Processor"), "mps": text.tr("Apple's graphics"), "xpu": text.tr("Intel's graphics")}
    return known.get(name, name)


class TrainingPartDialog(QDialog):
    """Nothing is downloaded before the person says so; the engine begins anew when it is there.

    Args:
        command: Runs `potluck training-part`.
        parent: The window.
    """

    def __init__(self, command: LineCommand, parent: QWidget) -> None:
        super().__init__(parent)
        tr = text.tr
        self._command = command
        self._view: PartView | None = None
        self._gets = False
        self.setWindowTitle(text.title(tr("The training part")))
        self.state, self.sizes, self.said = sentence(), sentence(tone="muted"), sentence()
        self.build = QComboBox()
        self.build.setAccessibleName(tr("Build of torch"))
        self.build.currentIndexChanged.connect(self._show_sizes)
        self.bar = QProgressBar(textVisible=False, maximum=FULL)
        self.get, self.folder = QPushButton(), QPushButton(tr("From a &folder…"))
        self.remove, self.no = QPushButton(tr("&Remove it…")), QPushButton(tr("&Not now"))
        self.get.clicked.connect(lambda: self._begin())  # noqa: PLW0108 - the signal has an argument
        self.folder.clicked.connect(self._choose)
        self.remove.clicked.connect(self._ask_to_remove)
        self.no.clicked.connect(self.reject)
        self._build()
        self.resize(SIZE_FIRST.boundedTo(self.screen().availableSize() * SCREEN_SHARE))

    def ask(self) -> None:
        """Look what is here, and show it; while it is being got, show how far that is."""
        if not self._gets:
            self.said.setText(text.tr("Looking at this computer…"))
            self._show(None)
            self._command.ask(["training-part", "show"], self._answered)
        self.open()
        self.raise_()

    def reject(self) -> None:
        """Close; what is being got is stopped first, if the person says so: it goes on there the next time."""
        if not self._gets:
            self._command.stop()
            super().reject()
            return
        tr = text.tr
        self.box = Question(
            tr("Stop downloading?"),
            self,
            means=tr("What is here already is kept, and it goes on there the next time."),
            yes=tr("&Stop it"),
            no=tr("&Go on"),
            then=self._stop,
        )

    def _begin(self, folder: str = "") -> None:
        self._gets = True
        self._show(self._view)
        words = ["training-part", "get", "--build", self.build.currentData(), *(["--from", folder] if folder else [])]
        self._command.ask(words, self._answered, heard=self._hear)

    def _choose(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, text.tr("The folder with the files"), str(Path.home()))
        if folder:
            self._begin(folder)

    def _ask_to_remove(self) -> None:
        tr = text.tr
        size = text.size(self._view.disk_bytes if self._view is not None else 0)
        self.box = Question(
            tr("Remove the training part?"),
            self,
            means=tr("{size} become free, and this computer trains no more. What you gave is kept.", size),
            yes=tr("&Remove it"),
            then=self._remove,
        )

    def _remove(self) -> None:
        self.said.setText(text.tr("Removing it…"))
        self._command.ask(["training-part", "remove"], self._answered)

    def _stop(self) -> None:
        self._command.stop()
        self._gets = False
        super().reject()

    def _hear(self, line: bytes) -> None:
        with contextlib.suppress(msgspec.DecodeError):
            told = msgspec.json.decode(line, type=PartProgress)
            sizes = (text.size(told.done_bytes), text.size(told.total_bytes))
            words = text.tr(STEPS.get(told.step, ""), *(sizes if told.total_bytes else ()))
            rest = text.tr("about {time} left", text.duration(told.rest_s)) if told.rest_s is not None else ""
            self.said.setText(", ".join(filter(None, (words, rest))))
            self.bar.setMaximum(FULL if told.total_bytes else 0)
            self.bar.setValue(round(told.share * FULL))

    def _answered(self, lines: list[bytes]) -> None:
        got, self._gets = self._gets, False
        words, view = text.tr("The training part could not be looked at."), self._view
        with contextlib.suppress(msgspec.DecodeError):
            line = lines[-1] if lines else b""
            answer = msgspec.json.decode(line, type=LineAnswer)
            if answer.event == "problem":
                words = text.problem(answer.trouble)
            elif answer.event == "training_part":
                view = msgspec.json.decode(line, type=PartView)
                words = text.tr("It is here now, and Potluck begins to use it.") if got else ""
        self._show(view)
        self.said.setText(text.one_line(words))
        if words:
            announce(self, words)

    def _show(self, view: PartView | None) -> None:
        tr = text.tr
        self._view = view
        if view is not None:
            chosen = self.build.currentData()
            self.build.blockSignals(True)
            self.build.clear()
            for one in view.builds:
                self.build.addItem(build_title(one.name), one.name)
            names = [one.name for one in view.builds]
            for wanted in (view.build, chosen):
                if wanted in names:
                    self.build.setCurrentIndex(names.index(wanted))
            self.build.blockSignals(False)
        if view is not None:
            better = "A build for {device} would fit better, and this version does not know it."
            told = (tr(SAID[view.state]), tr(better, view.better) if view.better else "", tr(view.advice))
            self.state.setText(" ".join(filter(None, told)))
        own = view is not None and view.state is PartState.OWN
        may = view is not None and not self._gets and not own
        self.bar.setVisible(self._gets)
        for widget in (self.build, self.sizes):
            widget.setVisible(view is not None and not own)
        for button in (self.get, self.folder):
            button.setEnabled(may and self.build.count() > 0)
        self.build.setEnabled(may)
        if may:
            self.get.setFocus()
        self.remove.setVisible(view is not None and bool(view.build) and not own)
        self.remove.setEnabled(may)
        away = tr("&Close") if view is not None and view.trains else tr("&Not now")
        self.no.setText(tr("&Stop") if self._gets else away)
        self._show_sizes()

    @property
    def _chosen(self) -> PartBuild | None:
        builds = self._view.builds if self._view is not None else ()
        return next((one for one in builds if one.name == self.build.currentData()), None)

    def _show_sizes(self) -> None:
        tr, one, view = text.tr, self._chosen, self._view
        here = view is not None and view.trains and one is not None and one.name == view.build
        self.get.setText(tr("&Get it again") if here else tr("&Get it"))
        if one is not None:
            self.get.setText(f"{self.get.text()} ({text.size(one.download_bytes)})")
            told = "About {download} are downloaded, and {disk} of the disk are taken. Each file is checked."
            self.sizes.setText(tr(told, text.size(one.download_bytes), text.size(one.disk_bytes)))

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(text.tr("The training part"), factor=1.4, bold=True))
        for widget in (self.state, self.build, self.sizes):
            column.addWidget(widget)
        column.addStretch(1)
        column.addWidget(self.said)
        column.addWidget(self.bar)
        buttons = QHBoxLayout()
        for button in (self.no, self.remove):
            buttons.addWidget(button)
            button.setAutoDefault(False)
        buttons.addStretch(1)
        buttons.addWidget(self.folder)
        self.folder.setAutoDefault(False)
        buttons.addWidget(self.get)
        self.get.setDefault(True)
        column.addLayout(buttons)


class TrainingPartOffer(QObject):
    """Opens the dialog when the person asks for it, and once by itself, where an engine lacks what trains.

    Args:
        store: Has the verdict.
        choices: Remember that the person was asked.
        make: Makes the dialog, when it is first needed.
        window: The window.
        far: Whether the engine is another computer's: then nothing is got here.
    """

    def __init__(
        self,
        store: Store,
        choices: Choices,
        make: Callable[[], TrainingPartDialog],
        window: QWidget,
        *,
        far: Callable[[], bool],
    ) -> None:
        super().__init__(window)
        self._store, self._choices, self._make, self._window, self._far = store, choices, make, window, far
        store.changed.connect(self._follow)

    @cached_property
    def dialog(self) -> TrainingPartDialog:
        """The dialog."""
        return self._make()

    def ask(self) -> None:
        """Show what is here and what can be had."""
        self.dialog.ask()

    def _follow(self) -> None:
        lacks = self._store.verdict.reason in {NO_PART, NEEDS_PART}
        if lacks and self._window.isVisible() and not self._far() and not self._choices.part_offered:
            self._choices.part_offered = True
            self.ask()
