"""A newcomer at a real welcome desk, over real TLS."""

import asyncio
import dataclasses
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import msgspec
import pytest

from core.backbone import charter as charters
from core.backbone.admission_log import AdmissionLog
from core.backbone.authority import Authority
from core.backbone.desk_messages import KnownPeer, PassRequest
from core.backbone.invitations import new_invitation, write_invitations
from core.backbone.link import Link, parse_link
from core.backbone.signed_time import SignedTime
from core.backbone.welcome import ADMITTED_BURST, WelcomeDesk
from core.base.machine import Trace
from core.base.manifest import AveragingNumbers, Manifest, sign_manifest
from core.base.problems import BadInput, NotTrusted, RemoteProblem
from core.base.signing import KeyPair
from core.base.wire import PROTOCOL
from core.joining.join import Joining
from core.net.identity.issuers import Issuers
from core.net.identity.passes import PassRole, pass_request, verify_pass
from core.net.identity.tls import server_context
from core.net.listening import ANY
from tests.process.test_net_ipv6 import ABSENCE

pytestmark = pytest.mark.process
NOW = 1_800_000_000.0


def found(folder: Path) -> charters.Charter:
    authority = charters.new_authority()
    source = folder / "source.txt"
    source.write_bytes(b"a blob" * 1000)
    blobs = charters.keep_blobs(folder / "charter", {"text": source})
    manifest = Manifest(name="n", organiser="o", task="albert", blobs=blobs, authority=authority.peer_id.hex())
    return charters.found(folder / "charter", manifest, authority, new_invitation())


@asynccontextmanager
async def desk(
    charter: charters.Charter,
    trace: Trace,
    *,
    bind: str = "127.0.0.1",
    at: str = "127.0.0.1",
    shows: Callable[[KeyPair, Authority], bytes] = lambda key, authority: backbone_pass(key, authority, NOW),
    site: str = "",
) -> AsyncIterator[Link]:
    """A welcome desk, which shows this certificate, and names this page for signing in."""
    key = KeyPair.generate()
    authority = Authority(charter.authority, charter.manifest.id, charter.manifest.authority_id)
    own = shows(key, authority)
    welcome = WelcomeDesk(
        charter=charter,
        authority=authority,
        admission_log=AdmissionLog(charter.folder),
        contacts=lambda: [KnownPeer(key.peer_id, "127.0.0.1", 7)],
        now=lambda: NOW,
        trace=trace,
    )
    welcome.tickets.site = welcome.tickets.page = site
    port = await welcome.open(bind, server_context(key=key, pass_der=own))
    try:
        yield Link(at, port, charter.manifest.id, charter.invite)
    finally:
        await welcome.close()


def backbone_pass(key: KeyPair, authority: Authority, now: float) -> bytes:
    return authority.issue(pass_request(key), username="Backbone", device="", now=now, role=PassRole.BACKBONE)


def joining(link: Link, folder: Path, key: KeyPair, **more: Callable[..., Any]) -> Joining:
    return Joining(link=link, key=key, folder=folder / "state", blobs=folder / "blobs", **more)


OFF_LINE = """
import asyncio, sys
from pathlib import Path
from random import Random
from core.api.verdict import sentence
from core.joining.join import Joining
from core.backbone.link import parse_link
from core.base.signing import KeyPair

class Enough(Exception):
    pass

async def rest(seconds):
    raise Enough

told, folder = [], Path(sys.argv[1])
for link in sys.argv[2:]:
    joining = Joining(link=parse_link(link), key=KeyPair.generate(), folder=folder, blobs=folder)
    joining.rest = rest
    try:
        asyncio.run(joining.join(username="a", device="", now=lambda: 0.0, random=Random(1), waiting=told.append))
    except Enough:
        pass
print(*map(sentence, told), sep="\\n")
"""


