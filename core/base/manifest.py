"""A manifest names a task and an optimiser, with their numbers: signed, content-addressed data that carries no code."""

from collections.abc import Mapping
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta

from core.base.content import digest
from core.base.data_source import DataSource, DataSources
from core.base.ids import PEER_ID_BYTES, PeerId
from core.base.mixture import ExpertNumbers
from core.base.problems import BadInput, NotTrusted, later
from core.base.schedule import end_of
from core.base.signing import SIGNATURE_BYTES, Signer, Verifier

MANIFEST_BYTES_MAX = 64 * 1024
SEED_MAX: Final = 2**53 - 1
"""JSON of all languages has whole numbers up to this one."""
FOUNDER: Final = later("its founder")
"""In the place of an organiser's name that nobody has said."""
PREDECESSOR: Final = "predecessor.json"
"""Name of the blob that is the canonical text of the manifest from whose model a collaboration goes on: its digest is
that collaboration's id.  Earlier versions fetch the file, and pass over it."""
NOBODY: Final = frozenset({FOUNDER, "this computer"})
"""Organisers without a name: also that of the demo's recipes."""

Name = Annotated[str, Meta(min_length=1, max_length=80)]
Text = Annotated[str, Meta(max_length=1000)]
HexDigest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Positive = Annotated[int, Meta(gt=0)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]
Number = int | float | str | bool
Numbers = dict[Name, Number]
"""The numbers of a task or of an optimiser.  Each documents its own, and checks them with `checked`."""
T = TypeVar("T")

PAPER_LAMB: Final[Numbers] = {
    "name": "lamb",
    "learning_rate": 0.00176,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-6,
    "weight_decay": 0.01,
    "clamp": 10_000.0,
    "max_grad_norm": 1.0,
    "warmup_epochs": 5000,
    "total_epochs": 125_000,
}
"""LAMB with the numbers of S000, section 4.2.  A canonical text has an optimiser's numbers in this order, then all
others by name."""
_PLACES: Final = {name: place for place, name in enumerate(PAPER_LAMB)}


class AveragingNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of averaging: sizes, times and limits of a round."""

    codec: Name = "raw"
    chunk_numel: Annotated[int, Meta(ge=256, le=262_144)] = 65_536
    """Numbers per chunk: 65,536 float32 are 256 KiB."""
    gather_timeout_s: Seconds = 3.0
    """How long the leader waits for contributions before it goes on without the missing."""
    stall_timeout_s: Seconds = 6.0
    """How long a peer of a round may be silent before the round goes on without it."""
    round_timeout_s: Seconds = 30.0
    """The round's own deadline, counted from its plan."""
    delayed: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether gradients are computed while the round before is averaged (delayed parameter updates, S000 3.2).  Absent
    means no, in the signed text too, so that a manifest without it keeps its name."""

    partial: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether a plan may ask a member with a slow line for less than its whole contribution (c_i of S000 3.2), where
    steps then follow faster.  Absent means no."""

    aggregator: Name | Numbers | msgspec.UnsetType = msgspec.UNSET
    """How the parts of a round become one (`core.averaging.aggregators`): its `name` and its own numbers, or its name
    alone.  Absent means the weighted mean."""
    trimmed_share: Annotated[float, Meta(ge=0, lt=0.5)] | msgspec.UnsetType = msgspec.UNSET
    """In manifests from before aggregators had numbers of their own: the `trim` of a trimmed mean."""

    weight_share: Annotated[float, Meta(gt=0, le=1)] | msgspec.UnsetType = msgspec.UNSET
    """Upper bound on a member's share of the weight in a mean, where there are enough others
    (`core.averaging.weights`); 1: there is none.  Absent means a quarter."""

    @property
    def weight_share_max(self) -> float:
        """The bound on a member's share, also where the manifest names none."""
        return 0.25 if isinstance(self.weight_share, msgspec.UnsetType) else self.weight_share

    @property
    def overlaps(self) -> bool:
        """Whether computing goes on while a round is averaged: gradients may then be one step stale, never more."""
        return self.delayed is True

    @property
    def is_mean(self) -> bool:
        """Whether parts become their weighted mean: only that can be taken in stages, on a grid."""
        return self.aggregator_name == "mean"

    @property
    def aggregator_name(self) -> str:
        """The aggregator, also where the manifest names none."""
        named = self.aggregator.get("name", "") if isinstance(self.aggregator, dict) else self.aggregator
        return "mean" if isinstance(named, msgspec.UnsetType) else str(named)

    @property
    def aggregator_numbers(self) -> Numbers:
        """The aggregator's own numbers."""
        numbers = self.aggregator if isinstance(self.aggregator, dict) else {}
        trim = {} if isinstance(self.trimmed_share, msgspec.UnsetType) else {"trim": self.trimmed_share}
        return {**trim, **{name: number for name, number in numbers.items() if name != "name"}}


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A collaboration's task, its numbers, and the authority that admits members."""

    format: Annotated[int, Meta(ge=1, le=1)] = 1
    name: Name
    summary: Text = ""
    organiser: Name
    task: Name
    numbers: Numbers = {}
    """The task's own numbers: model sizes, sequence length."""
    data: DataSources | msgspec.UnsetType = msgspec.UNSET
    """Where the text comes from.  Absent means the documentation that came with Python, in the signed text too."""
    blobs: dict[Name, HexDigest] = {}
    """Files that every peer needs (a tokenizer, held-out text), by name; fetched by digest."""
    optimizer: Numbers = msgspec.field(default_factory=lambda: dict(PAPER_LAMB))
    """The optimiser's `name` and its own numbers."""
    averaging: AveragingNumbers = AveragingNumbers()
    rule: dict[Name, Number | Numbers] | msgspec.UnsetType = msgspec.UNSET
    """What peers contribute, and what the mean is used for: the rule's `name` and its own numbers.  Absent means
    gradients, in the signed text too."""
    experts: ExpertNumbers | msgspec.UnsetType = msgspec.UNSET
    """Layers of the model whose experts live on volunteers' computers.  Absent means none, in the signed text too."""
    precision: Name | msgspec.UnsetType = msgspec.UNSET
    """What passes compute in, on machines that can (`core.training.devices.precision`); all that is shared is float32.
    Absent means fp32, in the signed text too."""
    seed: Annotated[int, Meta(ge=0, le=SEED_MAX)] | msgspec.UnsetType = msgspec.UNSET
    """What all chance follows from: the first weights, the order of the text, what is hidden of it.  Absent means the
    manifest's id, which no other collaboration has."""
    target_samples: Positive = 4096
    """Samples that the whole collaboration accumulates for one optimiser step."""
    evaluate_every: Positive = 5
    """Epochs between two looks at the held-out text."""
    authority: HexDigest
    """The authority's Ed25519 public key: it signs this manifest and issues the passes."""

    @property
    def organiser_named(self) -> dict[str, str]:
        """The organiser's name, for sentences about the organiser's computer; nothing where there is none."""
        return {} if self.organiser in NOBODY else {"organiser": self.organiser}

    @property
    def predecessor(self) -> str:
        """Id of the collaboration from whose model this one goes on, hex; empty: it began with a model of its own."""
        return self.blobs.get(PREDECESSOR, "")

    @property
    def sources(self) -> tuple[DataSource, ...]:
        """Where the text comes from, also where the manifest does not say."""
        return (DataSource(),) if isinstance(self.data, msgspec.UnsetType) else self.data

    @property
    def mixture(self) -> ExpertNumbers | None:
        """The numbers of its experts; None: it has none."""
        return None if isinstance(self.experts, msgspec.UnsetType) else self.experts

    @property
    def precision_name(self) -> str:
        """What passes compute in, also where the manifest does not say."""
        return "fp32" if isinstance(self.precision, msgspec.UnsetType) else self.precision

    @property
    def chance(self) -> bytes:
        """What all chance follows from, 32 bytes."""
        return self.id if isinstance(self.seed, msgspec.UnsetType) else digest(b"seed %d" % self.seed)

    @property
    def first_weights(self) -> int:
        """The seed of the first weights."""
        return int.from_bytes(self.chance[:8], "big")

    @property
    def last_epoch(self) -> int | None:
        """The epoch at which a schedule ends, and with it the collaboration; None: it goes on for ever."""
        local = None if isinstance(self.rule, msgspec.UnsetType) else self.rule.get("optimizer")
        return end_of(self.optimizer, *([local] if isinstance(local, dict) else []))

    def last_epoch_within(self, asked: int | None) -> int | None:
        """The epoch at which a peer stops: that one, or the one that its person asked for, if it is earlier."""
        return min((epoch for epoch in (asked, self.last_epoch) if epoch is not None), default=None)

    @property
    def authority_id(self) -> PeerId:
        """The authority's public key as 32 bytes."""
        return PeerId(bytes.fromhex(self.authority))

    def canonical(self) -> bytes:
        """The one JSON text of this manifest, without spaces: fields as they stand above, keys of mappings sorted.

        The optimiser's keys are sorted as in `PAPER_LAMB`: a manifest made when these were the only ones keeps its id.
        """
        names = sorted(self.optimizer, key=lambda name: (_PLACES.get(name, len(_PLACES)), name))
        optimizer = msgspec.Raw(msgspec.json.encode({name: self.optimizer[name] for name in names}))
        return msgspec.json.encode(msgspec.structs.replace(self, optimizer=optimizer), order="deterministic")

    @property
    def id(self) -> bytes:
        """The collaboration's name among machines: the digest of the canonical text, 32 bytes."""
        return digest(self.canonical())


