"""The menu bar of the window."""

from typing import TypeVar

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QMenuBar

from app.looks.choices import Choices, Closing, NoticeKind, ThemeChoice
from app.looks.language import LANGUAGES, SYSTEM, own_name
from app.looks.theme import Theme
from app.views.actions import Actions
from app.words import text

_Kind = TypeVar("_Kind", bound=str)


class Menus:
    """Fills a menu bar, and keeps its check marks right."""

    def __init__(self, bar: QMenuBar, actions: Actions, *, choices: Choices, theme: Theme) -> None:
        self._choices = choices
        self._theme = theme
        tr = text.tr
        main = bar.addMenu(tr("&Potluck"))
        main.addAction(actions.toggle)
        main.addMenu(actions.snooze.menu)
        for menu in actions.snooze.alone.values():
            main.addMenu(menu)
        main.addAction(actions.snooze.insist)
        main.addAction(actions.evaluate)
        main.addSeparator()
        main.addAction(actions.settings)
        self.closing_actions = _choice_menu(
            main.addMenu(tr("When the window c&loses")),
            {
                Closing.ASK: tr("&Ask"),
                Closing.HIDE: tr("&Contribute on without it"),
                Closing.QUIT: tr("&Quit Potluck"),
            },
        )
        self.notices = self._make_notices(main.addMenu(tr("Notifica&tions of the desktop")))
        main.addSeparator()
        main.addAction(actions.close)
        main.addAction(actions.quit)
        bar.addMenu(tr("Co&llaboration")).addActions([actions.save, actions.invite, actions.join, actions.leave])
        view = bar.addMenu(tr("&View"))
        view.addActions(list(actions.pages.values()))
        view.addSeparator()
        self.theme_actions = _choice_menu(
            view.addMenu(tr("Co&lours")),
            {
                ThemeChoice.SYSTEM: tr("Like the &system"),
                ThemeChoice.LIGHT: tr("&Light"),
                ThemeChoice.DARK: tr("&Dark"),
                ThemeChoice.CONTRAST: tr("&High contrast"),
            },
        )
        self.language_actions = _choice_menu(
            view.addMenu(tr("La&nguage")),
            {SYSTEM: tr("Like the &system"), **{code: f"&{own_name(code)}" for code in LANGUAGES}},
        )
        about = bar.addMenu(tr("&Help"))
        about.addAction(actions.pages["about"])
        about.addAction(tr("&Newer versions…")).triggered.connect(actions.update_asked)
        self.removal = about.addAction(tr("&Remove Potluck…"))
        main.aboutToShow.connect(self.refresh)
        view.aboutToShow.connect(self.refresh)
        for closing, action in self.closing_actions.items():
            action.triggered.connect(lambda _checked=False, value=closing: self._choose_closing(value))
        for which, action in self.theme_actions.items():
            action.triggered.connect(lambda _checked=False, value=which: self._choose_theme(value))
        for language, action in self.language_actions.items():
            action.triggered.connect(lambda _checked=False, value=language: self._choose_language(value))
        self.refresh()

    def refresh(self) -> None:
        """Tick the entries of the present choices."""
        self.closing_actions[self._choices.closing].setChecked(True)
        self.theme_actions[self._choices.theme].setChecked(True)
        self.language_actions[self._choices.language].setChecked(True)
        for kind, action in self.notices.items():
            action.setChecked(self._choices.notifies(kind))

    def _make_notices(self, menu: QMenu) -> dict[NoticeKind, QAction]:
        """One entry for each kind: what lasts and needs somebody, and below it what is only pleasant to hear."""
        tr = text.tr
        titles = {
            NoticeKind.STOPPED: tr("When training &stops and needs you"),
            NoticeKind.DISK: tr("When the &disk is full"),
            NoticeKind.AWAY: tr("When &nobody is reached"),
            NoticeKind.ENDED: tr("When the collaboration &ends"),
            NoticeKind.MILESTONE: tr("When something is &reached, such as 100 steps"),
            NoticeKind.WEEK: tr("Once a &week, what you gave"),
        }
        made = {}
        for kind, title in titles.items():
            if kind is NoticeKind.MILESTONE:
                menu.addSeparator()
            made[kind] = menu.addAction(title)
            made[kind].setCheckable(True)
            made[kind].triggered.connect(lambda wanted, one=kind: self._choices.choose_notice(one, wanted=wanted))
        return made

    def _choose_closing(self, value: Closing) -> None:
        self._choices.closing = value

    def _choose_language(self, value: str) -> None:
        self._choices.language = value

    def _choose_theme(self, value: ThemeChoice) -> None:
        self._choices.theme = value
        self._theme.choose(value)


def _choice_menu(menu: QMenu, titles: dict[_Kind, str]) -> dict[_Kind, QAction]:
    """One of several, as a menu."""
    group = QActionGroup(menu)
    made = {}
    for value, title in titles.items():
        action = QAction(title, menu, checkable=True)
        group.addAction(action)
        menu.addAction(action)
        made[value] = action
    return made
