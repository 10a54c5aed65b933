"""What many commands print: problems, questions, progress, and what a model can be used for; as JSON or sentences."""

import json as json_module
import sys
from typing import Any

from core.base.problems import BadInput, Problem, printable


def say_problem(problem: Problem, *, json: bool) -> None:
    """One sentence on stderr; with `json` one line on stdout too.  Some of the words are a stranger's."""
    if json:
        say_json(
            {
                "event": "problem",
                "code": problem.code,
                "message": printable(problem.message),
                "hint": printable(problem.hint),
                **({"said": problem.said} if problem.said else {}),
            },
        )
    print(f"potluck: {printable(str(problem))}", file=sys.stderr, flush=True)


def agrees(question: str) -> bool:
    """Ask the person.

    Raises:
        BadInput: nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise BadInput("Nobody can be asked here: {question}", question, hint="To go on without a question, add --yes.")
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}


def say_json(event: dict[str, Any]) -> None:
    """One JSON object on one line of stdout, at once, in ASCII; msgspec structs inside it become objects."""
    import msgspec  # noqa: PLC0415 - a second start of the window does without it

    print(json_module.dumps(msgspec.to_builtins(event)), flush=True)


def say_progress(share: float, text: str) -> None:
    """Print a step on the way as a line of JSON.

    Args:
        share: What is done of it, 0 to 1.
        text: What is going on.
    """
    say_json({"event": "progress", "share": round(share, 3), "text": text})


def model_commands(*, has_experts: bool) -> str:
    """Commands that use a model: one with experts is exported, and not tried."""
    return "potluck export DIR" if has_experts else "potluck try TEXT, potluck export DIR"
