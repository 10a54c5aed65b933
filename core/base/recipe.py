"""A recipe: a collaboration as a person writes it down, in TOML, before anything is founded.

    name = "First words"
    task = "albert"               what is learned
    text = "python-docs"          what it is learned from; or a folder; or instead of it:
    tokenizer = "bengali"         how text becomes tokens: a name (`core.base.tasks.TOKENIZERS`), or a file
    [[data]]                      one source of several (`core.base.data_source.DataSource`), as many as there are
    precision = "bf16"            what passes compute in; left out: fp32
    trust = "friends"             nobody among the members lies; left out: strangers may join
    seed = 1                      two runs with one seed repeat; left out: all are different
    target_samples = 2048         of one optimiser step
    [model]                       the task's own numbers (`core.tasks`)
    [optimizer]                   its name and numbers; schedules count samples
    [averaging]                   `core.base.manifest.AveragingNumbers`
    [rule]                        its name and numbers
    [experts]                     `core.base.mixture.ExpertNumbers`, of a task whose layers have experts

Schedules are written in samples, and become epochs when the collaboration is founded: the target may change, and the
schedule stays the same.  What the tables of model, optimiser and rule may hold is checked where torch is
(`core.training.programs.prepare`).
"""

import math
import tomllib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from core.base.allowed import read_fields
from core.base.data_source import (
    ADDRESS_LETTERS,
    MEMBERS,
    PYTHON_DOCS,
    SOURCES_MAX,
    DataSource,
    DataSources,
    why_no_server,
)
from core.base.manifest import FOUNDER, SEED_MAX, AveragingNumbers, Name, Number, Numbers, Text
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput, quoted
from core.base.tasks import TASKS, TOKENIZERS, check_mixture

RECIPE_BYTES_MAX: Final = 64 * 1024
SAMPLES: Final = "_samples"
EPOCHS: Final = "_epochs"
SCHEDULE_MAX: Final = 10**15
"""Upper bound on the samples of a schedule."""
AMONG_STRANGERS: Final = "centered_clip"
"""The aggregator of collaborations that strangers may join."""
WEIGHT_SHARE: Final = 0.02
"""The bound on a member's share of the weight there: twice an equal share, up to a hundred members."""

