import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.backbone.link import PLACES_MAX, Link, link_to, parse_link, read_hosts
from core.base.problems import BadInput

ID = bytes(range(32))


@pytest.mark.parametrize("host", ["127.0.0.1", "potluck.example", "2001:db8::1"])
def test_a_link_survives_being_written_down(host: str) -> None:
    link = Link(host, 4433, ID, "in-vite_1")
    assert parse_link(str(link)) == link
    assert parse_link(f"  {link}\n") == link
    open_link = Link(host, 4433, ID, "")
    assert parse_link(str(open_link)) == open_link


@pytest.mark.parametrize(
    "text",
    [
        "",
        "https://example.org",
        "potluck://example.org/0123#x",
        f"potluck://example.org/{ID.hex()}#x",
        f"potluck://example.org:99999/{ID.hex()}#x",
        f"potluck://example.org:1/#{ID.hex()}",
        f"potluck://example.org:1/{ID.hex()}#a b",
        f"potluck://:1/{ID.hex()}#x",
        f"potluck://[::1:1/{ID.hex()}#x",
    ],
)
def test_what_is_no_link_gets_a_sentence_and_a_hint(text: str) -> None:
    with pytest.raises(BadInput) as raised:
        parse_link(text)
    assert raised.value.message
    assert "potluck://" in raised.value.hint


@pytest.mark.parametrize("host", ["-oproxycommand=calc", "$(id)", "a b", "a\u202eb", "a;b", "%2e", "`id`"])
def test_what_is_no_host_is_none_in_a_link(host: str) -> None:
    for place in (f"{host}:1/{ID.hex()}", f"a:1/{ID.hex()}?also={host}:1"):
        with pytest.raises(BadInput):
            parse_link(f"potluck://{place}#x")


@given(st.text(max_size=200))
def test_any_text_is_a_link_or_bad_input(text: str) -> None:
    try:
        parse_link(text)
    except BadInput:
        return


def test_further_addresses_survive_being_written_down() -> None:
    link = Link("a.example", 1, ID, "invite", (("b.example", 2), ("2001:db8::1", 3)))
    assert str(link) == f"potluck://a.example:1/{ID.hex()}?also=b.example:2,[2001:db8::1]:3#invite"
    assert parse_link(str(link)) == link
    assert link.where == "a.example:1, b.example:2, [2001:db8::1]:3"
    assert [str(each) for each in link.each][1] == f"potluck://b.example:2/{ID.hex()}#invite"


@pytest.mark.parametrize("number", [PLACES_MAX, PLACES_MAX + 1, 40, 150])
def test_link_to_many_addresses_keeps_the_first(number: int) -> None:
    also = tuple((f"192.168.1.{place}", 40_711) for place in range(1, number))
    link = parse_link(str(Link("192.168.1.0", 40_711, ID, "x", also)))
    assert [each.host for each in link.each] == [f"192.168.1.{place}" for place in range(PLACES_MAX)]
    assert parse_link(str(link)) == link


def test_text_too_long_for_a_link_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match="at most 4000 letters"):
        parse_link(str(Link("h0", 1, ID, "x", tuple((f"h{place}", 1) for place in range(1000)))))


def test_hosts_that_a_person_typed_are_read_once_each() -> None:
    hosts = read_hosts(["potluck.example", "[2001:db8::1]", "potluck.example", ""])
    assert hosts == ("potluck.example", "2001:db8::1")
    assert str(link_to(hosts, 5, ID, "x")) == f"potluck://potluck.example:5/{ID.hex()}?also=[2001:db8::1]:5#x"
    assert read_hosts([]) == ()


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ([f"h{number}" for number in range(9)], "at most 8 addresses, not 9.*--host"),
        ([f"{'a' * 60}.{'b' * 60}.h{number}" for number in range(4)], "at most 600 letters.*--host"),
        (["h1", "256.1.1.1"], "not an address that others could call"),
    ],
)
def test_hosts_without_room_in_a_link_are_refused(hosts: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_hosts(hosts)


@pytest.mark.parametrize("also", ["h", "h:0", ":1", "h:x", "h:99999", "[::1:1", "h:1,h"])
def test_further_address_without_host_or_port_is_refused(also: str) -> None:
    with pytest.raises(BadInput):
        parse_link(f"potluck://a.example:1/{ID.hex()}?also={also}#x")


def test_link_longer_than_what_is_kept_is_refused() -> None:
    also = tuple((f"{'a' * 60}.{'b' * 60}.h{place}", 1) for place in range(7))
    with pytest.raises(BadInput, match="at most 600 letters"):
        parse_link(str(Link("h", 1, ID, "x", also)))


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".org", "\u2603" * 60, "my_host", "192.168.1.300"])
def test_host_that_is_none_is_refused_in_a_sentence(host):
    good = f"potluck://example.org:5/{'0' * 64}"
    for text in (f"potluck://{host}:5/{'0' * 64}#x", f"{good}?also={host}:6#x"):
        with pytest.raises(BadInput):
            parse_link(text)


@pytest.mark.parametrize(
    ("hosts", "near"),
    [
        (["127.0.0.1"], True),
        (["192.168.1.7", "nas.local"], True),
        (["192.168.1.7", "potluck.example.org"], False),
        (["8.8.8.8"], False),
    ],
)
def test_link_is_near_where_no_address_leads_out(hosts: list[str], *, near: bool) -> None:
    assert link_to(hosts, 4433, ID, "invite").is_near is near
