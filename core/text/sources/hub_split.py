"""Which files of a data set of the hub are a split: the library `datasets` decides, in a process of its own.

    python -m core.text.sources.hub_split < question

The process is given names of files and the data set's card, and looks at nothing else: patterns of the card are held
against these names alone, and what is not a pattern of names within the data set (an address, a path of this computer,
a hop between two of them) is left out.  The library takes 0.1 GB and the better part of a second, which a reader so
gets back; and it holds patterns against names with regular expressions that a stranger can make last for ever, through
which nothing else of a process runs.

What the worst data set gains, each time that it is tried: a minute of one core and a millisecond for each of its files
(on Windows `WAITING` times that), and memory in proportion to the bytes of its card and of its list of files: a card
with an alias, by which a few lines of YAML stand for more than all memory, is refused.  Nothing that a card says is
written anywhere: the process has no error output, and answers with names alone.
"""

import faulthandler
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

import msgspec

from core.system.offline import offline

SPLIT_S: Final = 60.0
"""Time of one core that a decision may take, however few files there are, seconds."""
NAME_S: Final = 0.001
"""Time of one core that it may take more for each file, seconds: nine times what was measured."""
WAITING: Final = 10
"""How many times that may pass in all, while other programs want the computer, too."""
MEANINGLESS: Final = 3
"""How the process ends where a card means nothing; with another status, where it could not decide."""
PATTERNS_MAX: Final = 1000
"""Number of patterns of a split."""
PATTERN_LETTERS_MAX: Final = 1000
_SCHEME: Final = "names"
_FIELDS: Final = ("config_name", "data_files", "data_dir", "default")
"""What of a configuration says which files it has."""


class SplitQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Asks which files of a data set are a split."""

    names: list[str]
    """Names of all its files."""
    card: str
    """Its README.md; empty: it has none."""
    more_card: str
    """Its `.huggingface.yaml`, which goes before the card; empty: it has none."""
    config: str
    """One of its configurations; where its card names none, a folder; empty: its default."""
    split: str


class SplitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Says which files of a data set are a split."""

    files: list[str] = []
    """Sorted; none: it has no such split."""
    left_out: list[str] = []
    """Further ones, which hold something else than most do, so that the library does not read them."""
    configs: list[str] = []
    """Configurations that its card names."""
    splits: list[str] = []
    """Splits of the configuration."""


def main(*_: object) -> int:
    """Answer the question on standard input.

    Returns:
        0, or `MEANINGLESS`.  Where the process takes too long or too much, it ends with another status.
    """
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=SplitQuestion)
    with Path(os.devnull).open("wb") as nowhere, tempfile.TemporaryDirectory(prefix="potluck-") as cache:
        limit_time(SPLIT_S + NAME_S * len(asked.names), nowhere)
        offline(Path(cache))
        try:
            answer = msgspec.json.encode(answered(asked))
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - whatever the library makes of a card that means nothing
            return MEANINGLESS
    sys.stdout.buffer.write(answer)
    sys.stdout.flush()
    return 0


def limit_time(computing_s: float, log: IO[bytes]) -> None:
    """End this process when it has computed for too long, even while a regular expression holds everything else up.

    Time in which it waits for a core does not count, except on Windows, which has no such limit; there, and where it
    does not compute at all, it ends after `WAITING` times as long.

    Args:
        computing_s: Computing time of one core.
        log: Where its trace goes then; to be kept open.
    """
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - only there

        soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
        most = [limit for limit in (soft, hard, math.ceil(computing_s)) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # else the signal leaves all memory on the disk
        resource.setrlimit(resource.RLIMIT_CPU, (min(most), hard))
    faulthandler.dump_traceback_later(computing_s * WAITING, file=log, exit=True)


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
    """What the data set says of its configurations."""
    from huggingface_hub.repocard import REGEX_YAML_BLOCK  # noqa: PLC0415 - only the process that decides needs it

    block = REGEX_YAML_BLOCK.search(asked.card)
    said = _read_yaml(asked.more_card).get("configs") or _read_yaml(block[2] if block else "").get("configs") or []
    return [{name: each[name] for name in _FIELDS if name in each} for each in said]


def _read_yaml(text: str) -> dict[str, Any]:
    """What a file of YAML says; empty: nothing.

    Raises:
        ValueError: it has an alias, so a few lines of it could stand for more than all memory.
        Exception: it is not valid YAML.
    """
    import yaml  # noqa: PLC0415 - only the process that decides needs it

    class NoAliases(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise ValueError("The card has an alias.")
            return super().compose_node(parent, index)

    return yaml.load(text, Loader=NoAliases) or {}  # noqa: S506 - it is a safe one


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
