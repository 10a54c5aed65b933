"""The page behind Caddy and nginx, set up by the lines of docs/organiser.md: what they pass on, and what they keep."""

import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.process.test_site import free_port
from tests.process.test_site_browser import START_S, served
from tests.unit.site.views import view

pytestmark = pytest.mark.process
GUIDE = Path(__file__).parents[2] / "docs" / "organiser.md"
NAME = "potluck.example.org"
FALSE_ADDRESS = "203.0.113.9"
NGINX = """daemon off; error_log stderr; pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name {name};
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
{lines}
    }}
}}
"""


def lines_of(language: str, *, port: str) -> str:
    """The lines of the guide for a proxy, with another port of the page."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert "127.0.0.1:8420" in block
    return str(block.replace("8420", port))


@contextmanager
def running(command: list[str], folder: Path, ports: tuple[int, ...]) -> Iterator[None]:
    log = (folder / "proxy.log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, env={"HOME": str(folder), "PATH": "/usr/bin:/usr/sbin"})
    try:
        until = time.monotonic() + START_S
        for port in ports:
            while True:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                    break
                assert process.poll() is None, (folder / "proxy.log").read_text()
                assert time.monotonic() < until
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(START_S)
        log.close()


def ask(port: int, line: str, *more: str, tls: bool = True) -> tuple[int, str]:
    """One request to the host of the guide: status and head of the answer; whose certificate it is, is not tried."""
    host = f"{NAME}:{port}" if tls else NAME
    head = "".join(f"{one}\r\n" for one in (f"{line} HTTP/1.1", f"Host: {host}", "Connection: close", *more))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with ExitStack() as ends:
        link: socket.socket = ends.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        if tls:
            link = ends.enter_context(context.wrap_socket(link, server_hostname=NAME))
        link.sendall(f"{head}\r\n".encode())
        said = b""
        while part := link.recv(65_536):
            said += part
    told = said.partition(b"\r\n\r\n")[0].decode()
    return int(told.split()[1]), told


@contextmanager
def caddy(folder: Path, page: str) -> Iterator[tuple[int, int]]:
    """Caddy with a certificate of its own; the ports of HTTPS and HTTP."""
    https, http_ = free_port(), free_port()
    options = f"{{\n  admin off\n  https_port {https}\n  http_port {http_}\n  local_certs\n  skip_install_trust\n}}\n"
    (folder / "Caddyfile").write_text(options + lines_of("caddy", port=page))
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with running(command, folder, (https, http_)):
        yield https, http_


@contextmanager
def nginx(folder: Path, page: str) -> Iterator[tuple[int, int]]:
    port = free_port()
    make = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", *make, *files], check=True, capture_output=True)
    said = NGINX.format(folder=folder, port=port, name=NAME, lines=lines_of("nginx", port=page))
    (folder / "nginx.conf").write_text(said)
    with running(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], folder, (port,)):
        yield port, 0


@pytest.mark.parametrize("proxy", [caddy, nginx])
def test_page_behind_a_proxy_keeps_its_rules(
    tmp_path: Path, proxy: Callable[[Path, str], AbstractContextManager[tuple[int, int]]]
) -> None:
    if shutil.which(proxy.__name__) is None:
        pytest.skip(f"This needs {proxy.__name__}.")
    page = tmp_path / "page"
    page.mkdir()
    with served(view(), page) as address, proxy(tmp_path, address.rpartition(":")[2]) as (https, http):
        status, head = ask(https, "GET /")
        assert status == 200
        assert "default-src 'none'" in head
        assert ask(https, "GET /metrics")[0] == 403
        for said in ("127.0.0.1", "::1", FALSE_ADDRESS):  # who asks cannot say that this computer does
            assert ask(https, "GET /metrics", f"X-Forwarded-For: {said}")[0] == 403
        form = ("Content-Type: application/x-www-form-urlencoded", "Content-Length: 0")
        assert ask(https, "POST /try", "Origin: https://elsewhere.example", *form)[0] == 403
        assert ask(https, "POST /try", f"Origin: https://{NAME}:{https}", *form)[0] != 403
        if http:
            status, head = ask(http, "GET /board", tls=False)
            assert status == 308
            assert f"Location: https://{NAME}" in head
