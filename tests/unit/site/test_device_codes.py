"""Computers that wait for their person, and for a moderator."""

from core.site.device_codes import SIGNED_IN_MAX, DeviceCodes

NOW = 1_795_676_400.0


def test_account_takes_no_place_of_others_that_wait() -> None:
    """One a second from one house had all others of the moderators' queue begin anew within an hour and a quarter."""
    codes, waiting = DeviceCodes(), list[str]()
    for number in range(100):
        long, made = codes.begin("a computer", f"house {number}", NOW)
        codes.let_in(made.code, b"%16d" % number, NOW)
        waiting.append(long)
    for second in range(SIGNED_IN_MAX + 200):
        _, made = codes.begin("eve's", "eve's house", NOW + second)
        codes.let_in(made.code, b"e" * 16, NOW + second)
    later = NOW + SIGNED_IN_MAX + 300
    assert [codes.poll(long, "house", later) for long in waiting] == [b"%16d" % number for number in range(100)]
