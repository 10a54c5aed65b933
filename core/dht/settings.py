"""Numbers of the DHT.  One set per collaboration; the defaults suit 3 to ten thousand peers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from core.base.ids import Key
from core.dht.key_classes import CLASS_BYTES, class_mark


@dataclass(frozen=True, slots=True)
class Quota:
    """Room of its own for the records of a key class, beside what other classes take of the store."""

    records_max: int
    bytes_max: int
    """Bytes of all their values."""
    records_per_owner: int
    lifetime_max_s: float = inf
    """The longest lifetime of a record, where that is less than `max_lifetime_s`: what ends soon is not to be lied."""


@dataclass(frozen=True, slots=True)
class DhtSettings:
    """Widths, timeouts and limits.  The papers' names are given where they have one."""

    bucket_size: int = 40
    """Contacts per bucket (k)."""
    replacements_per_bucket: int = 8
    """Contacts that wait for a place in a full bucket (the replacement cache)."""
    parallel: int = 4
    """Queries in flight per lookup (alpha); a query that had to be retransmitted no longer counts."""
    parallel_quick: int = 4
    """The same for a read that a few holders' answers will end, while somebody waits."""
    parallel_near: int = 2
    """The same once the peers to be asked are probably holders: any of them can end the read."""
    parallel_quick_far: int = 24
    parallel_near_far: int = 8
    """Both where the mean round trip exceeds `far_s`: there waiting costs more than asking does."""
    far_s: float = 0.02
    paths: int = 1
    """Disjoint paths of a lookup (d of S/Kademlia); no peer is asked on two of them.  A peer that knows fewer than four
    public networks (`FEW_NETWORKS` in `prefixes`) uses one path only."""
    paths_store: int = 2
    """The same for a store."""
    paths_again: int = 4
    """Disjoint paths of the second attempt of a read that has found nothing; 1: there is none."""
    replicas: int = 8
    """Peers that hold each record.  If a quarter of all vanishes at once, 0.25^8 = 0.0015 % of the keys are lost."""
    replicas_brief: int = 5
    """Peers that hold a record of a lifetime below `brief_s`: its owner stores it again before many can vanish."""
    brief_s: float = 120.0
    read_width: int = 5
    """Number of nearest peers that a read asks; where none of them holds a record, twice as many."""
    client: bool = False
    """Client mode: reads and writes, answers nobody, stores nothing for others.  `DhtNode.client` changes it."""
    bundle: bool = True
    """Whether several requests to one peer at one moment travel in one datagram."""

    query_timeout_s: float = 0.75
    """The longest timeout of one datagram; measured round trips shorten it.  Each query is retransmitted once."""
    lookup_timeout_s: float = 10.0
    """A lookup ends after this long with what it has found."""
    route_s: float = 10.0
    """How long the peers found nearest to a key are assumed to be so, which saves a store its lookup."""
    absent_s: float = 1.0
    """How long a key without records is assumed to stay empty."""
    cache_s: float = 60.0
    """How long a copy left by a reader is kept (section 2.3: caching); 0: no copies are left or kept."""
    caches_max: int = 256
    """Number of copies kept for later readers."""

    housekeeping_s: float = 5.0
    """The least time between two rounds of small repairs; each is jittered."""
    idle_s: float = 600.0
    """The most time between two rounds."""
    ping_after_s: float = 1800.0
    """A contact heard of more recently is not pinged when another peer wants its place."""
    stale_after_s: float = 1800.0
    """One of the `replicas` contacts nearest to this peer is pinged after this much silence."""
    refresh_s: float = 7200.0
    """A bucket without a lookup for this long gets a lookup of a random key.  At 10 % of the peers an hour, four of
    five contacts of the bucket are still there then; twice as often doubles the traffic of idle nodes."""
    refresh_width: int = 3
    """Number of nearest peers that must answer such a lookup."""
    refresh_width_sparse: int = 5
    """The same in the farthest buckets, where nearly all lookups begin, while less than half of the bucket's places are
    taken: each peer asked becomes a contact, and this peer becomes a contact of it."""
    republish_s: float = 3600.0
    """A holder republishes a record that outlives this unless another has just done so; 0: never.  At 10 % of the peers
    an hour, 8 holders lose 0.8 in that time."""
    seeds_s: float = 15.0
    """Time before the first ping of silent seeds; each further pause is twice as long: this heals a divided network."""
    seeds_max_s: float = 3600.0
    """The longest such pause where many other contacts are known; with few, `seeds_few_s`."""
    seeds_few_s: float = 30.0
    """With few contacts, a seed that was not heard of for this long counts as silent too."""
    silence_s: float = 5.0
    """First back-off from a peer that did not answer; then doubled."""
    silence_max_s: float = 60.0

    max_lifetime_s: float = 172_800.0
    """The longest lifetime of a record: two days."""
    clock_slack_s: float = 60.0
    """Tolerated difference between the clocks of two peers."""
    records_max: int = 10_000
    record_bytes_max: int = 4 * 1024 * 1024
    """Bytes of all values held for the swarm."""
    records_per_key: int = 2_000
    fair_givers: bool = True
    """Whether the biggest giver loses its last record to a smaller giver where there is no more room."""
    records_per_owner: int = 200
    records_per_owner_and_key: int = 16
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    """By class: room beside `records_max`, `record_bytes_max` and `records_per_owner`, which hold for all others."""
    unknown_classes: bool = True
    """Whether records under keys of no known class are kept too."""
    forward_life_s: float = 90.0
    """Records that expire sooner are not handed to newcomers: their owners will store them again soon."""
    forwards_max: int = 64
    """Records handed to one newcomer, or republished in one step."""
    addresses_max: int = 512
    """Peers whose addresses are remembered beside the routing table."""

    prefix_per_bucket: int = 2
    """Contacts of one network (/24 of IPv4, /48 of IPv6) in a bucket; 0: no limit."""
    prefix_per_table: int = 10
    """The same in the whole routing table; 0: no limit."""
    prefix_per_lookup: int = 3
    """The same among the candidates of one lookup; 0: no limit."""
    local_is_free: bool = True
    """Whether loopback and private addresses are not counted: no distant stranger can send from them."""
    ghosts_max: int = 3
    """Surplus of silent over answering peers among those that one peer named, from which its other contacts are not
    asked in that lookup; 0: no limit."""
    check_replies: bool = True
    """Whether contacts in an answer must come nearest first, with addresses that the answering peer can know of."""
    requests_per_s: float = 200.0
    """Requests of one peer in the long run; 0: no limit."""
    requests_burst: int = 400
    """Requests of one peer at once."""

    def accepted_lifetime_s(self, key: Key) -> float:
        """The longest remaining lifetime at which a record of another peer is accepted under a key, seconds."""
        mark = key[-CLASS_BYTES:]
        own = (quota.lifetime_max_s for name, quota in self.quotas.items() if class_mark(name) == mark)
        return min([self.max_lifetime_s, *own]) + self.clock_slack_s


@dataclass(slots=True)
class ClientMode:
    """A flag that all parts of a node share: whether it cannot be reached may turn out while it runs."""

    client: bool
    """The node cannot be reached: it reads and writes, answers nobody, and stores nothing for others."""
