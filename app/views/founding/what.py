"""The first page: what is learned, and from which text."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.widgets.icons import Picture
from app.widgets.labels import card, label, sentence
from app.widgets.scrolled_page import ScrolledPage
from app.words import text

WORDS_MAX: Final = 200
PATH_MAX: Final = 4000


class WhatPage(ScrolledPage):
    """A recipe, and a folder of text or the recipe's own."""

    def __init__(self) -> None:
        super().__init__()
        tr = text.tr
        self.recipes = {
            "first-words": QRadioButton(tr("&Fill in missing words")),
            "small-gpt": QRadioButton(tr("&Write letter by letter")),
            "albert-base": QRadioButton(tr("A model for &much text")),
            "": QRadioButton(tr("Another &recipe:")),
        }
        """By the names of the recipes that come along; the last one is in a file."""
        self.recipe = QLineEdit(maxLength=PATH_MAX, placeholderText="albert-large, sahajbert, my-recipe.toml")
        self.recipe.setAccessibleName(tr("Recipe"))
        self.choose_recipe = QPushButton(tr("Choose a f&ile…"))
        self.usual = QRadioButton(tr("The recipe's &own text"))
        self.own = QRadioButton(tr("A folder of &texts:"))
        self.folder = QLineEdit(maxLength=PATH_MAX)
        self.folder.setAccessibleName(tr("Folder of texts"))
        self.choose = QPushButton(tr("Choose a fol&der…"))
        self.licence, self.credit = QLineEdit(maxLength=WORDS_MAX), QLineEdit(maxLength=WORDS_MAX)
        self._groups = [QButtonGroup(self), QButtonGroup(self)]
        for group, buttons in zip(self._groups, (self.recipes.values(), (self.usual, self.own)), strict=True):
            for button in buttons:
                group.addButton(button)
        self._build()
        self.choose.clicked.connect(self._choose_folder)
        self.choose_recipe.clicked.connect(self._choose_recipe)
        self.recipe.textEdited.connect(lambda: self.recipes[""].setChecked(True))
        self.own.toggled.connect(self._enable)
        self.recipes["first-words"].setChecked(True)
        self.usual.setChecked(True)
        self._enable(False)

    @property
    def chosen(self) -> str:
        """The name of a recipe, or a file; empty: none was named."""
        return next(name or self.recipe.text().strip() for name, one in self.recipes.items() if one.isChecked())

    @property
    def texts(self) -> str:
        """The folder; empty: the recipe's own text."""
        return self.folder.text().strip() if self.own.isChecked() else ""

    def missing(self) -> QWidget | None:
        """The control that still has to be filled in; None: none."""
        if not self.chosen:
            return self.recipe
        return self.folder if self.own.isChecked() and not self.texts else None

    def _enable(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot of `toggled(bool)`
        for part in (self.folder, self.choose, self.licence, self.credit):
            part.setEnabled(on)

    def _choose_folder(self) -> None:
        found = QFileDialog.getExistingDirectory(self, text.tr("Folder of texts"), self.folder.text())
        if found:
            self.folder.setText(found)

    def _choose_recipe(self) -> None:
        found, _ = QFileDialog.getOpenFileName(self, text.tr("Recipe"), "", "TOML (*.toml)")
        if found:
            self.recipes[""].setChecked(True)
            self.recipe.setText(found)

    def _build(self) -> None:
        tr = text.tr
        meanings = {
            "first-words": tr("A small model that fills blanks. Any computer helps; first words come within minutes."),
            "small-gpt": tr("A small model that goes on with a text. Any computer helps; first words within minutes."),
            "albert-base": tr(
                "12 million numbers: some hundred megabytes of text, and several computers that run for days."
            ),
        }
        column = self.column
        frame, inner = card(spacing=8)
        inner.addWidget(label(tr("What is learned"), bold=True))
        for name, words in meanings.items():
            row = QHBoxLayout()
            row.setSpacing(12)
            row.addWidget(Picture(f"recipe-{name}", 2.2), alignment=Qt.AlignmentFlag.AlignTop)
            texts = QVBoxLayout()
            texts.setSpacing(2)
            texts.addWidget(self.recipes[name])
            said = sentence(tone="muted")
            said.setText(words)
            texts.addWidget(said)
            self.recipes[name].setAccessibleDescription(words)
            row.addLayout(texts, stretch=1)
            inner.addLayout(row)
        row = QHBoxLayout()
        for part in (self.recipes[""], self.recipe, self.choose_recipe):
            row.addWidget(part, stretch=int(part is self.recipe))
        inner.addLayout(row)
        column.addWidget(frame)
        frame, inner = card(spacing=8)
        inner.addWidget(label(tr("From which text"), bold=True))
        inner.addWidget(self.usual)
        row = QHBoxLayout()
        for part in (self.own, self.folder, self.choose):
            row.addWidget(part, stretch=int(part is self.folder))
        inner.addLayout(row)
        row = QHBoxLayout()
        for name, field in ((tr("Its &licence"), self.licence), (tr("W&ho made it"), self.credit)):
            title = label(name)
            title.setBuddy(field)
            field.setAccessibleName(text.unmarked(name))
            field.setPlaceholderText(tr("not named"))
            row.addWidget(title)
            row.addWidget(field, stretch=1)
        inner.addLayout(row)
        note = sentence(tone="muted")
        note.setText(tr("The others get this text in pieces: take only what may be handed on."))
        inner.addWidget(note)
        column.addWidget(frame)
        column.addStretch(1)
        for button in (self.choose, self.choose_recipe):
            button.setAutoDefault(False)
