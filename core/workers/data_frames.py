"""Frames between engine and worker about the text that is computed with (`core.workers.frames` has the others)."""

from typing import Annotated

import msgspec
from msgspec import Meta

from core.base.work import Frame

Counted = Annotated[int, Meta(ge=0)]
"""Samples that a state counts for this peer, and the one that the worker holds does not: a round has averaged a
contribution, but this worker did not take the step."""


class DataAccess(msgspec.Struct, frozen=True, kw_only=True):
    """What the worker's reader may use (`core.reading.frames.BeginReading`)."""

    blocks_dir: str = ""
    """A folder of this collaboration alone."""
    disk_bytes: Annotated[int, Meta(ge=0)] = 0
    spare_dirs: tuple[str, ...] = ()
    """Folders with files of other collaborations, which count as well, and go where room is needed."""
    folder: str = ""
    """The folder or file that the person has named; empty: none."""
    near: bool = False
    desk_url: str = ""
    desk_token: str = ""
    secrets: dict[str, str] = {}
    """Credentials of sources, by `core.text.sources.source.secret_name`; never written anywhere."""

    def __repr__(self) -> str:
        """Without what is secret: a frame may be logged."""
        return f"DataAccess(blocks_dir={self.blocks_dir!r}, folder={self.folder!r})"


class DataFlow(Frame, frozen=True, kw_only=True, tag="data"):
    """How the text comes; at most once a second, and at once when it stalls, flows again or is needed."""

    waiting: bool = False
    """There is no row left to compute with."""
    code: str = ""
    """`core.api.data_state.DataCode`: why nothing that is wanted can be had now; empty: it comes, or is not wanted."""
    arguments: dict[str, str | int | float] = msgspec.field(default_factory=dict)
    retry_s: float = 0.0
    rows_ready: Annotated[int, Meta(ge=0)] = 0
    """Rows that lie here and were not drawn yet."""
    bytes_read: Annotated[int, Meta(ge=0)] = 0
    """Since the worker started, as in the reader's Tally."""
    network_bytes: Annotated[int, Meta(ge=0)] = 0
    documents: Annotated[int, Meta(ge=0)] = 0
    left_out: Annotated[int, Meta(ge=0)] = 0
    stored_bytes: Annotated[int, Meta(ge=0)] = 0
    reading: str = ""


class DataLeftOut(Frame, frozen=True, kw_only=True, tag="data_left_out"):
    """A shard cannot be read on: what is left of it is not drawn in this pass."""

    code: str
    arguments: dict[str, str | int | float] = msgspec.field(default_factory=dict)


DataNews = DataFlow | DataLeftOut
