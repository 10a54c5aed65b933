"""Visitors try the model: one after another, contributors first, and a child that hangs or dies costs one answer."""

import asyncio
import contextlib
import sys
from pathlib import Path

import aiohttp
import psutil
import pytest

from core.site import forms, try_model
from core.site.try_model import EVERY_S, QUEUE_MAX, TEXT_LETTERS_MAX, ModelWords, TryModel, UnansweredError
from tests.process.test_site import until
from tests.process.test_site_server import Running, serve

pytestmark = pytest.mark.process
CHILD = """
import json, os, sys, time
for line in sys.stdin:
    text = json.loads(line)
    print("a library says something", flush=True)
    print("and repeats", text, file=sys.stderr, flush=True)
    if "hang" in text:
        time.sleep(3600)
    if "die" in text:
        os.kill(os.getpid(), 9)
    if "wait" in text:
        time.sleep(0.5)
    print(json.dumps({"event": "progress", "text": "Writing", "fraction": 0.6}), flush=True)
    guess = [{"text": "</td><script>", "probability": 0.5}]
    said = {"event": "filled", "text": f"{text} {os.getpid()}", "blanks": [guess]}
    print(json.dumps(said), flush=True)
"""
COMMAND = (sys.executable, "-c", CHILD)
"""It stands for the child with torch, which takes seconds to start; `tests/process/test_site.py` asks the real one."""


async def ask(
    model: TryModel, text: str, *, home: str = "", file: str = "a", is_contributor: bool = False
) -> ModelWords:
    return await model.ask(text, file, household=home or text, now=0.0, is_contributor=is_contributor)


def children() -> list[psutil.Process]:
    found = []
    for one in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # another test's, which has ended
            found += [one] if CHILD in " ".join(one.cmdline()) else []
    return found


def test_one_child_answers_until_a_newer_copy_is_there(tmp_path: Path) -> None:
    async def run() -> None:
        model = TryModel(COMMAND, tmp_path)
        first = [(await ask(model, f"text {number}")).text.split()[-1] for number in range(3)]
        (child,) = children()
        assert set(first) == {str(child.pid)}
        assert not any("text" in word for word in child.cmdline() if word != CHILD)
        later = await ask(model, "text", file="b")
        assert later.text.split()[-1] != first[0]
        await model.close()
        assert not children()

    asyncio.run(run())


def test_child_ends_when_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(try_model, "IDLE_S", 0.2)

    async def run() -> None:
        model = TryModel(COMMAND, tmp_path)
        await ask(model, "text")
        await until(lambda: not children())
        assert (await ask(model, "more")).event == "filled"
        await model.close()

    asyncio.run(run())


@pytest.mark.parametrize("text", ["hang", "die"])
def test_hung_or_killed_child_costs_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(try_model, "ANSWER_S", 1.0)
    monkeypatch.setattr(try_model, "LOAD_S", 5.0)

    async def run() -> None:
        model = TryModel(COMMAND, tmp_path)
        for before in ((), ("text",)):
            for one in before:
                await ask(model, one)
            asked = [asyncio.create_task(ask(model, f"{word} {len(before)}")) for word in (text, "after")]
            async with asyncio.timeout(60):
                with pytest.raises(UnansweredError, match="gave no answer"):
                    await asked[0]
            assert (await asked[1]).event == "filled"
        await model.close()

    asyncio.run(run())


def test_queue_is_short_and_contributors_come_first(tmp_path: Path) -> None:
    order: list[str] = []

    async def run() -> None:
        model = TryModel(COMMAND, tmp_path)

        async def noted(text: str, *, is_contributor: bool) -> None:
            await ask(model, text, is_contributor=is_contributor)
            order.append(text)

        running = asyncio.create_task(noted("wait", is_contributor=False))
        await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(noted(f"stranger {n}", is_contributor=False)) for n in range(QUEUE_MAX)]
        await asyncio.sleep(0.01)
        with pytest.raises(UnansweredError, match="Many"):
            await ask(model, "one too many")
        first = asyncio.create_task(noted("contributor", is_contributor=True))
        ended = await asyncio.gather(running, first, *waiting, return_exceptions=True)
        assert [type(one) for one in ended] == [type(None)] * (1 + QUEUE_MAX) + [UnansweredError]
        assert order == ["wait", "contributor", *(f"stranger {n}" for n in range(QUEUE_MAX - 1))]
        await model.close()

    asyncio.run(run())


