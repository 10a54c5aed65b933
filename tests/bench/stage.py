"""A simulated collaboration for measurements: keys follow from numbers, so nothing has to be handed out."""

from collections.abc import Callable, Sequence
from typing import Any

from core.backbone.authority import Authority
from core.base.ids import PeerId, hashed_key
from core.base.machine import Machine, Trace
from core.base.signing import KeyPair
from core.base.wire import Message, MessageCodec
from core.net.admission import Admission, HostOwner
from core.net.clock import Clock
from core.net.host import Host
from core.net.identity.passes import pass_request

MANIFEST_ID = hashed_key(b"python -m tests.bench")


def keys(index: int) -> KeyPair:
    """The key of peer number `index`.  No secret at all: for measurements on one computer."""
    return KeyPair(hashed_key(b"python -m tests.bench peer", index.to_bytes(4, "big")))


def peer_id(index: int) -> PeerId:
    """The peer id of number `index`."""
    return keys(index).peer_id


def admission_of(index: int, clock: Clock) -> Admission:
    """A pass of the simulated authority for peer number `index`."""
    authority = Authority(KeyPair(hashed_key(b"python -m tests.bench authority")), MANIFEST_ID)
    own = keys(index)
    certificate = authority.issue(pass_request(own), username=f"peer {index}", device="", now=clock.now())
    return Admission(keys=own, pass_der=certificate, authority_id=authority.id, manifest_id=MANIFEST_ID)


def make_host(
    index: int,
    machine: Machine[Any, Any],
    *,
    messages: Sequence[type[Message]],
    clock: Clock,
    on_event: Callable[[Any, float], None],
) -> Host:
    """A host with a pass, as the real ones, around a machine that is less than a peer."""
    return Host(
        machine,
        admission=admission_of(index, clock),
        codec=MessageCodec(messages),
        clock=clock,
        owner=HostOwner(trace=Trace(), event=on_event),
    )
