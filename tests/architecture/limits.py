"""What the figures are held against: limits, and today's exceptions, which may only shrink."""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.architecture import measure
from tests.architecture.measure import Figure, Source

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
SHARED_NAMES = 15
"""Number of class names that may stand in `core` more than once."""


@dataclass(frozen=True)
class Rule:
    """A limit on each figure of one kind, or on how many of a kind there are."""

    measured: Callable[[Source], Iterator[Figure]]
    limit: int
    says: str
    """What the figure is, after its place and name."""


EACH = {
    "class_lines": Rule(measure.class_lines, 250, "lines in the class"),
    "class_methods": Rule(measure.class_methods, 15, "methods in the class"),
    "file_lines": Rule(measure.file_lines, 350, "lines in the file"),
    "parameters": Rule(measure.parameters, 6, "parameters"),
    "silenced_parameters": Rule(measure.silenced_parameters, 0, "comments `noqa: PLR0913`"),
    "machine_any": Rule(measure.machine_any, 0, "`list[Any]` or `Sequence[Any]` in a machine's signature"),
}
"""Limits that hold for each class, file and function."""

COUNTED = {
    "crowded_classes": Rule(measure.crowded_classes, 16, "classes within five percent of a ceiling"),
    "elsewhere_docstrings": Rule(measure.elsewhere_docstrings, 0, "docstrings that only name another docstring"),
    "headless_docstrings": Rule(measure.headless_docstrings, 1, 'docstrings beginning "Of", "That" or "So many"'),
    "long_test_names": Rule(measure.long_test_names, 0, "names of tests with more than ten words"),
    "private_accesses": Rule(measure.private_accesses, 50, "private attributes that tests reach into"),
    "short_docstrings": Rule(measure.short_docstrings, 60, "docstrings of at most five words in core"),
}
"""Limits on a number of places."""


@dataclass(frozen=True)
class HouseRule:
    """A limit on one figure of the whole program."""

    measured: Callable[[Sequence[Source]], int]
    limit: int
    says: str


HOUSE = {
    "import_permille": HouseRule(measure.import_permille, 65, "of each thousand lines of core import"),
    "largest_folder": HouseRule(measure.largest_folder, 31, "files lie flat in one folder"),
    "single_importers": HouseRule(measure.single_importers, 147, "files have one reader, in the same room"),
}
"""Limits on how the whole is divided: a ceiling for each class alone is met by cutting."""


@dataclass(frozen=True)
class Exceptions:
    """Today's exceptions, as `exceptions.toml` has them."""

    each: dict[str, dict[str, int]]
    """By rule, by name of what is over the limit: its figure."""
    counted: dict[str, int]
    """By rule of `COUNTED` or `HOUSE`: its figure."""
    shared_names: Sequence[str]
    """Classes of one name for one idea in two protocols."""
    commits_after: str
    """Subjects are checked of the commits after this one."""


def read_exceptions(text: str) -> Exceptions:
    """Return the exceptions that a text of TOML names; rules that it leaves out have none."""
    raw = tomllib.loads(text)
    return Exceptions(
        {rule: raw.get(rule, {}) for rule in EACH}, raw["counted"], raw["shared_names"], raw["commits_after"]
    )


def over_limit(sources: Iterable[Source], rule: str) -> dict[str, Figure]:
    """Return the figures over the limit of one rule of `EACH`, by name; of two of one name the greater one."""
    found: dict[str, Figure] = {}
    for source in sources:
        for figure in EACH[rule].measured(source):
            if figure.value > max(EACH[rule].limit, found[figure.name].value if figure.name in found else 0):
                found[figure.name] = figure
    return found


def each_problems(sources: Sequence[Source], rule: str, allowed: dict[str, int]) -> list[str]:
    """Say where one rule of `EACH` is broken, and which of its exceptions could be lower or go.

    Args:
        sources: The files to measure.
        rule: Name of the rule.
        allowed: The rule's exceptions.

    Returns:
        One sentence for each problem.
    """
    limit, says = EACH[rule].limit, EACH[rule].says
    found = over_limit(sources, rule)
    problems = []
    for name, figure in found.items():
        ceiling = allowed.get(name, limit)
        if figure.value > ceiling:
            item = name.partition(":")[2]
            problems.append(
                f"{figure.place}: {item + ': ' if item else ''}{figure.value} {says}; the limit is {ceiling}"
            )
    for name, value in allowed.items():
        if name not in found:
            problems.append(f"{rule}: the exception {name} = {value} is no longer needed")
        elif found[name].value < value:
            problems.append(f"{rule}: the exception {name} = {value} can be lowered to {found[name].value}")
    return problems