def test_computer_without_network_does_not_blame_the_organisers(tmp_path: Path) -> None:
    apart = ["unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("needs the right to make a network namespace")
    links = [f"potluck://{host}:4000/{'ab' * 32}#invitation" for host in ("10.1.2.3", "pot.example")]
    words = [sys.executable, "-c", OFF_LINE, str(tmp_path), *links]
    said = subprocess.run([*apart, *words], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    cause = "does not answer: this computer has no network."
    assert said == [f"The computer at {host}:4000 {cause}" for host in ("10.1.2.3", "pot.example")]
    if shutil.which("ip"):  # with a line, but without the server that knows names
        line = "ip link add near type veth peer name far; ip address add 10.9.0.1/24 dev near"
        script = f'{line}; ip link set far up; ip link set near up; sleep 1.5; exec "$@"'
        words = [*apart, "sh", "-c", script, "sh", *words[:-2], links[1]]
        said = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        assert said == ["The computer at pot.example:4000 does not answer."]


@pytest.mark.skipif(ABSENCE is not None, reason=str(ABSENCE))
@pytest.mark.parametrize("at", ["127.0.0.1", "::1"])
def test_the_desk_of_all_addresses_is_found_at_both_families(tmp_path: Path, at: str) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace(), bind=ANY, at=at) as link:
            joined = joining(parse_link(str(link)), tmp_path, KeyPair.generate())
            got = await joined.try_once(username="Ada", device="lap", now=lambda: NOW)
        assert got.manifest == charter.manifest

    asyncio.run(run())


def test_a_newcomer_gets_manifest_blobs_and_a_pass(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            got = await joining(link, tmp_path, key).try_once(username="Ada", device="lap", now=lambda: NOW - 5)
        assert got.manifest == charter.manifest
        assert got.clock_ahead_s == 5
        assert [contact.port for contact in got.grant.contacts] == [7]
        (name,) = charter.manifest.blobs.values()
        assert (got.blobs / name).read_bytes() == b"a blob" * 1000
        found_pass = verify_pass(got.grant.certificate, Issuers(charter.authority.peer_id, charter.manifest.id), NOW)
        assert (found_pass.peer, found_pass.username, found_pass.device) == (key.peer_id, "Ada", "lap")

    asyncio.run(run())


def test_a_wrong_invitation_is_refused_in_words(tmp_path: Path) -> None:
    charter, trace = found(tmp_path), Trace()

    async def run() -> None:
        async with desk(charter, trace) as link:
            wrong = Link(link.host, link.port, link.manifest_id, "guess")
            with pytest.raises(NotTrusted, match="invitation is not valid"):
                await joining(wrong, tmp_path, KeyPair.generate()).try_once(username="Eve", device="", now=lambda: NOW)

    asyncio.run(run())
    assert trace["welcome.refused"] == 2  # of holding a place, and of the pass


IMPOSTORS: dict[str, Callable[[KeyPair, Authority], bytes]] = {
    "member": lambda key, authority: authority.issue(pass_request(key), username="Backbone", device="", now=NOW),
    "backbone three years ago": lambda key, authority: backbone_pass(key, authority, NOW - 3 * 365 * 86400),
    "backbone to come": lambda key, authority: backbone_pass(key, authority, NOW + 3600),
    "another collaboration": lambda key, authority: backbone_pass(key, Authority(authority._keys, b"x" * 32), NOW),
    "self-made": lambda key, _: backbone_pass(key, Authority(key, b"x" * 32), NOW),
}


@pytest.mark.parametrize("ahead_s", [0.0, 600.0, -86400.0, -3 * 365 * 86400.0, 2 * 365 * 86400.0])
@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_invitation_is_given_to_backbones_only(tmp_path: Path, impostor: str, ahead_s: float) -> None:
    """The impostor passes all questions that need no invitation on to the backbone."""
    charter, trace = found(tmp_path), Trace()

    async def run() -> None:
        async with desk(charter, trace, shows=IMPOSTORS[impostor]) as link:
            with pytest.raises(NotTrusted, match="cannot prove that it is"):
                await joining(link, tmp_path, KeyPair.generate()).join(
                    username="Ada", device="", now=lambda: NOW + ahead_s, random=Random(1)
                )

    asyncio.run(run())
    assert not trace["welcome.pass"] + trace["welcome.refused"]


@pytest.mark.parametrize("ahead_s", [90.0, 600.0, -86400.0, 2 * 365 * 86400.0])
def test_newcomer_with_a_wrong_clock_learns_the_authoritys(tmp_path: Path, ahead_s: float) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            newcomer = joining(link, tmp_path, KeyPair.generate())
            joined = await newcomer.try_once(username="Ada", device="", now=lambda: NOW + ahead_s)
        assert joined.clock_ahead_s == pytest.approx(-ahead_s)

    asyncio.run(run())


def test_time_that_the_authority_did_not_sign_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charter = found(tmp_path)
    monkeypatch.setattr(Authority, "sign_time", lambda _, nonce, now: SignedTime(now, bytes(64)))

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            with pytest.raises(NotTrusted, match="what time it is"):
                await joining(link, tmp_path, KeyPair.generate()).try_once(username="A", device="", now=lambda: NOW)

    asyncio.run(run())


def test_another_collaboration_than_the_links_is_refused(tmp_path: Path) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            wrong = Link(link.host, link.port, b"\x07" * 32, link.invite)
            with pytest.raises(NotTrusted, match="another collaboration"):
                await joining(wrong, tmp_path, KeyPair.generate()).try_once(username="A", device="", now=lambda: NOW)

    asyncio.run(run())


def test_a_collaboration_of_a_later_version_says_what_is_new(tmp_path: Path) -> None:
    made = found(tmp_path)
    later = msgspec.structs.replace(made.manifest, averaging=AveragingNumbers(codec="morse"))
    made.manifest_path.write_bytes(sign_manifest(later, made.authority))
    charter = dataclasses.replace(made, manifest=later)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            with pytest.raises(BadInput, match="'morse'"):
                await joining(link, tmp_path, KeyPair.generate()).try_once(username="A", device="", now=lambda: NOW)

    asyncio.run(run())


@pytest.mark.parametrize(("protocol", "said"), [(PROTOCOL - 1, "newer version"), (PROTOCOL + 1, "older version")])
def test_a_newcomer_of_another_protocol_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int, said: str
) -> None:
    charter = found(tmp_path)
    monkeypatch.setattr("core.joining.join.PROTOCOL", protocol)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            with pytest.raises(BadInput, match=said):
                await joining(link, tmp_path, KeyPair.generate()).try_once(username="A", device="", now=lambda: NOW)

    asyncio.run(run())


def test_invented_people_are_limited_by_address(tmp_path: Path) -> None:
    """A member renews meanwhile, and the 429 says when to come back."""
    charter, trace = found(tmp_path), Trace()

    async def run() -> None:
        async with desk(charter, trace) as link:
            ada = joining(link, tmp_path, KeyPair.generate())
            await ada.try_once(username="Ada", device="", now=lambda: NOW)
            for number in range(ADMITTED_BURST - 1):
                person = joining(link, tmp_path, KeyPair.generate())
                await person.try_once(username=f"Eve {number}", device="", now=lambda: NOW)
            one_more = joining(link, tmp_path, KeyPair.generate())
            with pytest.raises(RemoteProblem, match="Too many"):
                await one_more.try_once(username="Eve", device="", now=lambda: NOW)
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            guess = PassRequest("guess", pass_request(KeyPair.generate()), "Eve", "", PROTOCOL)
            async with (
                aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
                session.post(f"{link.base_url}/v1/pass", data=msgspec.json.encode(guess)) as answer,
            ):
                assert answer.status == 429
                assert int(answer.headers["Retry-After"]) > 0
            await ada.try_once(username="Ada", device="", now=lambda: NOW)

    asyncio.run(run())
    assert trace["welcome.pass"] == ADMITTED_BURST + 1


def test_one_key_has_one_name_and_keeps_it(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            ada = joining(link, tmp_path, key)
            names = [(await ada.try_once(username=name, device="", now=lambda: NOW)).name for name in ("Ada", "Bob")]
            assert names == ["Ada", "Ada"]
            other = KeyPair.generate()
            second = await joining(link, tmp_path, other).try_once(username="ADA", device="", now=lambda: NOW)
            assert second.name.startswith("ADA ")
            assert second.name[4:].isdigit()
            again = await joining(link, tmp_path, other).try_once(username="ADA", device="", now=lambda: NOW)
            assert again.name == second.name

    asyncio.run(run())


def test_member_whose_invitation_was_withdrawn_renews(tmp_path: Path) -> None:
    charter, key = found(tmp_path), KeyPair.generate()

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            ada = joining(link, tmp_path, key)
            await ada.try_once(username="Ada", device="", now=lambda: NOW)
            write_invitations(charter.folder, [])
            await ada.try_once(username="Ada", device="", now=lambda: NOW)
            with pytest.raises(NotTrusted, match="not valid"):
                await joining(link, tmp_path, KeyPair.generate()).try_once(username="Eve", device="", now=lambda: NOW)

    asyncio.run(run())


def test_garbage_at_the_desk_harms_nobody(tmp_path: Path) -> None:
    charter = found(tmp_path)

    async def run() -> None:
        async with desk(charter, Trace()) as link:
            reader, writer = await asyncio.open_connection(link.host, link.port)
            writer.write(b"\x00garbage\r\n\r\n" * 100)
            await reader.read()
            writer.close()
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            for head in (b"Host: x", b"Host: x\r\nContent-Encoding: gzip"):
                reader, writer = await asyncio.open_connection(link.host, link.port, ssl=context)
                writer.write(b'POST /v1/pass HTTP/1.1\r\n%s\r\nContent-Length: 13\r\n\r\n{"invite": 5}' % head)
                assert b"400" in await reader.readline()
                writer.close()
            await joining(link, tmp_path, KeyPair.generate()).try_once(username="Ada", device="", now=lambda: NOW)

    asyncio.run(run())
