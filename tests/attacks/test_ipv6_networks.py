"""A provider gives one customer 256 to 65,536 networks of 64 bits, and as many addresses as anybody wants."""

from pathlib import Path

import pytest

from core.base.site.ways import Admit
from core.site.accounts import waiting
from core.site.ways import passphrase
from tests.process.site_sign_in import Signing, walk
from tests.process.test_site_sign_in import open_to

pytestmark = pytest.mark.process


def test_one_line_of_ipv6_buries_no_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passphrase, "NEW_BURST", 3)

    async def test(here: Signing) -> None:
        async with here.browser() as browser:
            for number in range(8):
                browser.client.headers["X-Forwarded-For"] = f"2001:db8:1:{number}::1"
                await browser.new(f"Eve {number}")
            assert "Too many tries" in browser.text
        assert len(await here.entrance.database.do(waiting)) == 3

    walk(tmp_path, open_to(Admit.ASKED), test)