def counted_problems(sources: Sequence[Source], rule: str, allowed: int | None) -> list[str]:
    """Say whether there are more places of one rule of `COUNTED` than allowed, or fewer than its exception says.

    Args:
        sources: The files to measure.
        rule: Name of the rule.
        allowed: The number that stands as an exception; None when the rule's own limit holds.

    Returns:
        One sentence for each problem; one that is exceeded is followed by all places.
    """
    limit, says = COUNTED[rule].limit, COUNTED[rule].says
    places = [figure.place for source in sources for figure in COUNTED[rule].measured(source)]
    ceiling = limit if allowed is None else allowed
    if len(places) > ceiling:
        return [f"{len(places)} {says}; the limit is {ceiling}", *places]
    if allowed is not None and len(places) <= limit:
        return [f"{rule}: the exception {allowed} is no longer needed; the limit is {limit}"]
    if allowed is not None and len(places) < allowed:
        return [f"{rule}: the exception {allowed} can be lowered to {len(places)}"]
    return []


def house_problems(sources: Sequence[Source], rule: str, allowed: int | None) -> list[str]:
    """Say whether one rule of `HOUSE` is broken, or its exception could go.

    It may stay too high for a while: each line that is added moves such a figure.

    Args:
        sources: The files to measure.
        rule: Name of the rule.
        allowed: The figure that stands as an exception; None when the rule's own limit holds.

    Returns:
        One sentence for each problem.
    """
    limit, says = HOUSE[rule].limit, HOUSE[rule].says
    found = HOUSE[rule].measured(sources)
    if found > (limit if allowed is None else allowed):
        return [f"{rule}: {found} {says}; the limit is {limit if allowed is None else allowed}"]
    if allowed is not None and found <= limit:
        return [f"{rule}: the exception {allowed} is no longer needed; the limit is {limit}"]
    return []


def shared_name_problems(sources: Iterable[Source], allowed: Sequence[str]) -> list[str]:
    """Say which class names stand in `core` more than once without being allowed to, or are allowed to without need.

    Args:
        sources: The files to look at.
        allowed: Names for the same idea in several protocols.

    Returns:
        One sentence for each problem.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for figure in measure.class_names(source):
            places[figure.name.partition(":")[2]].append(figure.place)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    problems = [
        f"{', '.join(found)}: {len(found)} classes are named {name}; the limit is 1"
        for name, found in shared.items()
        if name not in allowed
    ]
    problems += [f"shared_names: {name} is no longer needed" for name in allowed if name not in shared]
    problems += [f"shared_names: {name} stands twice" for name, count in Counter(allowed).items() if count > 1]
    if len(allowed) > SHARED_NAMES:
        problems.append(f"shared_names: {len(allowed)} names; the limit is {SHARED_NAMES}")
    return problems


def shrunk(sources: Sequence[Source], exceptions: Exceptions) -> Exceptions:
    """Return the exceptions without those that are no longer needed, the others lowered; none is added or raised."""
    each = {}
    for rule, allowed in exceptions.each.items():
        found = over_limit(sources, rule)
        each[rule] = {name: min(value, found[name].value) for name, value in allowed.items() if name in found}
    counted = {}
    for rule, ceiling in exceptions.counted.items():
        if rule in HOUSE:
            number, limit = HOUSE[rule].measured(sources), HOUSE[rule].limit
        else:
            number, limit = sum(1 for source in sources for _ in COUNTED[rule].measured(source)), COUNTED[rule].limit
        if number > limit:
            counted[rule] = min(ceiling, number)
    names = Counter(figure.name.partition(":")[2] for source in sources for figure in measure.class_names(source))
    shared = sorted({name for name in exceptions.shared_names if names[name] > 1})
    return Exceptions(each, counted, shared, exceptions.commits_after)


def write_exceptions(exceptions: Exceptions) -> str:
    """Return the exceptions as the text of `exceptions.toml`."""
    lines = [
        "# Today's exceptions to the limits in limits.py.  This list may only shrink: tests/architecture fails when",
        "# an entry is exceeded, and when one is no longer needed or could be lower.  `python -m tests.architecture`",
        "# lowers and removes what it can.",
        "",
        "# The subject lines of commits are checked after this one.",
        f'commits_after = "{exceptions.commits_after}"',
        "",
        "# Classes of one name for one idea in several protocols.",
        "shared_names = [",
        *(f'    "{name}",' for name in exceptions.shared_names),
        "]",
    ]
    for table, entries in {**exceptions.each, "counted": exceptions.counted}.items():
        lines += ["", f"[{table}]", *(f'"{name}" = {value}' for name, value in sorted(entries.items()))]
    return "\n".join([*lines, ""])