def checked(numbers: Mapping[str, object], kind: type[T], *, of: str) -> T:
    """Numbers of a manifest as a struct that states their bounds.

    Args:
        numbers: As they stand in the manifest, which may come from a stranger.
        kind: A frozen `msgspec.Struct` that forbids unknown fields.
        of: What they belong to, for the sentence.

    Raises:
        BadInput: a number is unknown, missing, or out of its range.
    """
    try:
        return msgspec.convert(numbers, kind)
    except msgspec.ValidationError as error:
        raise BadInput(
            "The manifest's numbers do not fit the {of}: {error}.", of, error, hint="Update Potluck."
        ) from error


class _SignedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    manifest: Manifest
    signature: Annotated[str, Meta(min_length=2 * SIGNATURE_BYTES, max_length=2 * SIGNATURE_BYTES)]


def sign_manifest(manifest: Manifest, signer: Signer) -> bytes:
    """The manifest as a signed JSON file.

    Raises:
        ValueError: the signer is not the manifest's authority.
    """
    if signer.peer_id != manifest.authority_id:
        raise ValueError("a manifest is signed by its own authority")
    signature = signer.sign(manifest.canonical()).hex()
    return msgspec.json.format(msgspec.json.encode(_SignedFile(manifest, signature), order="deterministic"), indent=2)


def read_manifest(data: bytes, verifier: Verifier) -> Manifest:
    """The manifest in a signed JSON file, verified.

    Raises:
        BadInput: not a manifest.
        NotTrusted: the signature is not the authority's.
    """
    if len(data) > MANIFEST_BYTES_MAX:
        raise BadInput("The manifest has {count} bytes; {most} are allowed.", len(data), MANIFEST_BYTES_MAX)
    try:
        signed = msgspec.json.decode(data, type=_SignedFile)
        signature = bytes.fromhex(signed.signature)
    except (msgspec.MsgspecError, ValueError, UnicodeDecodeError, RecursionError) as error:
        advice = later("Ask the organiser for the collaboration's link again.")
        if isinstance(error, msgspec.ValidationError):
            advice = later("Update Potluck, if the collaboration is of a newer version; else ask for its link again.")
        raise BadInput("This is not a manifest: {error}.", error, hint=advice) from error
    authority = signed.manifest.authority_id
    if len(authority) != PEER_ID_BYTES or not verifier.verify(authority, signature, signed.manifest.canonical()):
        raise NotTrusted(
            "The manifest's signature is wrong: somebody changed it after the organiser signed it.",
            hint="Do not use it; ask the organiser for the collaboration's link again.",
        )
    return signed.manifest
