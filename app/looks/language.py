"""The language of the window: chosen before any words are made, in force until the window ends."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

import resources

SOURCE: Final = "en"
"""The language in which the program is written."""
CATALOGUES: Final = "potluck_"
"""What the name of a catalogue in resources/translations begins with; a code follows."""
LANGUAGES: Final = (SOURCE, *(name[len(CATALOGUES) :] for name in resources.names("translations", f"{CATALOGUES}*.qm")))
"""Codes of those that there are: each but the first has a catalogue in resources/translations."""
SYSTEM: Final = "system"
"""The person's choice of the system's language."""


def language_of(choice: str, system: Sequence[str]) -> str:
    """Decide for a language.

    Args:
        choice: The person's: one of LANGUAGES, or SYSTEM.
        system: Languages of the system as QLocale.uiLanguages() has them ("de-AT"), the best one first.

    Returns:
        Its code: one of LANGUAGES.
    """
    if choice != SYSTEM:
        return choice
    codes = (tag.partition("-")[0] for tag in system)
    return next((code for code in codes if code in LANGUAGES), SOURCE)


def own_name(code: str) -> str:
    """The name of a language in that language."""
    return "English" if code == SOURCE else QLocale(code).nativeLanguageName()


def speak(qt: QCoreApplication, choice: str) -> None:
    """Have words and numbers that are made from now on in the person's language, Qt's own words too.

    Args:
        qt: Qt's application; what it spoke before is forgotten.
        choice: The person's: one of LANGUAGES, or SYSTEM.
    """
    for old in qt.findChildren(QTranslator):
        qt.removeTranslator(old)
        old.deleteLater()
    system = QLocale.system()
    code = language_of(choice, system.uiLanguages())
    own = QLocale(code)
    QLocale.setDefault(system if system.language() is own.language() else own)
    if code == SOURCE:
        return
    catalogue = resources.file("translations", f"{CATALOGUES}{code}.qm")
    folders = (QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath), str(catalogue.parent))
    for name in (f"qtbase_{code}", catalogue.stem):
        translator = QTranslator(qt)
        if any(translator.load(name, folder) for folder in folders):
            qt.installTranslator(translator)
