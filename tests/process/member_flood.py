"""How much of a real backbone one member takes that sends valid datagrams as fast as it can, and what others notice.

python -m tests.process.member_flood RATE SECONDS     prints one line of JSON
"""

import asyncio
import json
import multiprocessing
import socket
import sys
import tempfile
import time
from pathlib import Path
from secrets import randbits, token_bytes
from statistics import quantiles
from typing import Any

import psutil

from core.backbone.link import parse_link
from core.base.ids import PeerId
from core.base.signing import KeyPair
from core.base.wire import MessageCodec
from core.dht.messages import DHT_MESSAGES, QUERY_BITS, Ping
from core.joining.join import JoinedCollaboration, Joining
from core.net.datagrams.envelope import NONCE_BYTES, Envelopes
from tests.process.swarm import Collaboration, found

CODEC = MessageCodec(DHT_MESSAGES)
NOW = time.time  # noqa: TID251 - the backbone's own


class Member:
    """One of the collaboration, that speaks in datagrams alone."""

    def __init__(self, seed: bytes, joined: JoinedCollaboration) -> None:
        key = KeyPair(seed)
        passes = joined.admission(key).verifier()
        nonce = lambda: token_bytes(NONCE_BYTES)  # noqa: E731
        self.envelopes = Envelopes(signer=key, pass_der=joined.grant.certificate, passes=passes, nonce=nonce)
        self.backbone = joined.grant.contacts[0]
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(0.5)
        self.socket.connect((self.backbone.host, self.backbone.port))
        for _ in range(3):  # its pass goes with the first
            for packet in self.packets():
                self.socket.send(packet)
            self.socket.recv(2000)

    def packets(self) -> list[bytes]:
        body = CODEC.encode(Ping(randbits(QUERY_BITS), client=True))
        return self.envelopes.seal(PeerId(self.backbone.peer), body, now=NOW())


def flood(seed: bytes, joined: JoinedCollaboration, rate: int, seconds: float, ready: Any, go: Any) -> None:
    member = Member(seed, joined)
    packets = [packet for _ in range(int(rate * seconds)) for packet in member.packets()]
    ready.set()
    go.wait()
    began, sent = time.monotonic(), 0
    while sent < len(packets):
        due = min(len(packets), int((time.monotonic() - began) * rate))
        for packet in packets[sent:due]:
            member.socket.send(packet)
        sent = max(sent, due)
        time.sleep(0.001)


def ping(seed: bytes, joined: JoinedCollaboration, go: Any, stop: Any, told: Any) -> None:
    member, took_ms, lost = Member(seed, joined), [], 0
    go.wait()
    while not stop.is_set():
        began = time.monotonic()
        (packet,) = member.packets()
        member.socket.send(packet)
        try:
            member.envelopes.open(member.socket.recv(2000), now=NOW())
            took_ms.append(1000 * (time.monotonic() - began))
        except TimeoutError:
            lost += 1
        time.sleep(0.05)
    told.put((took_ms, lost))


def main(rate: int, seconds: float) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp())
    group = Collaboration(folder, found(folder, target_samples=64))
    group.start_backbone("--averaging-memory", "0")
    link = parse_link(group.link)

    def joined(name: str) -> tuple[bytes, JoinedCollaboration]:
        key = KeyPair.generate()
        joining = Joining(link=link, key=key, folder=folder / name, blobs=folder / name / "blobs")
        return key.seed, asyncio.run(joining.try_once(username=name, device="", now=NOW))

    ready, go, stop, told = *(multiprocessing.Event() for _ in range(3)), multiprocessing.Queue()
    mallory = multiprocessing.Process(target=flood, args=(*joined("mallory"), rate, seconds, ready, go))
    anna = multiprocessing.Process(target=ping, args=(*joined("anna"), go, stop, told))
    for each in (mallory, anna):
        each.start()
    ready.wait()
    assert group.backbone is not None
    backbone = psutil.Process(group.backbone.pid)
    used_s, began = -sum(backbone.cpu_times()[:2]), time.monotonic()
    go.set()
    mallory.join()
    used_s += sum(backbone.cpu_times()[:2])
    share = used_s / (time.monotonic() - began)
    stop.set()
    took_ms, lost = told.get()
    anna.join()
    group.close()
    most = quantiles(took_ms, n=20)
    return {"core_share": share, "answered": len(took_ms), "lost": lost, "ms_median": most[9], "ms_p95": most[18]}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), float(sys.argv[2]))))  # noqa: T201
