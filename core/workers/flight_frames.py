"""Frames between engine and trainer's worker about experts: what its flights ask for, and what others answered.

Rows go with their frames, encoded as they are on the wire: a call is at most as large as a message of the swarm.
"""

from typing import Annotated

from msgspec import Meta

from core.base.work import Frame
from core.experts.messages import Layer, Rows, Version
from core.experts.queue import CallKind

FlightNumber = Annotated[int, Meta(ge=0)]
"""Names a flight, or one of its calls; those of one worker are all different."""


class FlightSeeks(Frame, frozen=True, kw_only=True, tag="flight_seeks"):
    """Which living experts suit these rows best?  Answer FlightSought."""

    flight: FlightNumber
    layer: Layer
    rows: Rows
    count: Annotated[int, Meta(ge=1, le=16)]
    """Number of experts for each row."""
    scores: bytes
    """The gate's: float32, `rows` times as many as the grid has coordinates in all its dimensions."""


class FlightAsks(Frame, frozen=True, kw_only=True, tag="flight_asks"):
    """Have an expert compute these rows.  Answer FlightAnswered or FlightLapsed."""

    call: FlightNumber
    layer: Layer
    place: Annotated[int, Meta(ge=0)]
    """Its number in the layer's grid."""
    kind: CallKind
    rows: Rows
    seen: Version
    payload: bytes


class FlightForgets(Frame, frozen=True, kw_only=True, tag="flight_forgets"):
    """Nobody waits for the answers of these calls any more."""

    calls: tuple[FlightNumber, ...]


class FlightBlames(Frame, frozen=True, kw_only=True, tag="flight_blames"):
    """What was answered to a call cannot be used."""

    call: FlightNumber


class FlightsUnmeasured(Frame, frozen=True, kw_only=True, tag="flights_unmeasured"):
    """The model was not measured, since experts that it takes do not answer.  Answers Evaluate."""


class FlightSought(Frame, frozen=True, kw_only=True, tag="flight_sought"):
    """The best experts for each row of a flight."""

    flight: FlightNumber
    places: bytes
    """Numbers of places, int32, `rows` times `count`, the best of each row first; -1: there are no more."""


class FlightAnswered(Frame, frozen=True, kw_only=True, tag="flight_answered"):
    """An expert has answered one of the calls."""

    call: FlightNumber
    version: Version
    payload: bytes


class FlightLapsed(Frame, frozen=True, kw_only=True, tag="flight_lapsed"):
    """Nobody will answer a call."""

    call: FlightNumber


FlightWish = FlightSeeks | FlightAsks | FlightForgets | FlightBlames
"""What a worker says."""
FlightNews = FlightSought | FlightAnswered | FlightLapsed
"""What a worker hears."""
