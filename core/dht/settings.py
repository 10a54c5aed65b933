"""The numbers of the DHT.  One set per collaboration; the defaults suit 3 to ten thousand peers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DhtSettings:
    """Widths, patience and limits.  The paper's names are given where it has one."""

    bucket_size: int = 40
    """Contacts per bucket (k)."""
    replacements_per_bucket: int = 8
    """Contacts that wait for a place in a full bucket (the replacement cache)."""
    parallel: int = 4
    """Queries in flight per lookup (alpha); a query that had to be repeated no longer counts."""
    parallel_quick: int = 4
    """The same for a read that a few holders' answers will end: it is somebody's waiting that counts there."""
    parallel_near: int = 2
    """The same once those to be asked are probably holders: any of them can end it."""
    parallel_quick_far: int = 24
    parallel_near_far: int = 8
    """Both where contacts are farther than `far_s` in the mean: there waiting costs more than asking does."""
    far_s: float = 0.02
    paths: int = 1
    """Disjoint ways on which a lookup goes at once (d of S/Kademlia); no peer is asked on two of them.  Who knows
    peers of fewer than four public networks (`FEW_NETWORKS` in `routing`) goes one way only."""
    paths_store: int = 2
    """The same for a store."""
    paths_again: int = 4
    """A read that has found nothing goes once more, on so many disjoint ways; 1: it does not."""
    replicas: int = 8
    """Peers that hold each record.  If a quarter of all vanishes at once, 0.25^8 = 0.0015 % of the keys are lost."""
    replicas_brief: int = 5
    """Peers that hold a record of a lifetime below `brief_s`: its owner stores it again before many can vanish."""
    brief_s: float = 120.0
    read_width: int = 5
    """A reader asks so many of the nearest; where none of them holds anything, twice as many."""
    client: bool = False
    """Cannot be reached: reads and writes, answers nobody, stores nothing for others.  `DhtNode.client` changes it."""
    bundle: bool = True
    """Several requests to one peer at one moment travel in one datagram."""

    query_timeout_s: float = 0.75
    """The longest patience with one datagram; measured round trips shorten it.  Each query is repeated once."""
    lookup_timeout_s: float = 10.0
    """A lookup ends after this long with what it has found."""
    route_s: float = 10.0
    """How long the peers found nearest to a key are believed to be so, which saves a store its lookup."""
    absent_s: float = 1.0
    """How long a key that was read in vain is believed to be empty."""
    cache_s: float = 60.0
    """How long a copy is kept that a reader left on its way (section 2.3: caching); 0: none is left or kept."""
    caches_max: int = 256
    """Copies kept for readers."""

    housekeeping_s: float = 5.0
    """The least time between two rounds of small repairs; each is jittered."""
    idle_s: float = 600.0
    """The most time between two rounds."""
    ping_after_s: float = 1800.0
    """A contact heard of more recently is not asked whether it is still there when somebody wants its place."""
    stale_after_s: float = 1800.0
    """One of the `replicas` contacts nearest to us that was not heard of for this long is pinged."""
    refresh_s: float = 7200.0
    """A bucket in which nothing was looked up for this long gets a lookup of a random key.  At 10 % of the peers an
    hour, four of five contacts of the bucket are still there then; twice as often doubles the traffic of idle nodes."""
    refresh_width: int = 3
    """How many of the nearest must answer such a lookup."""
    refresh_width_sparse: int = 5
    """The same in the farthest buckets, where nearly all lookups begin, while less than half of the bucket's places are
    taken: whoever is asked becomes a contact, and so do we to them."""
    republish_s: float = 3600.0
    """A holder stores a record that outlives this at its nearest peers again unless another has just done so; 0:
    never.  At 10 % of the peers an hour, 8 holders lose 0.8 in that time."""
    seeds_s: float = 15.0
    """Before the first attempt to reach seeds that are silent; each further rest is twice as long: this heals a
    divided network."""
    seeds_max_s: float = 3600.0
    """No rest is longer where many other contacts are known; with few, `seeds_few_s`."""
    seeds_few_s: float = 30.0
    """With few contacts, a seed that was not heard of for this long counts as silent too."""
    silence_s: float = 5.0
    """A peer that did not answer is left alone this long, then twice as long, and so on."""
    silence_max_s: float = 60.0

    max_lifetime_s: float = 172_800.0
    """A record that wants to live longer is refused: two days."""
    clock_slack_s: float = 60.0
    """Clocks of two peers may differ by this much."""
    clock_warn_s: float = 30.0
    """If our clock differs by more from the others' median, the owner is told."""
    clock_peers: int = 5
    """Peers whose clocks are asked for after joining and with each `clock_s`."""
    clock_s: float = 7200.0
    records_max: int = 10_000
    record_bytes_max: int = 4 * 1024 * 1024
    """Bytes of all values held for the swarm."""
    records_per_key: int = 2_000
    fair_givers: bool = True
    """Where there is no more room, whoever gave most loses what it gave last to who gave less."""
    records_per_owner: int = 200
    records_per_owner_and_key: int = 16
    unknown_classes: bool = True
    """Records under keys of no known class are kept too."""
    forward_life_s: float = 90.0
    """Records that end sooner are not handed on to newcomers: their owners will store them again before long."""
    forwards_max: int = 64
    """Records handed on to one newcomer, or stored again with one step."""
    addresses_max: int = 512
    """Peers whose addresses are remembered beside the routing table."""

    prefix_per_bucket: int = 2
    """Contacts of one network (/24 of IPv4, /48 of IPv6) in a bucket; 0: no limit."""
    prefix_per_table: int = 10
    """In the whole routing table; 0: no limit."""
    prefix_per_lookup: int = 3
    """Among the candidates of one lookup; 0: no limit."""
    local_is_free: bool = True
    """Loopback and private addresses are not counted: no stranger far away can send from them."""
    ghosts_max: int = 3
    """Who has named so many more peers that kept silent than peers that answered is not believed in that lookup; 0:
    everybody is."""
    check_replies: bool = True
    """Contacts in an answer must come nearest first, and with addresses that the answering peer can know of."""
    requests_per_s: float = 200.0
    """Of one peer, in the long run; 0: no limit."""
    requests_burst: int = 400
    """Of one peer at once."""
