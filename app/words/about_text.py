"""The sentences of About and trust.  All go through `tr`."""

from app.words.text import tr


def about() -> list[tuple[str, str]]:
    """Titles and sentences on what Potluck is, and what it does with this computer's data."""
    return [
        (
            tr("What leaves this computer"),
            tr(
                "Numbers that say how the model should change, never text or files of yours. With them go your name "
                "here, a key that stands for this computer, its address in the network, how fast it computes, and "
                "what it is doing. Every connection is encrypted, and both sides prove who they are."
            ),
        ),
        (
            tr("What comes to this computer"),
            tr(
                "The model, as numbers, files that the collaboration names by their digest, such as a vocabulary, and "
                "text to learn from, from the addresses that you saw before you joined. "
                "Never programs: new code comes with a new version of Potluck only, which the people who make it "
                "have signed."
            ),
        ),
        (
            tr("Who may take part"),
            tr(
                "People whom the organiser has let in: each computer has a pass that the organiser's key has signed "
                "and that ends by itself. All members check each other's passes, what each of them gave is signed by "
                "the others, and a computer whose pass is withdrawn is refused by everybody within a minute."
            ),
        ),
        (
            tr("What the organiser cannot do"),
            tr(
                "Look into this computer, run programs on it, or have it do more than you allow: your hours and "
                "limits are kept by this program alone."
            ),
        ),
    ]


def grouped(digest: str) -> str:
    """A digest in groups of eight, which lines can be broken between."""
    return " ".join(digest[place : place + 8] for place in range(0, len(digest), 8))


def made_with(libraries: list[tuple[str, str]]) -> str:
    """The libraries and their licences."""
    said = ", ".join(f"{name} ({licence})" if licence else name for name, licence in libraries)
    return tr("It is made with other free software: {libraries}.", said) if said else ""


def version(number: str) -> str:
    """The program and its version."""
    return tr("Potluck {version}", number)


def licence() -> str:
    """Terms of this program's use, and what it is made with."""
    return tr(
        "Everybody brings a little computing; together it trains one model. Potluck is free software under the "
        "Apache License 2.0, without any warranty."
    )
