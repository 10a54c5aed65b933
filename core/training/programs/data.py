"""What organisers do with text before there is a collaboration: look at it, cut it, check it, train a tokenizer.

    python -m core.training.programs.data --asked JSON

prints one JSON object a line: `progress` (text, fraction unless it is as before), then what was asked for (`inspected`,
`sampled`, `cut`, `verified`, `trained`), or `problem` (code, message, hint; exit code 2).
"""

import argparse
import os
import sys
from collections.abc import Sequence

import msgspec

from core.text.sources.requests import (
    CutRequest,
    DataRequest,
    InspectRequest,
    SampleRequest,
    TokenizerRequest,
    VerifyRequest,
)
from core.training.programs.child import bounded_memory, chosen_by, reporting, say


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="data", description="Look at text, cut it, check it.")
    parser.add_argument("--asked", required=True, help="core.text.sources.requests.DataRequest as JSON")
    chosen = chosen_by(parser, arguments)
    bounded_memory()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    asked: DataRequest = msgspec.json.decode(chosen.asked, type=DataRequest)
    return reporting(lambda: _do(asked))


def _do(asked: DataRequest) -> None:
    done: msgspec.Struct
    match asked:
        case InspectRequest():
            from core.training.programs.inspect_text import inspected  # noqa: PLC0415 - each brings libraries of its own

            done = inspected(asked)
        case SampleRequest():
            from core.training.programs.sample_text import sampled  # noqa: PLC0415

            done = sampled(asked)
        case CutRequest():
            from core.training.programs.cut_text import cut  # noqa: PLC0415

            done = cut(asked)
        case VerifyRequest():
            from core.training.programs.cut_text import verified  # noqa: PLC0415

            done = verified(asked)
        case TokenizerRequest():
            from core.training.programs.tokenize_text import trained  # noqa: PLC0415

            done = trained(asked)
    say(**msgspec.to_builtins(done))


if __name__ == "__main__":
    sys.exit(main())
