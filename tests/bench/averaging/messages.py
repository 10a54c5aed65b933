"""Messages between `python -m tests.bench averaging` and its peers."""

import msgspec


class Setup(msgspec.Struct, frozen=True, kw_only=True, tag="setup"):
    """Be peer number `index` of `peers`."""

    index: int
    peers: int
    numel: int
    codec: str
    bind: str = "127.0.0.1"
    client: bool = False
    """Take no share to reduce."""
    helps: bool = False
    """Have no contribution, and need no mean: only reduce."""
    round_s: float = 120.0
    """Upper bound on a round, seconds."""


class Meet(msgspec.Struct, frozen=True, kw_only=True, tag="meet"):
    """The others listen here, in order of their numbers."""

    addresses: list[tuple[str, int]]
    helpers: list[int] = []
    """Numbers of those that only reduce."""


class StartRound(msgspec.Struct, frozen=True, kw_only=True, tag="go"):
    """Find the group of round `number` at `at`, unix seconds, and average."""

    number: int
    at: float
    strangers: bool = False
    """Average as a collaboration does that strangers may join: parts are clipped, and means proven."""
    calls: bool = False
    """Ask the others, as trainers ask hosts of experts, from now until the round's end."""
    facts: list[bytes] = []
    """Each peer's reports of bandwidth, in order of their numbers; the DHT brings them in the real program."""


class Show(msgspec.Struct, frozen=True, kw_only=True, tag="show"):
    """All have ended the round: compare the means."""


class PeerListening(msgspec.Struct, frozen=True, kw_only=True):
    """The peer listens, at this port."""

    port: int


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """The peer knows where the others are."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The peer's round is over, well or not.

    It looks at its mean no sooner than it is told to: that takes long, and others may still wait for its last words.
    """


class RoundDone(msgspec.Struct, frozen=True, kw_only=True):
    """How a round went for one peer."""

    formed_s: float
    """From the common start to its plan; below 0: it had none."""
    ended_s: float
    """From the common start to the mean."""
    cpu_s: float
    wire_bytes: int
    """Sent, with TLS."""
    members: int
    """Members of the group that it was in."""
    missing_chunks: int
    """Chunks of contributions that the mean lacks."""
    failed: str
    """Reasons of failed attempts; a round may end well after that."""
    ended: bool
    relative_error: float
    digest: str
    """Digest of the result: equal on all peers."""
    growth_bytes: int
    """By how much the process grew during the round, at most."""
    chunks: list[int]
    """How many chunks each member reduced at first."""
    portions: list[int]
    """How many 256ths of its chunks each gave."""
    expected_s: float
    """Duration of the round according to the plan's own bandwidths, seconds; 0: it knew none."""
    facts: bytes
    """The peer's reports of bandwidth now."""
    alone_s: list[float]
    """How long each call took that was made before the round, seconds."""
    beside_s: list[float]
    """The same of calls beside the round."""
