"""The attacks that The Update Framework lists, each with a real server: all are refused, and the old version stays."""

import contextlib
import json
import time
from datetime import UTC, datetime, timedelta

import pytest

from core.base.problems import NotTrusted, UserProblem
from tests.process.publishing import UpdateWorld, changed, update_world
from tests.web_server import Repeated

pytestmark = pytest.mark.process


@pytest.fixture
def world(tmp_path, monkeypatch):
    with update_world(tmp_path) as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


def refused(world: UpdateWorld, kind: type[UserProblem] = NotTrusted, words: str | None = None, **how: float) -> None:
    """A look fails, and nothing has changed; once the server is honest again, the version comes."""
    with pytest.raises(kind, match=words):
        world.look(**how)
    assert world.program.newest == "0.1.0"
    assert not world.kept


def heals(world: UpdateWorld, version: str = "0.2.0") -> None:
    world.served.instead.clear()
    assert world.look().version == world.program.newest == version


def test_honest_server_is_believed(world):
    world.publish("0.2.0")
    view = world.look()
    assert (view.state, view.version, view.news) == ("ready", "0.2.0", ("What is new in 0.2.0.",))
    assert world.kept == {"0.2.0"}
    assert world.look().state == "ready"


def test_arbitrary_software_is_refused(world):
    archive = world.publish("0.2.0")
    good = archive.read_bytes()
    world.served.instead[f"/targets/{archive.name}"] = good[:-20] + bytes(20)
    refused(world, words="is not what the people who make Potluck have signed")
    heals(world)


def test_lists_signed_by_an_attacker_are_refused(world, tmp_path):
    world.publish("0.2.0")
    attacker = world.tools.Publisher(tmp_path / "theirs", tmp_path / "their-keys")
    attacker.begin(root_keys=1, root_threshold=1)
    for name in ("timestamp.json", "1.snapshot.json", "1.targets.json"):
        world.served.instead[f"/metadata/{name}"] = (attacker.metadata / name).read_bytes()
    refused(world)
    heals(world)


@pytest.mark.parametrize("name", ["timestamp.json", "snapshot.json", "targets.json"])
def test_tampered_list_is_refused(world, name):
    world.publish("0.2.0")
    path = world.metadata(name)
    if not path.exists():
        path = max(world.repo.glob(f"metadata/*.{name}"), key=lambda one: int(one.name.partition(".")[0]))
    world.served.instead[f"/metadata/{path.name}"] = changed(
        path.read_bytes(), lambda signed: signed.update(expires="2099-01-01T00:00:00Z")
    )
    refused(world)
    heals(world)


def test_rolled_back_list_is_refused(world):
    old = world.metadata("timestamp.json").read_bytes()
    world.publish("0.2.0", share=0.0)
    assert world.look().state == "current"
    world.served.instead["/metadata/timestamp.json"] = old
    refused(world)
    world.publisher.share("0.2.0", 1.0)
    heals(world)


def test_fast_forward_is_refused_and_ends_with_another_key(world):
    world.publish("0.2.0")
    far = world.publisher.newest("timestamp")  # by somebody who has stolen the key of timestamp
    far.signed.version = 2**31 - 2
    far.signed.snapshot_meta.version = 2**31 - 2
    stolen = world.publisher.signers(world.publisher.newest("root").signed, "timestamp")
    far.sign(stolen[0])
    world.served.instead["/metadata/timestamp.json"] = far.to_bytes()
    refused(world, UserProblem)
    world.served.instead.clear()
    refused(world)  # the honest list has a lower number now
    for role in ("timestamp", "snapshot"):
        (world.keys / f"{role}-1.pem").unlink()
        world.publisher.replace(role)
    heals(world)


def test_frozen_list_is_refused(world):
    world.publish("0.2.0")
    world.publisher.now = datetime.now(UTC).replace(microsecond=0) - timedelta(days=15)
    world.publisher.renew()
    refused(world, words="out of date")
    world.publisher.now = datetime.now(UTC).replace(microsecond=0)
    world.publisher.renew()
    heals(world)


def test_mixed_lists_are_refused(world):
    world.publish("0.2.0")
    old = max(world.repo.glob("metadata/*.targets.json"), key=lambda one: int(one.name.partition(".")[0]))
    world.publisher.share("0.2.0", 0.5)
    new = max(world.repo.glob("metadata/*.targets.json"), key=lambda one: int(one.name.partition(".")[0]))
    world.served.instead[f"/metadata/{new.name}"] = old.read_bytes()
    refused(world)
    world.publisher.share("0.2.0", 1.0)
    heals(world)


