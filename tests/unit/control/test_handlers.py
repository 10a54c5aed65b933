"""Whatever a client sends, the answer is JSON-RPC."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.api.commands import METHODS
from core.control.handlers import Methods, Refusal, answer, notification, read_request, refused
from core.control.notices import NoticeRing
from tests.unit.control.conftest import CardboardEngine

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
NEARLY_REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS) | st.text()},
    optional={"id": JSON, "params": JSON, "other": JSON},
).map(json.dumps)


def answered(text: str) -> dict:
    engine = CardboardEngine()
    methods = Methods(engine, NoticeRing(lambda: 1.0), lambda: 0)
    try:
        request = read_request(text)
        return json.loads(answer(request.id, asyncio.run(methods.call(request))))
    except Refusal as refusal:
        return json.loads(refused(refusal))


@settings(max_examples=200, deadline=None)
@given(st.text() | JSON.map(json.dumps) | NEARLY_REQUESTS)
def test_any_text_gets_an_answer(text):
    told = answered(text)
    assert told["jsonrpc"] == "2.0"
    assert ("result" in told) != ("error" in told)
    if "error" in told:
        assert told["error"]["code"] in {-32700, -32600, -32601, -32602}


@pytest.mark.parametrize("text", ["1e999", "[1e999]", '{"id": 1, "x": 1e999}', "-1e999", "1" * 5000])
def test_number_beyond_all_bounds_is_an_error(text):
    assert answered(text)["error"]["code"] in {-32700, -32600}


@pytest.mark.parametrize("what", ["mps:0", "mps", "cpu", "cuda:100", "cuda:1,cuda:2", ""])
def test_what_has_no_switch_is_refused(what):
    params = {"what": what}
    assert (
        answered(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "pause", "params": params}))["error"]["code"]
        == -32602
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_an_answer(method):
    params = {"act": "close"} if method == "moderate" else {}
    assert "result" in answered(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


def test_a_notification_has_no_id():
    assert json.loads(notification("show", {})) == {"jsonrpc": "2.0", "method": "show", "params": {}}
