"""Which files of a data set of the hub are a split: the library `datasets` decides, in a process of its own.

    python -m core.sources.hub_split < question

The process is given names of files and the data set's card, and looks at nothing else: patterns of the card are held
against these names alone, and what is no pattern of names within the data set (an address, a path of this computer, a
hop between two of them) is left out.  The library takes 0.1 GB and the better part of a second, which a reader so gets
back; and it holds patterns against names with regular expressions that a stranger can make last for ever, through which
nothing else of a process runs.  What the worst data set gains: `SPLIT_S` of one core, each time that it is tried.
"""

import faulthandler
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

import msgspec

from core.system.offline import offline

SPLIT_S: Final = 60.0
"""Upper bound on a decision, seconds; then the process ends."""
PATTERNS_MAX: Final = 1000
"""Number of patterns of a split."""
PATTERN_LETTERS_MAX: Final = 1000
CARD_PARTS_MAX: Final = 1_000_000
"""Letters and values of a card, written out: in YAML a few lines can stand for more than all memory."""
_SCHEME: Final = "names"
_FIELDS: Final = ("config_name", "data_files", "data_dir", "default")
"""What of a configuration says which files it has."""


class SplitQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Asks which files of a data set are a split."""

    names: list[str]
    """Of all its files."""
    card: str
    """Its README.md; empty: it has none."""
    more_card: str
    """Its `.huggingface.yaml`, which goes before the card; empty: it has none."""
    config: str
    """Of its configurations; where its card names none, a folder; empty: its default."""
    split: str


class SplitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Says which files of a data set are a split."""

    files: list[str] = []
    """Sorted; none: it has no such split."""
    left_out: list[str] = []
    """Further ones, which hold something else than most do, so that the library does not read them."""
    configs: list[str] = []
    """That its card names."""
    splits: list[str] = []
    """Of the configuration."""


def main(*_: object) -> int:
    """Answer the question on standard input; what goes wrong ends the process with a trace."""
    faulthandler.dump_traceback_later(SPLIT_S, exit=True)  # even while a regular expression holds everything else up
    with tempfile.TemporaryDirectory(prefix="potluck-") as cache:
        offline(Path(cache))
        answer = answered(msgspec.json.decode(sys.stdin.buffer.read(), type=SplitQuestion))
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    sys.stdout.flush()
    return 0


def answered(asked: SplitQuestion) -> SplitAnswer:
    """Decide; to be called in a process of its own.

    Raises:
        Exception: whatever the library makes of a card that means nothing.
    """
    import fsspec  # noqa: PLC0415 - takes what the module's docstring says
    from datasets.data_files import get_data_patterns, sanitize_patterns  # noqa: PLC0415
    from datasets.utils.metadata import MetadataConfigs  # noqa: PLC0415

    fsspec.register_implementation(_SCHEME, _system_of(asked.names), clobber=True)
    configs = MetadataConfigs.from_dataset_card_data({"configs": _configs(asked)})
    chosen: Mapping[str, Any] | None = {"data_dir": asked.config}
    if configs:
        chosen = configs.get(asked.config or configs.get_default_config_name())
    folder = (chosen or {}).get("data_dir") or ""
    if chosen is None or not _is_within(folder):
        return SplitAnswer(configs=list(configs))
    base = f"{_SCHEME}://{folder}"
    try:
        patterns = sanitize_patterns(chosen["data_files"]) if "data_files" in chosen else get_data_patterns(base)
    except FileNotFoundError:  # there are no files at all
        patterns = {}
    found = _resolved(patterns.get(asked.split, ()), base)
    files = found if configs else _of_one_kind(found)
    return SplitAnswer(
        files=files,
        left_out=sorted(set(found) - set(files)),
        configs=list(configs),
        splits=[str(split) for split in patterns],
    )


def _configs(asked: SplitQuestion) -> list[dict[str, Any]]:
    """What the data set says of its configurations.

    Raises:
        ValueError: it stands for more than can be looked at.
    """
    import yaml  # noqa: PLC0415 - only the process that decides needs it
    from huggingface_hub import DatasetCard  # noqa: PLC0415

    more = (yaml.safe_load(asked.more_card) if asked.more_card else None) or {}
    said = more.get("configs") or (DatasetCard(asked.card).data.get("configs") if asked.card else None) or []
    left, waiting = CARD_PARTS_MAX, [said]
    while waiting:
        part = waiting.pop()
        left -= 1 + len(part) if isinstance(part, str) else 1
        if left < 0:
            raise ValueError("The card is too long.")
        waiting += [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [{name: each[name] for name in _FIELDS if name in each} for each in said]


def _resolved(patterns: Iterable[object], base: str) -> list[str]:
    """The files that patterns stand for, sorted."""
    from datasets.data_files import resolve_pattern  # noqa: PLC0415
    from datasets.packaged_modules import _ALL_ALLOWED_EXTENSIONS  # noqa: PLC0415

    found: set[str] = set()
    for pattern in islice(patterns, PATTERNS_MAX):
        if isinstance(pattern, str) and len(pattern) <= PATTERN_LETTERS_MAX and _is_within(pattern):
            with suppress(FileNotFoundError):  # nothing fits it
                found.update(resolve_pattern(pattern, base, allowed_extensions=_ALL_ALLOWED_EXTENSIONS))
    return sorted(path.removeprefix(f"{_SCHEME}://") for path in found)


def _of_one_kind(files: Sequence[str]) -> list[str]:
    """The files that the library reads where no card says which: of the kind that most of them are."""
    from datasets.data_files import DataFilesList  # noqa: PLC0415
    from datasets.load import infer_module_for_data_files_list  # noqa: PLC0415
    from datasets.packaged_modules import _MODULE_TO_EXTENSIONS  # noqa: PLC0415

    listed = DataFilesList([name for name in files if not name.lower().endswith(".zip")], [])
    kind, _ = infer_module_for_data_files_list(listed)
    return list(listed.filter(extensions=_MODULE_TO_EXTENSIONS[kind])) if kind else list(files)


def _is_within(path: object) -> bool:
    """Whether a path or pattern of a card means names of the data set, not an address or a path of this computer."""
    from datasets.utils.file_utils import is_relative_path  # noqa: PLC0415

    return isinstance(path, str) and bool(is_relative_path(path)) and "::" not in path


def _system_of(names: Iterable[str]) -> type:
    """A file system for `fsspec` that has these files, and nothing in them."""
    from fsspec import AbstractFileSystem  # noqa: PLC0415

    found: dict[str, dict[str, object]] = {}
    for name in names:
        for folder in list(PurePosixPath(name).parents)[:-1]:
            found.setdefault(str(folder), {"name": str(folder), "type": "directory", "size": 0})
        found[name] = {"name": name, "type": "file", "size": 0}

    class Names(AbstractFileSystem):  # type: ignore[misc]  # the library has no types
        """Files and folders by their names, and nothing in them."""

        protocol = _SCHEME

        def info(self, path: str, **_: object) -> dict[str, object]:
            """What there is to know of a file or folder."""
            if (name := self._strip_protocol(path)) not in found:
                raise FileNotFoundError(path)
            return found[name]

        def find(self, path: str, **_: object) -> dict[str, dict[str, object]]:
            """Everything below a path, however deep: `glob` looks for itself what of it fits."""
            return {name: known for name, known in found.items() if name.startswith(path)} if path else found

    return Names


if __name__ == "__main__":
    sys.exit(main())
