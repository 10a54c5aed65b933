"""Which other software Potluck is made with, and under which licence each stands."""

from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata, requires

OWN = "potluck"
NAME_ENDS = "=<>!~;[ ("


def bundled() -> list[tuple[str, str]]:
    """The libraries that are installed here and that Potluck names, each with its licence; "" where it names none."""
    found = []
    for name in sorted(_names(), key=str.casefold):
        try:
            about = metadata(name)
        except PackageNotFoundError:
            continue
        licence = _field(about, "License-Expression") or _classified(about.get_all("Classifier") or [])
        found.append((name, licence or _field(about, "License")))
    return found


def _names() -> set[str]:
    try:
        wanted = requires(OWN) or []
    except PackageNotFoundError:
        return set()
    return {_name(one) for one in wanted if "dev" not in one.partition(";")[2]}


def _name(requirement: str) -> str:
    ends = [at for letter in NAME_ENDS if (at := requirement.find(letter)) >= 0]
    return requirement[: min(ends, default=len(requirement))]


def _classified(classifiers: list[str]) -> str:
    told = [one.rpartition("::")[2].strip() for one in classifiers if one.startswith("License ::")]
    return ", ".join(one for one in told if one != "OSI Approved")


def _field(about: PackageMetadata, name: str) -> str:
    return str(about[name] or "").strip().partition("\n")[0][:60] if name in about else ""
