"""What a client may ask of an engine.

JSON-RPC 2.0 over a WebSocket on 127.0.0.1.  The client sends requests with named parameters; the engine answers them
and sends two notifications: `snapshot` (params: a whole Snapshot) and `notice` (params: a Notice).
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

METHODS = ("snapshot", "pause", "resume", "quit", "show", "notices", "evaluate")
"""snapshot: the Snapshot now.  pause, resume: the person's switch.  quit: stop the engine.  show: ask a window, if one
is connected, to come to the front (notification `show` to every client).  notices(since): a list of Notice.
evaluate: look at the held-out text now; the answer is {"epoch": int, "loss": float, "loss_unigram": float}."""

ERROR_PARSE = -32700
ERROR_REQUEST = -32600
ERROR_METHOD = -32601
ERROR_PARAMS = -32602
ERROR_PROBLEM = -32000
"""A Problem: error.data is {"code", "message", "hint"}."""

MESSAGE_BYTES_MAX = 64 * 1024
"""From a client; the engine's snapshots may be larger."""


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call."""

    jsonrpc: Literal["2.0"]
    method: Annotated[str, Meta(max_length=40)]
    id: int | Annotated[str, Meta(max_length=40)] | None = None
    params: dict[str, int | float | str | bool] = {}


class EngineFile(msgspec.Struct, frozen=True):
    """`engine.json`: lock and address book in one, mode 0600."""

    pid: int
    port: int
    token: str
    protocol: int
    started: float
    """Unix seconds."""
