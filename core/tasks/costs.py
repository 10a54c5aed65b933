"""What a collaboration's model takes, by closed formulas and without torch: for a person who has not joined yet.

    python -m core.tasks.costs --task NAME --numbers JSON [--experts JSON]

prints one JSON object: `costs` (parameters, activation_bytes), or `problem` (code, message, hint; exit code 2).
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

import msgspec

from core.base.manifest import Numbers
from core.base.mixture import ExpertNumbers
from core.base.problems import Problem
from core.tasks import module_of


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    os.environ["USE_TORCH"] = "0"  # importing all of it takes seconds, and formulas do not need it
    parser = argparse.ArgumentParser(prog="costs", description="What a model takes.")
    parser.add_argument("--task", required=True)
    parser.add_argument("--numbers", required=True, help="of a manifest, as JSON")
    parser.add_argument("--experts", help="of a manifest, as JSON")
    chosen = parser.parse_args(arguments)
    try:
        numbers = msgspec.json.decode(chosen.numbers, type=Numbers)
        experts = None if chosen.experts is None else msgspec.json.decode(chosen.experts, type=ExpertNumbers)
        said: dict[str, object] = {"event": "costs", **asdict(module_of(chosen.task).costs(numbers, experts))}
    except Problem as problem:
        said = {
            "event": "problem",
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "said": problem.said,
        }
    print(msgspec.json.encode(said).decode(), flush=True)  # noqa: T201 - its report
    return 2 if said["event"] == "problem" else 0


if __name__ == "__main__":
    sys.exit(main())
