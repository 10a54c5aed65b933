"""Light, dark and high contrast: the colours, and when which."""

from dataclasses import asdict, dataclass
from string import Template

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

import resources
from app.looks.choices import ThemeChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    """A set of colours.  Text on its ground has a contrast of at least 4.5 to 1."""

    window: str
    card: str
    line: str
    text: str
    muted: str
    accent: str
    """Colour of controls that are on, filled or active."""
    on_accent: str
    warm: str
    """The held-out points, the pot."""
    off: str
    """The switch when it is off."""
    groove: str
    """Under a bar."""
    mine: str
    """Ground of my own row."""
    selected: str
    problem: str
    problem_ground: str
    problem_line: str


LIGHT = Colours(
    window="#F8F4EE",
    card="#FFFFFF",
    line="#E4DCD1",
    text="#2A2420",
    muted="#6B6159",
    accent="#14796A",
    on_accent="#FFFFFF",
    warm="#C2501F",
    off="#8A8078",
    groove="#ECE5DB",
    mine="#E7F3F0",
    selected="#CDE6E0",
    problem="#8C1D18",
    problem_ground="#FDECEA",
    problem_line="#D9776F",
)
DARK = Colours(
    window="#1B1917",
    card="#262320",
    line="#3B3733",
    text="#F3EEE8",
    muted="#B0A69C",
    accent="#4CC9B0",
    on_accent="#10211E",
    warm="#F58A5B",
    off="#8F867E",
    groove="#3A3531",
    mine="#203A35",
    selected="#2C554D",
    problem="#FFC9C2",
    problem_ground="#402120",
    problem_line="#9C4A44",
)
CONTRAST = Colours(
    window="#000000",
    card="#000000",
    line="#FFFFFF",
    text="#FFFFFF",
    muted="#FFFFFF",
    accent="#FFE600",
    on_accent="#000000",
    warm="#7FDBFF",
    off="#FFFFFF",
    groove="#5A5A5A",
    mine="#23234A",
    selected="#3A3A00",
    problem="#FFFFFF",
    problem_ground="#5A0000",
    problem_line="#FFFFFF",
)


class Theme(QObject):
    """The colours of the application, following the system or the person's choice.

    Args:
        application: The application to colour.
        choice: The person's first choice.
    """

    changed = Signal()

    def __init__(self, application: QApplication, choice: ThemeChoice) -> None:
        super().__init__(application)
        self._application = application
        self._choice = choice
        self._colours: Colours | None = None
        self._application.setStyle("Fusion")
        font = application.font()
        font.setFeature(QFont.Tag("tnum"), 1)  # numbers that change do not jump, and stand below each other
        application.setFont(font)
        self._application.styleHints().colorSchemeChanged.connect(self._follow)
        self.choose(choice)

    @property
    def colours(self) -> Colours:
        """The colours that are in use now."""
        return self._colours or LIGHT

    def choose(self, choice: ThemeChoice) -> None:
        """Follow the system, or do not."""
        self._choice = choice
        dark = Qt.ColorScheme.Dark
        scheme = {ThemeChoice.LIGHT: Qt.ColorScheme.Light, ThemeChoice.DARK: dark, ThemeChoice.CONTRAST: dark}
        self._application.styleHints().setColorScheme(scheme.get(choice, Qt.ColorScheme.Unknown))
        self._follow()

    def _chosen(self) -> Colours:
        """The colours of the choice; like the system also where that asks for a high contrast."""
        match self._choice:
            case ThemeChoice.CONTRAST:
                return CONTRAST
            case ThemeChoice.SYSTEM if _system_wants_contrast():
                return CONTRAST
            case ThemeChoice.SYSTEM:
                dark = self._application.styleHints().colorScheme() is Qt.ColorScheme.Dark
                return DARK if dark else LIGHT
        return DARK if self._choice is ThemeChoice.DARK else LIGHT

    def _follow(self) -> None:
        colours = self._chosen()
        if colours is self._colours:
            return
        self._colours = colours
        self._application.setPalette(_palette(colours))
        for kind in ("QCheckBox", "QRadioButton", "QAbstractSpinBox"):
            self._application.setPalette(_edged(colours), kind)  # type: ignore[arg-type]  # it takes str, not bytes
        style = Template(resources.file("styles", "potluck.qss").read_text("utf-8"))
        self._application.setStyleSheet(style.substitute(asdict(colours)))
        self.changed.emit()


def _system_wants_contrast() -> bool:
    hints = QApplication.styleHints()  # what belongs to it is gone with its last name
    return hints.accessibility().contrastPreference() is Qt.ContrastPreference.HighContrast


def _edged(colours: Colours) -> QPalette:
    """The same, with edges that are seen on any ground: Fusion draws them in the window's colour, 1.4 times darker."""
    palette = _palette(colours)
    palette.setColor(QPalette.ColorRole.Window, QColor(colours.off).lighter(140))
    return palette


def _palette(colours: Colours) -> QPalette:
    """Colours of Fusion and the plain widgets."""
    role, palette = QPalette.ColorRole, QPalette()
    for which, colour in {
        role.Window: colours.window,
        role.WindowText: colours.text,
        role.Base: colours.card,
        role.AlternateBase: colours.window,
        role.Text: colours.text,
        role.PlaceholderText: colours.muted,
        role.Button: colours.card,
        role.ButtonText: colours.text,
        role.ToolTipBase: colours.card,
        role.ToolTipText: colours.text,
        role.Highlight: colours.accent,
        role.HighlightedText: colours.on_accent,
        role.Accent: colours.accent,
        role.Link: colours.accent,
        role.Mid: colours.line,
    }.items():
        palette.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(colours.muted))
    return palette
