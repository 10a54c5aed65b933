"""From one message of a client to one answer."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from core.api.commands import (
    ERROR_METHOD,
    ERROR_PARAMS,
    ERROR_PARSE,
    ERROR_PROBLEM,
    ERROR_REQUEST,
    METHODS,
    EngineRequest,
)
from core.api.modes import UseSubject
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
    what: UseSubject = "computing"
    until: Annotated[float, Meta(ge=0, le=2**40)] | None = None


class Refusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """A message that is answered with an error.

    Args:
        code: The JSON-RPC code.
        view: The problem and its hint.
        request_id: Of the request, where it could be read.
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
        raise Refusal(ERROR_PARSE, ProblemView("parse", "The message is not JSON.")) from error
    try:
        return msgspec.convert(loose, EngineRequest)
    except msgspec.ValidationError as error:
        view = ProblemView("request", f"The message is no request: {error}.")
        raise Refusal(ERROR_REQUEST, view, _id_of(loose)) from error


class Methods:
    """The methods of `core.api.commands.METHODS`, on an engine.

    Args:
        intents: The engine.
        notices: Its notices.
        show: Asks every client to come to the front; returns how many clients there are.
    """

    def __init__(self, intents: Intents, notices: NoticeRing, show: Callable[[], int]) -> None:
        self._intents = intents
        self._notices = notices
        self._show = show
        self._table: Mapping[str, Callable[[dict[str, Any]], Awaitable[object]]] = {
            name: getattr(self, f"_do_{name}") for name in METHODS
        }

    async def call(self, request: EngineRequest) -> object:
        """Carry out a request.

        Returns:
            A value that JSON can hold.

        Raises:
            Refusal: it cannot be carried out.
        """
        method = self._table.get(request.method)
        if method is None:
            hint = f"There are: {', '.join(METHODS)}."
            view = ProblemView("method", f"There is no method {request.method!r}.", hint)
            raise Refusal(ERROR_METHOD, view, request.id)
        try:
            return await method(request.params)
        except msgspec.ValidationError as error:
            raise Refusal(ERROR_PARAMS, ProblemView("params", f"{error}."), request.id) from error
        except Problem as problem:
            view = ProblemView(problem.code, problem.message, problem.hint)
            raise Refusal(ERROR_PROBLEM, view, request.id) from problem
        except Exception as error:
            _LOG.exception("%s failed", request.method)
            view = ProblemView("internal", "Something went wrong inside Potluck.", "The log says more.")
            raise Refusal(ERROR_INTERNAL, view, request.id) from error

    async def _do_snapshot(self, params: dict[str, Any]) -> object:
        msgspec.convert(params, _NoParams)
        return self._intents.snapshot()

    async def _do_pause(self, params: dict[str, Any]) -> None:
        switched = msgspec.convert(params, _SwitchParams)
        await self._intents.pause(switched.what, switched.until)

    async def _do_resume(self, params: dict[str, Any]) -> None:
        switched = msgspec.convert(params, _SwitchParams)
        await self._intents.resume(switched.what, switched.until)

    async def _do_quit(self, params: dict[str, Any]) -> None:
        msgspec.convert(params, _NoParams)
        await self._intents.quit()

    async def _do_restart(self, params: dict[str, Any]) -> None:
        msgspec.convert(params, _NoParams)
        await self._intents.restart()

    async def _do_evaluate(self, params: dict[str, Any]) -> object:
        msgspec.convert(params, _NoParams)
        return await self._intents.evaluate()

    async def _do_settings(self, params: dict[str, Any]) -> object:
        msgspec.convert(params, _NoParams)
        return self._intents.settings()

    async def _do_configure(self, params: dict[str, Any]) -> object:
        return self._intents.configure(params)

    async def _do_test_port(self, params: dict[str, Any]) -> object:
        msgspec.convert(params, _NoParams)
        return await self._intents.test_port()

    async def _do_show(self, params: dict[str, Any]) -> object:
        msgspec.convert(params, _NoParams)
        return {"clients": self._show()}

    async def _do_notices(self, params: dict[str, Any]) -> object:
        return self._notices.since(msgspec.convert(params, _SinceParams).since)


def _id_of(loose: object) -> RequestId:
    """The id of an invalid request, if it has one, so that its sender knows which one was refused."""
    found = loose.get("id") if isinstance(loose, dict) else None
    if isinstance(found, int) or (isinstance(found, str) and len(found) <= 40):
        return found
    return None


def _text(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()