def test_household_asks_once_in_some_seconds(tmp_path: Path) -> None:
    async def run() -> None:
        model = TryModel(COMMAND, tmp_path)
        await model.ask("text", "a", household="home", now=0.0)
        with pytest.raises(UnansweredError, match="One text"):
            await model.ask("text", "a", household="home", now=EVERY_S - 0.1)
        await model.ask("text", "a", household="other", now=EVERY_S - 0.1)
        await model.ask("text", "a", household="home", now=EVERY_S + 0.1)
        for nothing in ("", "  \n", "x" * (TEXT_LETTERS_MAX + 1)):
            with pytest.raises(UnansweredError, match="Write"):
                await model.ask(nothing, "a", household="third", now=0.0)
        await model.close()

    asyncio.run(run())


def test_visitor_asks_and_reads_escaped_words(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        async with here.client.post(here.url("/try"), data={"text": "<b>my words</b>"}) as answer:
            text = await answer.text()
            assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")
            assert "&lt;b&gt;my words&lt;/b&gt;" in text
            assert "&lt;/td&gt;&lt;script&gt;" in text
            assert "50.0" in text
        async with here.client.post(here.url("/try"), data={"text": "again"}) as answer:
            assert (answer.status, "One text in 5 seconds." in await answer.text()) == (429, True)
        proxied = {"X-Forwarded-For": "198.51.100.7"}
        async with here.client.post(here.url("/try"), data={"text": "from another home"}, headers=proxied) as answer:
            assert answer.status == 200
        async with here.client.get(here.url("/try")) as answer:
            assert "Ask the model" in await answer.text()

    serve(test, tmp_path, command=COMMAND)


def test_form_of_others_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "BODY_S", 0.5)

    async def slowly() -> None:
        _, writer = opened = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /try HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
        writer.write(b"Content-Type: application/x-www-form-urlencoded\r\n\r\ntext")
        assert b" 408 " in await opened[0].readline()
        writer.close()

    async def test(here: Running) -> None:
        nonlocal port
        port = here.port
        large, odd = {"text": "x" * forms.BODY_BYTES_MAX}, "&".join(f"f{n}=" for n in range(99))
        kind = {"Content-Type": forms.FORM}
        refused = [
            ({"data": {"text": "x"}, "headers": {"Origin": "https://evil.example"}}, 403),
            ({"data": {"text": "x"}, "headers": {"Origin": "null"}}, 403),
            ({"data": {"text": "x"}, "headers": {"Sec-Fetch-Site": "cross-site"}}, 403),
            ({"json": {"text": "x"}}, 415),
            ({"data": large}, 413),
            ({"data": odd, "headers": kind}, 400),
            ({"data": b"text=%ff", "headers": kind}, 400),
            ({"data": b"text=\xff", "headers": kind}, 400),
        ]
        for said, status in refused:
            with contextlib.suppress(aiohttp.ClientOSError):  # it writes on while it is refused
                async with here.client.post(here.url("/try"), **said) as answer:
                    assert answer.status == status, said
        await slowly()
        own = {"Origin": f"http://127.0.0.1:{here.port}"}
        async with here.client.post(here.url("/try"), data={"text": "x"}, headers=own) as answer:
            assert answer.status == 200

    port = 0
    serve(test, tmp_path, command=COMMAND)


def test_page_without_torch_asks_nobody(tmp_path: Path) -> None:
    async def test(here: Running) -> None:
        async with here.client.post(here.url("/try"), data={"text": "x"}) as answer:
            assert answer.status == 404
        async with here.client.get(here.url("/try")) as answer:
            text = await answer.text()
            assert "<form" not in text
            assert "where torch is installed" in text

    serve(test, tmp_path)


def test_text_is_neither_logged_nor_in_the_list_of_processes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    async def test(here: Running) -> None:
        asked = asyncio.create_task(here.client.post(here.url("/try"), data={"text": "wait secret words"}))
        while not asked.done():
            seen.extend(word for one in children() for word in one.cmdline())
            await asyncio.sleep(0.05)
        (await asked).close()
        proxied = {"X-Forwarded-For": "198.51.100.7"}
        async with here.client.post(here.url("/try"), data={"text": "die secret words"}, headers=proxied) as answer:
            assert "gave no answer" in await answer.text()

    serve(test, tmp_path, command=COMMAND)
    assert seen
    assert "secret" not in " ".join(seen) + caplog.text + "".join(capfd.readouterr())
