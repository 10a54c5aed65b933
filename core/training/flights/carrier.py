"""Carries the calls of flights through the engine to the hosts of experts (`CallCarrier`)."""

# ruff: noqa: N806 - names of arrays end in their shapes

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import torch

from core.base.mixture import ExpertNumbers
from core.codecs.registry import codec_of
from core.training.flights.calls import AskExpert, CallNews, ExpertAnswered, ExpertLapsed, PlacesSought, SeekPlaces
from core.workers import flight_frames as frames

OUTCOMES: Final = 100
SPARE_FROM: Final = 0.02
"""Share of the last `OUTCOMES` calls that lapsed from which on more experts are asked than are needed."""


class EngineCarrier:
    """Turns calls into frames for the engine, and its frames into answers.

    Args:
        numbers: The mixture's.
        say: Sends a frame to the engine.
    """

    def __init__(self, numbers: ExpertNumbers, say: Callable[[frames.FlightWish], None]) -> None:
        self._numbers = numbers
        self._say = say
        self._codec = codec_of(numbers.codec)
        self._calls: dict[int, AskExpert] = {}
        self._of_flight: defaultdict[int, set[int]] = defaultdict(set)
        """Open calls of each flight."""
        self._sought: dict[int, int] = {}
        """Number of rows of each flight that seeks experts."""
        self._news: list[CallNews] = []
        self._lapsed: deque[bool] = deque(maxlen=OUTCOMES)
        """Which of the last calls nobody has answered."""

    def seek(self, seek: SeekPlaces) -> None:
        """Ask for the best living experts, with some to spare where many do not answer."""
        scores_RG = seek.scores_RG.detach().cpu().contiguous().numpy()
        self._sought[seek.flight] = len(scores_RG)
        many_lapse = sum(self._lapsed) > SPARE_FROM * OUTCOMES
        count = self._numbers.top + (self._numbers.spare if many_lapse else 0)
        self._say(
            frames.FlightSeeks(
                flight=seek.flight, layer=seek.layer, rows=len(scores_RG), count=count, scores=scores_RG.tobytes()
            )
        )

    def ask(self, ask: AskExpert) -> None:
        """Have the engine ask a host."""
        self._calls[ask.call] = ask
        self._of_flight[ask.flight].add(ask.call)
        parts = [ask.x_rW] if ask.gradient_rW is None else [ask.x_rW, ask.gradient_rW]
        payload = b"".join(self._codec.encode(part.detach().cpu().contiguous().view(-1).numpy()) for part in parts)
        self._say(
            frames.FlightAsks(
                call=ask.call,
                layer=ask.layer,
                place=ask.place,
                kind=ask.kind,
                rows=len(ask.x_rW),
                seen=ask.seen,
                payload=payload,
            )
        )

    def forget(self, flight: int) -> None:
        """The engine need not wait for answers any more."""
        self._sought.pop(flight, None)
        calls = self._of_flight.pop(flight, set())
        for call in calls:
            del self._calls[call]
        if calls:
            self._say(frames.FlightForgets(calls=tuple(sorted(calls))))

    def blame(self, call: int) -> None:
        """Have the engine ask that host less often."""
        self._say(frames.FlightBlames(call=call))

    def heard(self) -> Iterable[CallNews]:
        """What the engine has told since the last time."""
        news, self._news = self._news, []
        return news

    def take(self, frame: frames.FlightNews) -> None:
        """The engine has told something; what nobody waits for any more is dropped."""
        match frame:
            case frames.FlightSought(flight=flight, places=places) if flight in self._sought:
                places_RK = np.frombuffer(places, np.int32).reshape(self._sought.pop(flight), -1)
                self._news.append(PlacesSought(flight, torch.from_numpy(places_RK.astype(np.int64))))
            case frames.FlightAnswered(call=call) if call in self._calls:
                self._news.append(self._answer(self._end(call), frame))
            case frames.FlightLapsed(call=call) if call in self._calls:
                self._end(call, lapsed=True)
                self._news.append(ExpertLapsed(call))

    def _end(self, call: int, *, lapsed: bool = False) -> AskExpert:
        ask = self._calls.pop(call)
        self._lapsed.append(lapsed)
        self._of_flight[ask.flight].discard(call)
        return ask

    def _answer(self, ask: AskExpert, frame: frames.FlightAnswered) -> CallNews:
        """The numbers of an answer; those that are not finite are none, and their host is blamed."""
        found = np.empty(ask.x_rW.numel(), np.float32)
        self._codec.decode_into(memoryview(frame.payload), found)
        if not np.isfinite(found).all():
            self.blame(ask.call)
            return ExpertLapsed(ask.call)
        return ExpertAnswered(ask.call, torch.from_numpy(found).view(ask.x_rW.shape).to(ask.x_rW.device), frame.version)
