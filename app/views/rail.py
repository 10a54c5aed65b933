"""The left rail: the entries of the window's pages, with icons and words."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QToolButton, QVBoxLayout

from app.looks.theme import Theme
from app.widgets import icons
from app.words import text

ICON = 20
"""Side of an icon, points."""


class Rail(QFrame):
    """A column of entries; the page that is shown is marked.  Up and Down go from page to page.

    Args:
        pages: An action and the name of its icon, from top to bottom; these exclude each other.
        others: Entries below, which open something else.
        theme: The colours.
    """

    def __init__(
        self, pages: Sequence[tuple[QAction, str]], others: Sequence[tuple[QAction, str]], theme: Theme
    ) -> None:
        super().__init__()
        self.setObjectName("rail")
        self.setAccessibleName(text.tr("Pages"))
        self._theme = theme
        self._icons: list[tuple[QAction, str]] = [*pages, *others]
        self.buttons: list[QToolButton] = []
        """From top to bottom."""
        self._group = QButtonGroup(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(2)
        for action, _ in pages:
            button = self._button(action)
            self._group.addButton(button)
            column.addWidget(button)
            action.toggled.connect(partial(self._follow_focus, button))
        if (marked := self._group.checkedButton()) is not None:
            self._follow_focus(marked, True)
        column.addStretch(1)
        for action, _ in others:
            column.addWidget(self._button(action))
        theme.changed.connect(self._paint)
        self._paint()

    def _button(self, action: QAction) -> QToolButton:
        button = QToolButton()
        name = action.iconText()
        action.setIconText(f"  {name}")  # the style's gap behind an icon is too narrow
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setIconSize(QSize(ICON, ICON))
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = button.sizePolicy()
        policy.setHorizontalPolicy(policy.Policy.Expanding)
        button.setSizePolicy(policy)
        button.setAccessibleName(name)
        self.buttons.append(button)
        return button

    def _follow_focus(self, button: QAbstractButton, marked: bool) -> None:  # noqa: FBT001 - a Qt slot of `toggled(bool)`
        """A page that a key opens takes the rail's focus along: two marked entries would be one too many."""
        if not marked:
            return
        for one in self._group.buttons():  # Tab comes to the open page's, not to the last one that had the focus
            one.setFocusPolicy(Qt.FocusPolicy.StrongFocus if one is button else Qt.FocusPolicy.ClickFocus)
        if self.window().focusWidget() in self.buttons:
            button.setFocus()

    def _paint(self) -> None:
        """Icons in the colours of now."""
        scale, colours = self.devicePixelRatioF(), self._theme.colours
        for action, name in self._icons:
            made = QIcon(icons.pixmap(name, ICON, colours.muted, scale=scale))
            made.addPixmap(icons.pixmap(name, ICON, colours.accent, scale=scale), QIcon.Mode.Normal, QIcon.State.On)
            made.addPixmap(icons.pixmap(name, ICON, colours.off, scale=scale), QIcon.Mode.Disabled)
            action.setIcon(made)