Table = Annotated[dict[Name, Number], Meta(max_length=60)]
Nested = Annotated[dict[Name, Number | Table], Meta(max_length=60)]


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says of a collaboration."""

    name: Name
    summary: Text = ""
    """What is learned, in a sentence; empty: the task says it."""
    organiser: Name = FOUNDER
    task: Name
    text: Annotated[str, Meta(min_length=1, max_length=ADDRESS_LETTERS)] = PYTHON_DOCS
    """The short form of one source: "python-docs", or a folder of text files, seen from the recipe's own."""
    data: DataSources | msgspec.UnsetType = msgspec.UNSET
    """The sources, in the place of `text`."""
    tokenizer: Annotated[str, Meta(min_length=1, max_length=ADDRESS_LETTERS)] | msgspec.UnsetType = msgspec.UNSET
    """How the tokenizer is made: a name of `core.base.tasks.TOKENIZERS`, the first where this is left out; or a file of
    `potluck tokenizer train`, seen from the recipe's own."""
    precision: Literal["fp32", "tf32", "bf16", "fp16"] | msgspec.UnsetType = msgspec.UNSET
    """What passes compute in, on machines that can (`core.training.devices.precision`)."""
    seed: Annotated[int, Meta(ge=0, le=SEED_MAX)] | msgspec.UnsetType = msgspec.UNSET
    """What all chance follows from; left out: a new collaboration's is its own."""
    target_samples: Annotated[int, Meta(ge=1, le=1_000_000_000)]
    evaluate_every: Annotated[int, Meta(ge=1, le=1_000_000)] = 5
    model: Table = {}
    optimizer: Table
    averaging: AveragingNumbers = AveragingNumbers()
    trust: Literal["strangers", "friends"] = "strangers"
    """Who may join.  Among strangers parts are clipped, and no member has more than twice an equal share of the weight,
    where `averaging` says nothing else of it."""
    rule: Nested | msgspec.UnsetType = msgspec.UNSET
    experts: ExpertNumbers | msgspec.UnsetType = msgspec.UNSET

    @property
    def sources(self) -> tuple[DataSource, ...]:
        """Where the text comes from, by `data` or `text`."""
        return (DataSource(address=self.text),) if isinstance(self.data, msgspec.UnsetType) else self.data

    @property
    def mixture(self) -> ExpertNumbers | None:
        """The numbers of its experts; None: it has none."""
        return None if isinstance(self.experts, msgspec.UnsetType) else self.experts

    @property
    def tokenizer_named(self) -> str:
        """How the tokenizer is made, also where the recipe does not say."""
        return TOKENIZERS[0] if isinstance(self.tokenizer, msgspec.UnsetType) else self.tokenizer

    @property
    def tokenizer_file(self) -> str:
        """The path of its tokenizer; empty: one is made."""
        return "" if self.tokenizer_named in TOKENIZERS else self.tokenizer_named

    def with_sources(self, sources: tuple[DataSource, ...]) -> "Recipe":
        """The same recipe with other sources."""
        return msgspec.structs.replace(self, text=PYTHON_DOCS, data=sources)

    @property
    def trusted_averaging(self) -> AveragingNumbers:
        """The numbers of averaging, with those that follow from `trust`."""
        given = self.averaging
        named = not isinstance(given.aggregator, msgspec.UnsetType)
        if self.trust == "friends" or named or given.codec == "topk":  # its residuals are exact for the mean alone
            return given
        share = WEIGHT_SHARE if isinstance(given.weight_share, msgspec.UnsetType) else given.weight_share
        return msgspec.structs.replace(given, aggregator=AMONG_STRANGERS, weight_share=share)

    @property
    def text_work(self) -> bytes:
        """What the preparation of the text follows from: recipes that have it alike share what is prepared."""
        return msgspec.json.encode((self.task, self.sources, self.tokenizer_named, self.model, self.summary))

    @property
    def epochs_optimizer(self) -> Numbers:
        """The optimiser's numbers with its schedule in epochs, as a manifest has them."""
        return in_epochs(self.optimizer, self.target_samples)

    @property
    def epochs_rule(self) -> dict[str, Number | Numbers] | msgspec.UnsetType:
        """The rule's numbers, with the schedule of an optimiser in it in epochs."""
        if isinstance(self.rule, msgspec.UnsetType):
            return self.rule
        return {
            name: in_epochs(value, self.target_samples) if isinstance(value, dict) else value
            for name, value in self.rule.items()
        }


def read_recipe(data: bytes, *, called: str, changes: Mapping[str, Number] = MappingProxyType({})) -> Recipe:
    """The recipe in a file of TOML.

    Args:
        data: The file.
        called: How sentences call it.
        changes: Values in the place of the file's, by dotted keys: "optimizer.learning_rate".

    Raises:
        BadInput: it is not a recipe; the sentence names the file, the key and what is allowed.
    """
    raw = _tables(data, changes, called=called)
    if "data" in raw:
        raw["data"] = _read_sources(raw, called=called)
    if isinstance(raw.get("experts"), dict):
        raw["experts"] = _read_experts(raw["experts"], where=f"{called}: [experts] ")
    recipe = read_fields(raw, Recipe, where=f"{called}: ")
    if recipe.task not in TASKS:
        raise BadInput(
            "{called}: task must be one of {tasks}, not {task}.", called, ", ".join(TASKS), quoted(recipe.task)
        )
    rule = {} if isinstance(recipe.rule, msgspec.UnsetType) else recipe.rule
    names = (str(rule.get("name", "")), str(recipe.precision))
    check_mixture(recipe.task, experts=recipe.mixture is not None, names=names, where=f"{called}: ")
    tables: dict[str, Mapping[str, Number]] = {"[optimizer]": recipe.optimizer}
    for name, value in ({} if isinstance(recipe.rule, msgspec.UnsetType) else recipe.rule).items():
        tables |= {f"[rule.{name}]": value} if isinstance(value, dict) else {}
    for title, table in {"[model]": recipe.model, **tables}.items():
        for number_name, number in table.items():
            if isinstance(number, float) and not math.isfinite(number):
                message = "{called}: {title} {number_name} must be a finite number, not {number}."
                raise BadInput(message, called, title, number_name, number)
    for title, table in tables.items():
        _check_schedule(table, where=f"{called}: {title} ")
    return recipe


