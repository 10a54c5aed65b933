"""The first run: the pages before there is a window, and what the person chose there."""

from PySide6.QtCore import QObject, Signal

from app.looks.choices import Choices
from app.views.first_run.wizard import JoinDialog


class Welcome(QObject):
    """Shows the first-run pages until the person has chosen, or has closed them.

    Args:
        pages: The pages, which show later links, too.
        choices: Told whether the person trains alone.
    """

    chosen = Signal()
    """There may be an engine from now on."""
    refused = Signal()
    """The pages were closed: as if Potluck had never been started."""

    def __init__(self, pages: JoinDialog, choices: Choices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pages = pages
        self._choices = choices
        self._open = False
        pages.joined.connect(lambda: self._end(alone=False))
        pages.alone.connect(lambda: self._end(alone=True))
        pages.rejected.connect(self._refuse)

    def begin(self, link: str) -> None:
        """Open the pages.

        Args:
            link: Link of a collaboration, which is looked at first; empty: none.
        """
        self._open = True
        self._pages.begin(link)

    def come_forward(self) -> bool:
        """Bring the pages to the front; False: they are over."""
        if self._open:
            self._pages.raise_()
            self._pages.activateWindow()
        return self._open

    def _end(self, *, alone: bool) -> None:
        if self._open:
            self._open = False
            self._choices.alone = alone
            self._choices.save()
            self.chosen.emit()

    def _refuse(self) -> None:
        if self._open:
            self._open = False
            self.refused.emit()
