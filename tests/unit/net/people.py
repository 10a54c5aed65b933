"""Two collaborations and their people, with fixed keys."""

from collections.abc import Callable
from itertools import count

from core.backbone.authority import Authority
from core.base.ids import PeerId, account_of, hashed_key
from core.base.machine import Trace
from core.base.signing import KeyPair
from core.net.datagrams.envelope import Envelopes
from core.net.identity.passes import PassVerifier, pass_request
from core.net.identity.tls import Credentials

NOW = 1_790_000_000.0
RUN = hashed_key(b"our collaboration")
OTHER_RUN = hashed_key(b"another collaboration")


def keys(name: str) -> KeyPair:
    return KeyPair(hashed_key(b"test key", name.encode()))


AUTHORITY = Authority(keys("authority"), RUN)
SAME_KEY_OTHER_RUN = Authority(keys("authority"), OTHER_RUN)
SAME_RUN_OTHER_KEY = Authority(keys("impostor"), RUN)


def issue(
    name: str, *, authority: Authority = AUTHORITY, now: float = NOW, username: str = "", first: str = ""
) -> bytes:
    """A pass of the computer `name`, which is a further one of the account of the computer `first`."""
    account = account_of(keys(first).peer_id) if first else None
    request = pass_request(keys(name))
    return authority.issue(request, username=username or name, device="test", now=now, account=account)


def verifier(authority: Authority = AUTHORITY, run: bytes = RUN) -> PassVerifier:
    return PassVerifier(authority.id, run)


def nonces(name: str) -> Callable[[], bytes]:
    numbers = count()
    return lambda: hashed_key(name.encode(), next(numbers).to_bytes(8, "big"))[:8]


def envelopes(
    name: str,
    *,
    pass_der: bytes | None = None,
    username: str = "",
    heard: Callable[[PeerId, float], None] = lambda _peer, _ahead_s: None,
) -> Envelopes:
    return Envelopes(
        signer=keys(name),
        pass_der=pass_der or issue(name, username=username),
        passes=verifier(),
        nonce=nonces(name),
        heard=heard,
    )


def credentials(name: str, *, pass_der: bytes | None = None, authority: Authority = AUTHORITY) -> Credentials:
    return Credentials(
        keys=keys(name), pass_der=pass_der or issue(name, authority=authority), passes=verifier(authority)
    )


def id_of(name: str) -> PeerId:
    return keys(name).peer_id


def counts(trace: Trace, *names: str) -> list[int]:
    return [trace[name] for name in names]
