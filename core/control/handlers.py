"""From one message of a client to one answer."""

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from core.api.account import AccountWish
from core.api.commands import (
    ERROR_METHOD,
    ERROR_PARAMS,
    ERROR_PARSE,
    ERROR_PROBLEM,
    ERROR_REQUEST,
    METHODS,
    EngineRequest,
)
from core.api.moderation import ModerationWish
from core.api.modes import SWITCHED
from core.api.reports import DAYS_MAX
from core.api.snapshot import ProblemView
from core.base.problems import Problem
from core.control.intents import Intents
from core.control.notices import NoticeRing

ERROR_INTERNAL = -32603

_LOG = logging.getLogger(__name__)

RequestId = int | str | None


class _NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of methods that take none."""


class _SinceParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    since: Annotated[int, Meta(ge=0, le=2**53)] = 0


class _SwitchParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    what: Annotated[str, Meta(pattern=SWITCHED)] = "computing"
    until: Annotated[float, Meta(ge=0, le=2**40)] | None = None


class _GatherParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    gather_s: Annotated[float, Meta(ge=0, le=600)] = 0.0


class _DaysParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    days: Annotated[int, Meta(ge=1, le=DAYS_MAX)] = 14


class Method(NamedTuple):
    """The type of a method's parameters, and what carries it out with them."""

    params: type
    act: Callable[[Any], Any]


class Refusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """A message that is answered with an error.

    Args:
        code: The JSON-RPC code.
        view: The problem and its hint.
        request_id: Id of the request, where it could be read.
    """

    def __init__(self, code: int, view: ProblemView, request_id: RequestId = None) -> None:
        super().__init__(view.message)
        self.code = code
        self.view = view
        self.request_id = request_id


def notification(method: str, params: object) -> str:
    """The text of a message from the engine that wants no answer."""
    return _text({"jsonrpc": "2.0", "method": method, "params": params})


def answer(request_id: RequestId, result: object) -> str:
    """The text of a good answer."""
    return _text({"jsonrpc": "2.0", "id": request_id, "result": result})


def refused(refusal: Refusal) -> str:
    """The text of an error answer."""
    error = {"code": refusal.code, "message": refusal.view.message, "data": refusal.view}
    return _text({"jsonrpc": "2.0", "id": refusal.request_id, "error": error})


def read_request(text: str) -> EngineRequest:
    """The request in a message.

    Raises:
        Refusal: there is none.
    """
    try:
        loose: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refusal(ERROR_PARSE, _view("parse", Problem("The message is not JSON."))) from error
    try:
        return msgspec.convert(loose, EngineRequest)
    except msgspec.ValidationError as error:
        view = _view("request", Problem("The message is not a valid request: {error}.", error))
        raise Refusal(ERROR_REQUEST, view, _id_of(loose)) from error


class Methods:
    """The methods of `core.api.commands.METHODS`, on an engine.

    Args:
        intents: The engine.
        notices: Its notices.
        show: Asks every client to come to the front; returns how many clients there are.
    """

    def __init__(self, intents: Intents, notices: NoticeRing, show: Callable[[], int]) -> None:
        self._table: Mapping[str, Method] = {
            "snapshot": Method(_NoParams, lambda _: intents.snapshot()),
            "pause": Method(_SwitchParams, lambda asked: intents.turn(asked.what, asked.until, on=False)),
            "resume": Method(_SwitchParams, lambda asked: intents.turn(asked.what, asked.until, on=True)),
            "quit": Method(_NoParams, lambda _: intents.quit()),
            "try_now": Method(_NoParams, lambda _: intents.try_now()),
            "update": Method(_NoParams, lambda _: intents.updating.switch()),
            "restart": Method(_NoParams, lambda _: intents.restart()),
            "show": Method(_NoParams, lambda _: {"clients": show()}),
            "notices": Method(_SinceParams, lambda asked: notices.since(asked.since)),
            "evaluate": Method(_NoParams, lambda _: intents.evaluate()),
            "settings": Method(_NoParams, lambda _: intents.settings()),
            "configure": Method(dict, intents.configure),
            "test_port": Method(_NoParams, lambda _: intents.test_port()),
            "history": Method(_DaysParams, lambda asked: intents.reports.history(asked.days)),
            "receipts": Method(_SinceParams, lambda asked: intents.reports.receipts(asked.since)),
            "machine": Method(_NoParams, lambda _: intents.reports.machine()),
            "trust": Method(_NoParams, lambda _: intents.reports.trust()),
            "team": Method(_NoParams, lambda _: intents.reports.team()),
            "moderation": Method(_NoParams, lambda _: intents.moderation.view()),
            "people": Method(_NoParams, lambda _: intents.moderation.people()),
            "audit": Method(_NoParams, lambda _: intents.moderation.audit()),
            "page": Method(_NoParams, lambda _: intents.moderation.page()),
            "copies": Method(_NoParams, lambda _: intents.moderation.copies()),
            "moderate": Method(ModerationWish, intents.moderation.act),
            "account": Method(AccountWish, intents.account.act),
            "experts": Method(_GatherParams, lambda asked: intents.reports.experts(asked.gather_s)),
            "activity": Method(_NoParams, lambda _: intents.reports.activity()),
        }

    async def answered(self, text: str) -> str:
        """The text of the answer, good or bad, to a message that comes alone."""
        try:
            request = read_request(text)
            return answer(request.id, await self.call(request))
        except Refusal as refusal:
            return refused(refusal)

    async def call(self, request: EngineRequest) -> object:
        """Carry out a request.

        Returns:
            A value that JSON can hold.

        Raises:
            Refusal: it cannot be carried out.
        """
        method = self._table.get(request.method)
        if method is None:
            none = Problem(
                "There is no method {name}.", repr(request.method), ", ".join(METHODS), hint="There are: {names}."
            )
            raise Refusal(ERROR_METHOD, _view("method", none), request.id)
        try:
            answered = method.act(msgspec.convert(request.params, method.params))
            return await answered if inspect.isawaitable(answered) else answered
        except msgspec.ValidationError as error:
            raise Refusal(ERROR_PARAMS, _view("params", Problem("{error}.", error)), request.id) from error
        except Problem as problem:
            raise Refusal(ERROR_PROBLEM, ProblemView(*problem.words), request.id) from problem
        except Exception as error:
            _LOG.exception("%s failed", request.method)
            wrong = Problem("Something went wrong inside Potluck.", hint="The log says more.")
            raise Refusal(ERROR_INTERNAL, _view("internal", wrong), request.id) from error


def _view(code: str, problem: Problem) -> ProblemView:
    return ProblemView(code, problem.message, problem.hint, problem.said)


def _id_of(loose: object) -> RequestId:
    """The id of an invalid request, if it has one, so that its sender knows which one was refused."""
    found = loose.get("id") if isinstance(loose, dict) else None
    if isinstance(found, int) or (isinstance(found, str) and len(found) <= 40):
        return found
    return None


def _text(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()
