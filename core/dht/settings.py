"""The numbers of the DHT.  One set per collaboration; the defaults suit 3 to some thousands of peers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DhtSettings:
    """Widths, patience and limits.  The paper's names are given where it has one."""

    bucket_size: int = 20
    """Contacts per bucket (k)."""
    spares_per_bucket: int = 8
    """Contacts that wait for a place in a full bucket (the replacement cache)."""
    parallel: int = 4
    """Queries in flight per lookup (alpha); a query that had to be repeated no longer counts."""
    replicas: int = 5
    """Peers that hold each record."""
    client: bool = False
    """Cannot be reached: reads and writes, answers nobody, stores nothing for others."""

    query_timeout_s: float = 0.75
    """The longest patience with one datagram; measured round trips shorten it.  Each query is repeated once."""
    lookup_timeout_s: float = 10.0
    """A lookup ends after this long with what it has found."""
    route_s: float = 10.0
    """How long the peers found nearest to a key are believed to be so, which saves a store its lookup."""

    housekeeping_s: float = 5.0
    """Between two rounds of small repairs; each is jittered."""
    doubt_after_s: float = 30.0
    """A contact heard of more recently is not asked whether it is still there when somebody wants its place."""
    stale_after_s: float = 120.0
    """A contact not heard of for this long is pinged."""
    refresh_s: float = 600.0
    """A bucket in which nothing was looked up for this long gets a lookup of a random key."""
    seeds_s: float = 30.0
    """Between two attempts to reach seeds that are not in the routing table: this heals a divided network."""
    silence_s: float = 5.0
    """A peer that did not answer is left alone this long, then twice as long, and so on."""
    silence_max_s: float = 60.0

    max_lifetime_s: float = 3600.0
    """A record that wants to live longer is refused."""
    clock_slack_s: float = 60.0
    """Clocks of two peers may differ by this much."""
    records_max: int = 10_000
    records_per_key: int = 2_000
    records_per_owner: int = 200
    records_per_owner_and_key: int = 16
    forward_life_s: float = 15.0
    """Records that end sooner are not handed on to newcomers: their owners will store them again before long."""
    forwards_max: int = 64
    """Records handed on to one newcomer."""
