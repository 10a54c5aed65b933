"""Requests that a client may make of an engine.

JSON-RPC 2.0 over a WebSocket on 127.0.0.1.  The client sends requests with named parameters; the engine answers them
and sends two notifications: `snapshot` (params: a whole Snapshot) and `notice` (params: a Notice).  A client that
wants one answer only posts its request to the same address.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from core.api.score import Score
from core.api.snapshot import LossView, ProblemView

METHODS = (
    "snapshot", "pause", "resume", "quit", "restart", "try_now", "show", "notices", "evaluate", "settings", "configure",
    "test_port", "history", "receipts", "machine", "trust", "activity", "experts", "moderation", "moderate",
    "people", "copies", "audit", "page", "account", "update", "team",
)  # fmt: skip
"""snapshot: the Snapshot now.  pause(what, until), resume(what, until): one of the person's switches
(core.api.modes), computing where none is named; until: unix seconds, or for good.  quit: stop the engine.  restart:
begin anew in the same process, with the collaboration that is current then; a hostile caller gains what it gains by
quit, the samples of this epoch.  update: go on as a newer version that lies here, when this epoch has ended; a hostile
caller gains less than by restart.  try_now: ask the backbone now that does not answer, or has refused this computer; a
hostile caller, who could quit the engine, gains one question for each of its own.
show: ask a window, if one is connected, to come to the front (notification `show` to every client).
notices(since): a list of Notice.  evaluate: look at the held-out text now; the answer is an Evaluation.  settings: the
SettingsView.  configure(Wish): change what is named, all of it or nothing; the answer is the SettingsView after that
(core.api.settings).  test_port: have others call this computer; the answer, after some seconds, is a PortTest.
history(days): GiftHistory of the last days (core.api.reports).  receipts(since): a ReceiptList of the rounds after
that unix second.  machine: the MachineView.  trust: the TrustView.  team: the TeamView, for which the collaboration's
page is asked; a hostile caller gains two requests of it each five minutes.  activity: the newest notices, those of
earlier runs too.  experts(gather_s): the ExpertsView, after some seconds; for so long copies of all experts are
gathered here, ten minutes at most.  moderation: the ModerationView.  people: the PeopleView.  copies and audit:
CopiesView and AuditView, which a backbone tells moderators.  page: the PageView, where a moderator's browser signs
in.
moderate(ModerationWish): a decision of the moderator whose computer this is; the answer is a ModerationOutcome.
account(AccountWish): the person's own computers, also after one was ended, or with a link for one more; the answer is
an AccountView (core.api.account).  A hostile caller of either, who has this computer's user, could use its key
without the engine."""

ERROR_PARSE = -32700
ERROR_REQUEST = -32600
ERROR_METHOD = -32601
ERROR_PARAMS = -32602
ERROR_PROBLEM = -32000
"""A Problem: error.data is a `ProblemView`."""

MESSAGE_BYTES_MAX = 64 * 1024
"""From a client; the engine's snapshots may be larger."""
ENGINE_MESSAGE_BYTES_MAX = 4 * 1024 * 1024
"""From an engine."""
ENGINE_FILE_BYTES_MAX = 4096


Names = Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=100)]
"""The only kind of list in parameters."""


class EngineRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client's call of a method."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, Meta(max_length=40)]
    id: int | Annotated[str, Meta(max_length=40)] | None = None
    params: dict[str, int | float | str | bool | Names | None] = {}


class Failure(msgspec.Struct, frozen=True):
    """The reason why a call was refused."""

    code: int
    message: str
    data: ProblemView | None = None


class EngineMessage(msgspec.Struct, frozen=True):
    """A message of an engine: an answer (with `id`, and `result` or `error`) or a notification (with `method`)."""

    id: int | None = None
    method: str | None = None
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Failure | None = None
    params: msgspec.Raw = msgspec.Raw(b"null")


class ModelEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an evaluation of the held-out text."""

    epoch: int
    score: Score
    meaning: LossView
    """What is measured, in which unit, and what simpler models reach."""


class EngineFile(msgspec.Struct, frozen=True):
    """`engine.json`: lock and address book in one, mode 0600."""

    pid: int
    port: int
    token: str
    protocol: int
    started: float
    """When the process began, unix seconds, as psutil tells it: numbers of processes are used again."""
    far: bool = False
    """Whether it runs on another computer (core.control.tunnel): then `pid` is of the way there."""
    sandbox: str = ""
    """The namespace that `pid` is a number of (`core.api.running.own_sandbox`): Flatpak gives each start its own."""
