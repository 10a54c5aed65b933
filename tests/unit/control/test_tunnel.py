"""What ssh gets as the name of a computer."""

from pathlib import Path

import pytest

from core.base.problems import BadInput
from core.control.tunnel import Tunnel


@pytest.mark.parametrize("name", ["-oProxyCommand=reboot", "a b", "", "host;true", "@host", "$(id)"])
def test_tunnel_refuses_what_is_no_computer(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        Tunnel(name, tmp_path)


@pytest.mark.parametrize("name", ["host", "ada@host.example", "ada@192.0.2.1", "ada@[2001:db8::1]", "my_server-2"])
def test_tunnel_takes_names_that_ssh_takes(tmp_path: Path, name: str) -> None:
    assert not Tunnel(name, tmp_path).open
