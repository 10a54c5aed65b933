"""The language of the window: chosen before any words are made, in force until the window ends."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

import resources
from app.looks.choices import LanguageChoice

SOURCE: Final = "en"
"""The language in which the program is written."""
LANGUAGES: Final = (SOURCE, "de")
"""Codes of those that are complete; each but the first has a file in resources/translations."""


def language_of(choice: LanguageChoice, system: Sequence[str]) -> str:
    """Decide for a language.

    Args:
        choice: The person's.
        system: Languages of the system as QLocale.uiLanguages() has them ("de-AT"), the best one first.

    Returns:
        Its code: one of LANGUAGES.
    """
    if choice is not LanguageChoice.SYSTEM:
        return choice.value
    codes = (tag.partition("-")[0] for tag in system)
    return next((code for code in codes if code in LANGUAGES), SOURCE)


def speak(qt: QCoreApplication, choice: LanguageChoice) -> None:
    """Have words and numbers that are made from now on in the person's language, Qt's own words too.

    Args:
        qt: Qt's application; what it spoke before is forgotten.
        choice: The person's.
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
    of_qt = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath), f"qtbase_{code}.qm")
    for file in (of_qt, resources.file("translations", f"potluck_{code}.qm")):
        translator = QTranslator(qt)
        if translator.load(str(file)):
            qt.installTranslator(translator)