def in_epochs(numbers: Mapping[str, Number], target_samples: int) -> Numbers:
    """An optimiser's numbers with every `..._samples` as `..._epochs`.

    Args:
        numbers: As a recipe has them.
        target_samples: Of one epoch.  Halves of an epoch are rounded away, but what has samples has an epoch.
    """
    return {
        name.removesuffix(SAMPLES) + EPOCHS if name.endswith(SAMPLES) else name: (
            _epochs(number, target_samples) if name.endswith(SAMPLES) else number
        )
        for name, number in numbers.items()
    }


def _tables(data: bytes, changes: Mapping[str, Number], *, called: str) -> dict[str, Any]:
    """What stands in a file, with some values changed.

    Raises:
        BadInput: it is not TOML, or has no table of that name.
    """
    if len(data) > RECIPE_BYTES_MAX:
        message = "{called} has {count} bytes; a recipe has at most {most}."
        raise BadInput(message, called, f"{len(data):,}", f"{RECIPE_BYTES_MAX:,}")
    try:
        raw = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(
            "{called} is not a TOML file: {error}.", called, error, hint="See the recipes that come along."
        ) from error
    for key, value in changes.items():
        _put(raw, key, value, called=called)
    return raw


def _put(raw: dict[str, Any], key: str, value: Number, *, called: str) -> None:
    """Set a dotted key of a file.

    Raises:
        BadInput: what stands before a dot is not a table.
    """
    *tables, name = key.split(".")
    for depth, title in enumerate(tables, start=1):
        raw = raw.setdefault(title, {})
        if not isinstance(raw, dict):
            raise BadInput("{called}: {tables} is not a table.", called, ".".join(tables[:depth]))
    raw[name] = value


def _read_sources(raw: Mapping[str, object], *, called: str) -> tuple[DataSource, ...]:
    """The tables `[[data]]` of a recipe.

    Raises:
        BadInput: one cannot be used, or there is `text` beside them.
    """
    tables = raw["data"]
    if "text" in raw:
        raise BadInput("{called}: text and [[data]] name the text twice.", called, hint="Leave one of them out.")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadInput("{called}: data must be tables.", called, hint="Write each source below a line [[data]].")
    if not 1 <= len(tables) <= SOURCES_MAX:
        raise BadInput(
            "{called}: there are {count} tables [[data]]; 1 to {most} are allowed.", called, len(tables), SOURCES_MAX
        )
    found = []
    for number, table in enumerate(tables, start=1):
        where = f"{called}: [[data]] {number}: "
        try:
            beside = {} if "address" in table or "index" not in table else {"address": MEMBERS}
            found.append(read_fields({**beside, **table}, DataSource, where=where))
        except ValueError as error:
            raise BadInput("{where}{error}", where, error) from error
        if "address" not in table and "index" not in table:
            hint = "Name a folder, a URL, or hf://datasets/OWNER/NAME; of shards that were cut, the index is enough."
            raise BadInput("{where}address is missing.", where, hint=hint)
        if why := why_no_server(found[-1].address):
            advice = "Where the shards lie beside their index, leave the address out: the backbone gives them."
            raise BadInput("{where}{why}", where, why, hint=advice)
    return tuple(found)


def _read_experts(table: Mapping[str, object], *, where: str) -> ExpertNumbers:
    try:
        return read_fields(table, ExpertNumbers, where=where)
    except ValueError as error:
        raise BadInput("{where}{error}", where, error) from error


def _epochs(samples: Number, target_samples: int) -> int:
    whole = int(samples)
    return max((whole + target_samples // 2) // target_samples, min(whole, 1))


def _check_schedule(table: Mapping[str, Number], *, where: str) -> None:
    for name, number in table.items():
        if name.endswith(EPOCHS):
            raise BadInput("{where}{name} is unknown.", where, name, hint="Schedules count samples: write ..._samples.")
        whole = isinstance(number, int) and not isinstance(number, bool)
        if name.endswith(SAMPLES) and not (whole and 0 <= int(number) <= SCHEDULE_MAX):
            message = "{where}{name} must be a whole number from 0 to {most}, not {number}."
            raise BadInput(message, where, name, f"{SCHEDULE_MAX:,}", f"{number!r:.40}")