@pytest.mark.parametrize("what", ["list", "archive"])
def test_endless_data_are_cut_off(world, what):
    archive = world.publish("0.2.0", size=50_000)
    path = "/metadata/timestamp.json" if what == "list" else f"/targets/{archive.name}"
    world.served.instead[path] = Repeated(b" ", 2 * 10**9)
    refused(world)
    assert world.site.sent < 10**8
    heals(world)


def test_extraneous_dependencies_are_refused(world):
    archive = world.publish("0.2.0")
    named = next((world.repo / "targets").glob("*.releases.json"), None)
    assert named is not None
    for path in (world.repo / "targets").glob("*.releases.json"):
        listed = json.loads(path.read_bytes())
        for one in listed["releases"]:
            for system in one["archives"].values():
                system["name"] = "more-software.tar.xz"
        world.served.instead[f"/targets/{path.name}"] = json.dumps(listed).encode()
    world.served.instead["/targets/more-software.tar.xz"] = archive.read_bytes()
    refused(world)
    heals(world)


def test_signed_list_cannot_name_what_is_not_signed(world):
    world.publish("0.2.0")
    offered = world.publisher.offered()[0]
    system, archive = next(iter(offered.archives.items()))
    other = {**offered.archives, system: type(archive)(name="more-software.tar.xz", unpacked_bytes=1)}
    world.publisher.put_list(world.tools.VersionList([type(offered)(version="0.3.0", archives=other)]))
    refused(world, words=r"more-software\.tar\.xz is not among")


def test_stolen_key_below_the_threshold_is_refused(world):
    world.publish("0.2.0")
    root = world.publisher.newest("root")
    thief = world.tools.CryptoSigner.generate_ed25519()
    for role in ("targets", "snapshot", "timestamp"):
        root.signed.roles[role].keyids[:] = []
        root.signed.add_key(thief.public_key, role)
    root.signed.version += 1
    root.signatures.clear()
    root.sign(world.tools.signer_of(world.keys / "root-1.pem"))  # one of the two that it takes
    world.served.instead["/metadata/2.root.json"] = root.to_bytes()
    refused(world)
    heals(world)


def test_wrong_chain_of_roots_is_refused(world):
    world.publish("0.2.0")
    (world.keys / "snapshot-1.pem").unlink()
    world.publisher.replace("snapshot")
    world.publisher.renew(everything=True)
    assert world.metadata("3.root.json").exists()
    world.served.instead["/metadata/2.root.json"] = world.metadata("3.root.json").read_bytes()
    refused(world)
    heals(world)


def test_slow_server_is_given_up(world):
    world.publish("0.2.0")
    world.site.chunk, world.site.pause_s = 10, 0.05
    began = time.monotonic()
    refused(world, UserProblem, "too slowly", grace_s=0.5)
    assert time.monotonic() - began < 10
    world.site.chunk, world.site.pause_s = 1 << 16, 0.0
    heals(world)


def test_server_that_always_begins_anew_is_given_up(world, monkeypatch):
    monkeypatch.setattr("core.updates.source.WAIT_S", 0.0)
    archive = world.publish("0.2.0", size=200_000)
    size = archive.stat().st_size

    def cut(path: str) -> tuple[int, bytes] | None:
        world.site.cut, world.site.ranges = (size // 2, False) if archive.name in path else (0, True)
        return (404, b"") if len(world.site.asked) > 60 else None

    world.site.answer = cut
    refused(world, UserProblem, "does not answer")
    assert world.site.sent < 5 * size
    world.site.answer = lambda _: None
    world.site.cut = 0
    heals(world)


@pytest.mark.parametrize("bytes_each", [0, 1])
def test_server_that_hangs_up_each_time_is_given_up(world, monkeypatch, bytes_each):
    monkeypatch.setattr("core.updates.source.WAIT_S", 0.0)
    archive = world.publish("0.2.0", size=200_000)

    def drip(path: str) -> tuple[int, bytes] | None:
        world.site.cut = bytes_each if archive.name in path else 0
        if len(world.site.asked) > 5000:
            return 404, b""
        return (206, b"") if not bytes_each and archive.name in path else None

    world.site.answer = drip
    refused(world, UserProblem, "too slowly" if bytes_each else "does not answer", grace_s=0.3)
    assert len(world.site.asked) < 3000
    world.site.answer = lambda _: None
    world.site.cut = 0
    heals(world)


def test_nonsense_instead_of_a_length_is_no_crash(world):
    world.publish("0.2.0")
    world.site.length = "many"
    with contextlib.suppress(UserProblem):
        world.look()
    world.site.length = ""
    heals(world)
