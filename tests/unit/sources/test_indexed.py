"""Shards of an index from origins that break off, cannot go on, or lie."""

from pathlib import Path
from random import Random

import pytest

from core.api.data_state import DataCode
from core.base.content import root_digest
from core.base.data_source import MEMBERS, DataSource
from core.text.order.shard_index import ShardHash, ShardIndex
from core.text.sources.indexed import IndexedShards
from core.text.sources.source import Access, SourceStalled
from tests.web_server import web_server

SHARD = Random(0).randbytes(700_000)


def index_of(*mirrors: str) -> ShardIndex:
    hashed = ShardHash()
    hashed.update(SHARD)
    return ShardIndex(
        ending="jsonl",
        mirrors=mirrors,
        sizes=(len(SHARD),),
        documents=(1,),
        characters=(1,),
        roots=root_digest(hashed.digests),
    )


def nothing() -> None:
    return None


def test_an_origin_without_ranges_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "0.shard"
    with web_server({"/00000.jsonl": SHARD}, ranges=False, cut=300_000) as site:
        shards = IndexedShards(DataSource(address=site.url), index_of(), Access())
        with pytest.raises(SourceStalled):
            shards.fetch(0, path, nothing)
        site.cut = 0
        shards.fetch(0, path, nothing)
    assert path.read_bytes() == SHARD


def test_one_that_lies_and_breaks_off_holds_up_no_other(tmp_path: Path) -> None:
    path = tmp_path / "0.shard"
    with (
        web_server({"/00000.jsonl": bytes(len(SHARD))}, ranges=False, cut=300_000) as liar,
        web_server({"/00000.jsonl": SHARD}) as honest,
    ):
        IndexedShards(DataSource(address=liar.url), index_of(honest.url), Access()).fetch(0, path, nothing)
    assert path.read_bytes() == SHARD
    assert [one.name for one in tmp_path.iterdir()] == ["0.shard"]


def test_one_that_has_nothing_costs_nothing_of_what_is_here(tmp_path: Path) -> None:
    path = tmp_path / "0.shard"
    path.with_suffix(".part").write_bytes(SHARD[:600_000])
    with web_server({}) as empty, web_server({"/00000.jsonl": SHARD}) as honest:
        IndexedShards(DataSource(address=empty.url), index_of(honest.url), Access()).fetch(0, path, nothing)
        assert honest.sent < 200_000
    assert path.read_bytes() == SHARD


def test_a_mirror_leads_into_nobodys_own_network(tmp_path: Path) -> None:
    with web_server({}) as site, web_server({"/00000.jsonl": SHARD}) as other:
        inside = other.url.replace("127.0.0.1", "localhost")
        with pytest.raises(SourceStalled) as caught:
            IndexedShards(DataSource(address=site.url), index_of(inside), Access()).fetch(
                0, tmp_path / "0.shard", nothing
            )
    assert caught.value.code == DataCode.PRIVATE
    assert other.asked == []


@pytest.mark.parametrize("mirror", ["ftp://texts.org", "https://a:b@texts.org", "s3://a::file:///etc/passwd"])
def test_a_mirror_that_no_source_could_be_is_refused(mirror: str) -> None:
    with pytest.raises(ValueError, match="address"):
        index_of(mirror)


def test_text_of_the_members_lies_at_no_origin(tmp_path: Path) -> None:
    shards = IndexedShards(DataSource(address=MEMBERS, index="shards-0"), index_of(), Access())
    assert shards.network
    with pytest.raises(SourceStalled) as caught:
        shards.fetch(0, tmp_path / "0.shard", nothing)
    assert caught.value.code == DataCode.NO_MEMBER
