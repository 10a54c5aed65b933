"""What training runs on: the best device, all of them, or those that are ticked."""

from collections.abc import Sequence

from PySide6.QtWidgets import QButtonGroup, QCheckBox, QRadioButton, QVBoxLayout, QWidget

from app.words import text
from core.api.settings import ALL, AUTO, CPU


class DeviceChoice(QWidget):
    """Shows the setting `device` as buttons; the tick boxes are of the devices that are known or were chosen."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.best = QRadioButton(tr("The &best that there is: a graphics card, else the processor"))
        self.all = QRadioButton(tr("&All at once, each at its own pace"))
        self.some = QRadioButton(tr("O&nly these"))
        self.boxes: dict[str, QCheckBox] = {}
        """By the names that the setting has: "cpu", "cuda:0"."""
        self._shown = AUTO
        self._titles: dict[str, str] = {}
        self._group = QButtonGroup(self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        for button in (self.best, self.all, self.some):
            button.setAccessibleName(f"{text.tr('Training runs on')}: {text.unmarked(button.text())}")
            self._group.addButton(button)
            self._column.addWidget(button)
        self._below = QVBoxLayout()
        self._below.setContentsMargins(self.some.iconSize().width() + 6, 0, 0, 0)
        self._below.setSpacing(4)
        self._column.addLayout(self._below)
        self.some.toggled.connect(self._enable)
        self.show_device(AUTO)
        self.setFocusProxy(self.best)

    @property
    def device(self) -> str:
        """The setting; where nothing is ticked it names nothing, which the engine refuses with a sentence.

        The processor comes last, since the first device holds the state; an order that was chosen elsewhere stays.
        """
        if not self.some.isChecked():
            return ALL if self.all.isChecked() else AUTO
        ticked = [name for name, box in self.boxes.items() if box.isChecked()]
        if set(ticked) == set(self._shown.split(",")):
            return self._shown
        return ",".join(sorted(ticked, key=lambda name: name == CPU))

    def show_device(self, device: str) -> None:
        """Show the setting."""
        self._shown = device
        named = [] if device in {AUTO, ALL} else device.split(",")
        {AUTO: self.best, ALL: self.all}.get(device, self.some).setChecked(True)
        self._show_boxes([CPU, *self._titles, *named])
        for name, box in self.boxes.items():
            box.setChecked(name in named)
        self._enable(on=self.some.isChecked())

    def show_found(self, devices: Sequence[tuple[str, str]]) -> None:
        """Offer these, too.

        Args:
            devices: Name and title of each.
        """
        self._titles = {name: title for name, title in devices if name != CPU}
        self._show_boxes([CPU, *self._titles, *self.boxes])
        self._enable(on=self.some.isChecked())

    def _show_boxes(self, names: Sequence[str]) -> None:
        for name in dict.fromkeys(names):
            if name not in self.boxes:
                self.boxes[name] = QCheckBox()
                self._below.addWidget(self.boxes[name])
            title = text.tr("Processor") if name == CPU else self._titles.get(name, "")
            self.boxes[name].setText(text.plain(f"{title} ({name})" if title else name).replace("&", "&&"))

    def _enable(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot of `toggled(bool)`
        for box in self.boxes.values():
            box.setEnabled(on)
