import pytest

from core.base.problems import BadInput
from core.net.addresses.hosts import Reach, is_literal, is_name, reach, read_host


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "2001:db8::7"])
def test_addresses_need_no_lookup(host: str) -> None:
    assert is_literal(host)


@pytest.mark.parametrize(
    "host", ["", "localhost", "1.2.3", "fe80::1%eth0", "fe80::1%a\0", "127.0.0.1\0", " ::1", "::ffff:1.2.3.4"]
)
def test_other_texts_are_not_addresses(host: str) -> None:
    assert not is_literal(host)


@pytest.mark.parametrize("host", ["localhost", "peer-1.example.org", "example.org.", "7zip", "1.example", "A.ORG"])
def test_names(host: str) -> None:
    assert is_name(host)


@pytest.mark.parametrize(
    "host",
    ["", ".", "a..b", "a b", "a\0b", "a\n", "é.org", "x" * 64, "a." * 130, "::1", "a%b", "1.2.3", "192.168.1.300",
     "256.1.1.1", "-a.org", "a-.org", "my_host", "a.7", "-oproxycommand=calc"],
)  # fmt: skip
def test_other_texts_are_not_names(host: str) -> None:
    assert not is_name(host)


@pytest.mark.parametrize(
    "typed",
    ["http://example.org", "192.0.2.1:99", "two words", "[::1]:5", "[potluck.org]", "192.168.1.300", "256.1.1.1",
     "-a.org", "my_host", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "fe80::1", "fe80::1%eth0", "রাজু.org"],
)  # fmt: skip
def test_impossible_address_is_refused_as_typed(typed: str) -> None:
    with pytest.raises(BadInput, match="is not an address that others could call") as caught:
        read_host(typed)
    assert f"'{typed}'" in caught.value.message


@pytest.mark.parametrize(
    ("typed", "host", "far"),
    [
        ("192.0.2.1", "192.0.2.1", Reach.HOME),  # for documents: nobody's
        ("9.9.9.9", "9.9.9.9", Reach.ANYWHERE),
        ("192.168.1.30", "192.168.1.30", Reach.HOME),
        ("100.64.0.7", "100.64.0.7", Reach.HOME),
        ("127.0.0.1", "127.0.0.1", Reach.HERE),
        ("[2606:4700::1]", "2606:4700::1", Reach.ANYWHERE),
        ("[2001:db8::1]", "2001:db8::1", Reach.HOME),
        ("::1", "::1", Reach.HERE),
        ("FD00::7", "fd00::7", Reach.HOME),
        ("localhost", "localhost", Reach.HERE),
        ("kitchen-pc", "kitchen-pc", Reach.HOME),
        ("Kitchen.Local.", "Kitchen.Local.", Reach.HOME),
        ("potluck.example.org", "potluck.example.org", Reach.ANYWHERE),
    ],
)
def test_an_address_says_how_far_it_reaches(typed: str, host: str, far: Reach) -> None:
    assert read_host(typed) == host
    assert reach(host) == far


def test_no_address_is_none_yet() -> None:
    assert read_host("") == ""
