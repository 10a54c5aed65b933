"""Icons, styles and recipes that come with the program."""

from pathlib import Path


def file(*parts: str) -> Path:
    """The path of a file of this package, for example `file("icons", "potluck.svg")`.

    The package is never zipped (the frozen build unpacks it), so every resource is a real file.

    Raises:
        FileNotFoundError: there is none.
    """
    path = Path(__file__).parent.joinpath(*parts)
    if not path.is_file():
        raise FileNotFoundError(path)
    return path


def names(folder: str, pattern: str = "*") -> list[str]:
    """The names of the files in a folder of this package, without their ends, sorted; of those that fit the pattern."""
    return sorted(entry.stem for entry in Path(__file__).with_name(folder).glob(pattern) if entry.is_file())
