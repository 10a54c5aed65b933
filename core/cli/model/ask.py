"""`potluck try`: what the newest model says of a text."""

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from core.base.problems import BadInput, check_text, no_blank, printable
from core.base.tasks import BLANK, BLANKS
from core.cli.model.kept_model import kept_model, newest_state
from core.cli.model.model_process import use_model
from core.cli.model.model_talk import talk
from core.cli.printing.say import say_json
from core.system.progress_bar import ProgressBar

TEXT_CHARS_MAX: Final = 20_000


def run(args: argparse.Namespace) -> int:
    """Run `potluck try`; see `potluck try --help`.

    Raises:
        UserProblem: there is no model yet, or the text cannot be used.
        WorkerProblem: the process with the model failed.
    """
    if args.stay:
        return talk(args)
    text = sys.stdin.readline(TEXT_CHARS_MAX + 1).rstrip("\n") if args.text == "-" else args.text
    if len(text) > TEXT_CHARS_MAX:
        raise BadInput(
            "The text is too long: {most} letters are allowed.", TEXT_CHARS_MAX, hint="Give a sentence or two."
        )
    check_text(text, what="The text")
    kept = kept_model(args)
    if kept.manifest.task in BLANKS and re.search(BLANK, text) is None:
        raise no_blank()  # before the model is loaded, which takes seconds
    with tempfile.TemporaryDirectory(prefix="potluck-") as scratch:
        state = newest_state(kept, Path(scratch), epoch=args.step)
        said = use_model(kept, state, ["try", "--", text], ProgressBar(json=args.json))
    if args.json:
        say_json({**said, "collaboration": kept.manifest.id.hex(), "epoch": state.header.epoch, "steps": kept.epochs})
    elif said["event"] == "filled":
        print("\n".join(_lines(said)))
    else:
        print(text + "".join(map(_shown, said["text"])))
    return 0


def _lines(said: dict[str, Any]) -> list[str]:
    """The filled text, and a table of the best words for each blank."""
    lines = [printable(said["text"])]
    for number, blank in enumerate(said["blanks"], start=1):
        lines += ["", f"Blank {number}:"] if len(said["blanks"]) > 1 else [""]
        lines += [f"  {guess['probability']:6.1%}  {printable(guess['text'])}" for guess in blank]
    return lines


def _shown(letter: str) -> str:
    """A letter that a model wrote; its line ends stay, nothing else that moves the cursor."""
    return letter if letter == "\n" else printable(letter)
