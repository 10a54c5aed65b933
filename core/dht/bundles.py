"""Several requests, or answers, to one peer in one datagram: one signature and one envelope instead of many."""

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec.structs import replace

from core.base.ids import PeerId
from core.base.machine import Send
from core.dht.events import Output
from core.dht.messages import (
    BUNDLE_HEADER_BYTES,
    BUNDLE_MAX,
    MESSAGE_BYTES_MAX,
    PAD,
    Answer,
    AnyAnswer,
    AnyRequest,
    Bundled,
    Fetch,
    Find,
    Get,
    Ping,
    Request,
    RequestBundle,
    encoded_bytes,
)

_ROOM_BYTES = MESSAGE_BYTES_MAX - BUNDLE_HEADER_BYTES
PAD_LEAST = 64
"""Padding that a padded request keeps in a bundle, bytes, so that there is room for a record in its answer."""
_PAD_HEADER_BYTES = 2


def bundle_requests(outputs: list[Output], *, client: bool) -> list[Output]:
    """Put requests to the same peer together where they fit; the order of peers stays.

    Args:
        outputs: Outputs of a node.
        client: Whether this peer is in client mode.
    """
    waiting: dict[PeerId, list[Request]] = {}
    count = 0
    for output in outputs:
        if isinstance(output, Send) and isinstance(output.message, Request):
            waiting.setdefault(output.to, []).append(output.message)
            count += 1
    if count == len(waiting):
        return outputs
    bundled: list[Output] = []
    for output in outputs:
        if isinstance(output, Send) and isinstance(output.message, Request):
            bundled += [Send(output.to, request) for request in _packed(waiting.pop(output.to, ()), client)]
        else:
            bundled.append(output)
    return bundled


def bundle_answers(answers: Iterable[Answer]) -> list[Answer]:
    """Put the answers to one bundle into as few datagrams as hold them."""
    packed: list[Answer] = []
    filling: list[Answer] = []
    used = 0
    for answer in answers:
        size = encoded_bytes(answer)
        if filling and (used + size > _ROOM_BYTES or len(filling) == BUNDLE_MAX):
            packed.append(_one_or_bundled(filling))
            filling, used = [], 0
        filling.append(answer)
        used += size
    if filling:
        packed.append(_one_or_bundled(filling))
    return packed


def append_ping(outputs: list[Output], question: list[Output]) -> list[Output]:
    """Add a ping to the last of the answers to the same peer, if it fits into the datagram.

    Args:
        outputs: Answers to one peer.
        question: A ping, or nothing.
    """
    match outputs, question:
        case [*before, Send(to=to, message=Answer() as answer)], [Send(to=other, message=Ping(query=query))]:
            if to == other and encoded_bytes(answer) + BUNDLE_HEADER_BYTES <= MESSAGE_BYTES_MAX:
                inside = answer.answers if isinstance(answer, Bundled) else (cast("AnyAnswer", answer),)
                return [*before, Send(to, Bundled(0, inside, query))]
        case _:
            pass
    return outputs + question


def _packed(requests: Sequence[Request], client: bool) -> list[Request]:  # noqa: FBT001 - goes into a message
    if len(requests) < 2:
        return list(requests)
    packed: list[Request] = []
    filling: list[Request] = []
    used = 0
    for request in requests:
        bare = _padded(request, 0)
        size = encoded_bytes(bare)
        wanted = size if bare is request else size + PAD_LEAST
        if filling and (used + wanted > _ROOM_BYTES or len(filling) == BUNDLE_MAX):
            packed.append(_one_or_bundle(filling, client))
            filling, used = [], 0
        filling.append(request)
        used += wanted
    if filling:
        packed.append(_one_or_bundle(filling, client))
    return packed


def _one_or_bundle(requests: Sequence[Request], client: bool) -> Request:  # noqa: FBT001 - goes into a message
    """Put requests into one message; the room that they leave is shared out as padding."""
    if len(requests) == 1:
        return requests[0]
    bare = [_padded(request, 0) for request in requests]
    padded = sum(one is not request for one, request in zip(bare, requests, strict=True))
    free = _ROOM_BYTES - sum(encoded_bytes(request) for request in bare)
    pad = min(max(free // padded - _PAD_HEADER_BYTES, 0), len(PAD)) if padded else 0
    return RequestBundle(0, client, tuple(cast("AnyRequest", _padded(request, pad)) for request in requests))


def _padded(request: Request, pad_bytes: int) -> Request:
    """Shorten a request's padding to the given bound; requests without padding stay unchanged."""
    if isinstance(request, Find | Get | Fetch) and len(request.pad) > pad_bytes:
        return replace(request, pad=request.pad[:pad_bytes])
    return request


def _one_or_bundled(answers: Sequence[Answer]) -> Answer:
    return answers[0] if len(answers) == 1 else Bundled(0, tuple(cast("AnyAnswer", answer) for answer in answers))
