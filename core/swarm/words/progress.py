"""Progress reports: what each peer says of itself in the DHT, once a second (S000 3.1, 3.3)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from core.base.bounds import Epoch, Loss, Samples, SamplesPerS
from core.base.ids import Key
from core.base.problems import WireProblem
from core.base.state_header import ANCESTORS_MAX, MARK_BYTES
from core.base.wire import Schema
from core.dht.key_classes import Validator, classed_key, own_records
from core.dht.messages import VALUE_BYTES_MAX
from core.swarm.words.states import LINEAGE_BYTES, StateName

Bytes32 = Annotated[bytes, Meta(min_length=LINEAGE_BYTES, max_length=LINEAGE_BYTES)]
PROGRESS = "progress"
"""The class of the key under which reports stand."""


class StateCopy(msgspec.Struct, frozen=True, array_like=True):
    """A copy of the model that a backbone gives, wherever it stands: a state, and its file's digest."""

    epoch: Epoch
    lineage: Bytes32
    digest: Bytes32

    @property
    def state(self) -> StateName:
        """The state of which it is a copy."""
        return StateName(self.epoch, self.lineage)


class ProgressReport(msgspec.Struct, frozen=True, array_like=True):
    """What a peer publishes of itself under the collaboration's progress key.  At most 512 bytes encoded.

    Its name is not among it: that stands in its pass.
    """

    role: Annotated[str, Meta(max_length=12)]
    activity: Annotated[str, Meta(max_length=16)]
    host: Annotated[str, Meta(max_length=60)]
    port: Annotated[int, Meta(ge=0, le=65535)]
    epoch: Epoch
    lineage: Bytes32
    digest: Annotated[bytes, Meta(max_length=LINEAGE_BYTES)]
    """Digest of the newest state file that this peer can give to others; empty: it has none."""
    in_step: bool
    """Takes part in the current epoch; False while it catches up, pauses or has finished."""
    samples: Samples
    """Accumulated for the next step."""
    samples_per_s: SamplesPerS
    time: Annotated[float, Meta(ge=0, le=1e12)]
    """Unix seconds at which this was true."""
    heldout_epoch: Epoch = 0
    heldout_loss: Loss | None = None
    """The newest look at the held-out text."""
    helps: bool = False
    """It trains nothing, and reduces for the others."""
    ancestors: Annotated[bytes, Meta(max_length=ANCESTORS_MAX * MARK_BYTES)] = b""
    """Marks of the states that led to its state, the nearest first, as far as it knows them.

    A reader that missed reports learns from them where this peer's way parted from others'."""
    copy: StateCopy | None = None
    """None: it gives none; only those whom this peer has let in believe it."""

    @property
    def state(self) -> StateName:
        """The state that the peer holds, as one name to compare with those of others."""
        return StateName(self.epoch, self.lineage)


_SCHEMA: Final = Schema(ProgressReport, named="a progress report", bytes_max=VALUE_BYTES_MAX)


def progress_key(manifest_id: bytes) -> Key:
    """Where a collaboration's reports live in the DHT."""
    return classed_key(PROGRESS, manifest_id)


def encode_report(report: ProgressReport) -> bytes:
    """The report as the value of a DHT record."""
    return _SCHEMA.encode(report)


def decode_report(data: bytes) -> ProgressReport:
    """The report in a DHT record's value; what cannot be printed in its texts is replaced, for people read them.

    Raises:
        WireProblem: it is not valid.
    """
    report = _SCHEMA.decode(data)
    if len(report.digest) not in {0, LINEAGE_BYTES}:
        raise WireProblem("not a progress report: half a digest")
    if len(report.ancestors) % MARK_BYTES:
        raise WireProblem("not a progress report: half a mark")
    if report.role.isprintable() and report.activity.isprintable():
        return report
    return replace(report, role=_printable(report.role), activity=_printable(report.activity))


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


is_report: Validator = own_records(decode_report)
SCHEMAS: Mapping[str, Validator] = MappingProxyType({PROGRESS: is_report})
"""What may stand under the swarm's keys."""
