"""What `potluck found` asks a person, before anything is read: all of it can be said with options, too."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import resources
from core.base.manifest import FOUNDER
from core.base.problems import BadInput
from core.base.usual_link import LINK_DAYS, LINK_USES
from core.engine.text.own_text import check_folder
from core.net.addresses.hosts import SAID, reach, read_host
from core.net.addresses.interfaces import own_hosts
from core.net.listening import ANY

NAME_LETTERS: Final = 80
SUMMARY_LETTERS: Final = 300
WORDS_LETTERS: Final = 200
USES_MAX: Final = 1_000_000
DAYS_MAX: Final = 36_500


def ask(args: argparse.Namespace, check_name: Callable[[str], None]) -> None:
    """Ask for what the options do not say; the answers go where the options would have gone.

    Args:
        args: The options.
        check_name: Refuses a name under which something is there already.

    Raises:
        BadInput: nobody is there to answer, or the name that an option says is taken.
    """
    names = resources.names("recipes")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("No recipe is named.", ", ".join(names), hint="Name a file, or one that comes along: {names}.")
    if args.name:
        check_name(args.name)
    args.name = args.name or answer(
        "What is the collaboration called?", _short(NAME_LETTERS, least=1), refuse=check_name
    )
    args.summary = args.summary or answer("What is it for, in a sentence?", _short(SUMMARY_LETTERS))
    args.organiser = args.organiser or answer("Who runs it?", _short(NAME_LETTERS), default=FOUNDER)
    if args.text is None:
        text = answer(
            "Which folder of text does it learn from? (empty: the recipe's own)", _is_folder, refuse=_check_text
        )
        args.text = Path(text) if text else None
    if args.text is not None:
        args.licence = args.licence or answer(
            "What licence has the text? (empty: none is named)", _short(WORDS_LETTERS)
        )
        args.credit = args.credit or answer("Who made the text? (empty: nobody is named)", _short(WORDS_LETTERS))
    question = f"Which recipe? ({', '.join(names)}; or a file)"
    args.recipe = answer(
        question, lambda said: said in names or Path(said).expanduser().is_file(), default="first-words"
    )
    if args.uses is None:
        args.uses = _number("How many computers may join by the first link? (0: any number)", USES_MAX, LINK_USES)
    if args.days is None:
        args.days = _number("For how many days? (0: without end)", DAYS_MAX, LINK_DAYS)
    if not args.host:
        args.host = [_address()]


def answer(
    question: str,
    fits: Callable[[str], bool],
    *,
    default: str = "",
    refuse: Callable[[str], object] = lambda _: None,
) -> str:
    """The person's answer, asked for until it fits.

    Args:
        question: What is asked.
        fits: Whether an answer can be one.
        default: What an empty answer means.
        refuse: Raises BadInput, whose sentence the person sees, at an answer that cannot be used.

    Raises:
        BadInput: the questions were not answered.
    """
    while True:
        try:
            said = input(f"{question}{f' [{default}]' if default else ''} ").strip() or default
        except EOFError as error:
            raise BadInput("The questions were not answered; nothing was founded.") from error
        if not fits(said):
            print("That cannot be used.")
            continue
        try:
            refuse(said)
        except BadInput as problem:
            print(problem)
            continue
        return said


def _address() -> str:
    """The address that a person gives, who is told at once how far it reaches."""
    here = next(iter(own_hosts(ANY)), "127.0.0.1")
    host = read_host(answer("At which address do others find this computer?", bool, default=here, refuse=read_host))
    print(f"  {host} can be reached {SAID[reach(host)]}.")
    return host


def _short(letters: int, *, least: int = 0) -> Callable[[str], bool]:
    return lambda said: least <= len(said) <= letters


def _is_folder(said: str) -> bool:
    return not said or Path(said).expanduser().is_dir()


def _check_text(said: str) -> None:
    if said:
        check_folder(Path(said).expanduser().absolute())


def _number(question: str, most: int, default: int) -> int:
    return int(answer(question, lambda said: said.isdecimal() and int(said) <= most, default=str(default)))
