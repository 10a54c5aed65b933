"""A person's own computers: a member asks a welcome desk about its account (`core.backbone.account_desk`)."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from core.api.account import AccountAct, AccountView, AccountWish, DeviceView
from core.backbone.desk_messages import ANSWERS, AccountAnswer, AccountRequest, KnownDevice
from core.backbone.link import Link
from core.base.ids import PeerId
from core.base.problems import BadInput, Sentence, quoted
from core.base.signing import KeyPair
from core.base.wire import PROTOCOL
from core.joining.signed_questions import NONCE_BYTES, ask_signed

KEY_LETTERS_MIN: Final = 8
"""Length of the beginning of a key that names a computer."""


class OwnAccount:
    """Answers a person about their account (`core.control.intents.AccountHolder`).

    Args:
        key: Key of this computer.
        now: Unix seconds.
        joined: The link to the collaboration that this computer is in, and its name there.
        known: What moderators have said there, `AuthorityRecords.to_bytes`.
    """

    def __init__(
        self,
        key: KeyPair,
        now: Callable[[], float],
        joined: Callable[[], tuple[Link, str]],
        known: Callable[[], bytes],
    ) -> None:
        self._key = key
        self._now = now
        self._joined = joined
        self._known = known

    async def act(self, wish: AccountWish) -> AccountView:
        """Ask the backbone for what a person wants.

        Raises:
            BadInput: no such computer is theirs.
            NotTrusted: this computer may not do that.
            Problem: no backbone answers.
        """
        (link, name), said, me, ended = self._joined(), self._known(), self._key.peer_id, None
        if wish.act is AccountAct.END:
            listed = await ask_account(link, self._key, self._now, AccountAct.LIST, known=said)
            ended = _meant(listed.devices, wish.who, me=me)
        answer = await ask_account(link, self._key, self._now, wish.act, ended=ended, known=said)
        devices = (DeviceView(one.name, one.key.hex(), one.at, one.key == me, one.ended) for one in answer.devices)
        made = str(replace(link, invite=answer.invite)) if answer.invite else ""
        return AccountView(name, tuple(devices), made, answer.expires, answer.told, link.manifest_id.hex())


async def ask_account(
    link: Link,
    key: KeyPair,
    now: Callable[[], float],
    act: AccountAct,
    *,
    ended: PeerId | None = None,
    known: bytes = b"",
) -> AccountAnswer:
    """Ask the first backbone of a link that answers.

    Args:
        link: Leads to the collaboration.
        key: Key of this computer, which is a member.
        now: Unix seconds.
        act: What is asked.
        ended: Key of the computer that is ended, if one is.
        known: As in `ask_signed`.

    Raises:
        NotTrusted: this computer is not a member, is shut out, or may not do that.
        BadInput: no such computer is the account's.
        Problem: no backbone answers, or it cannot do that now.
    """

    def signed(at: float, desk: PeerId) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        asked = AccountRequest(
            act=act, key=key.peer_id, ended=ended or b"", desk=desk, at=at, nonce=nonce, protocol=PROTOCOL
        )
        asked = msgspec.structs.replace(asked, signature=key.sign(asked.signed_bytes(link.manifest_id)))
        return msgspec.json.encode(asked)

    return await ask_signed(link, now, "/v1/device", signed, ANSWERS, known=known)


def _meant(devices: Sequence[KnownDevice], said: str, *, me: PeerId) -> PeerId:
    """The key of the one computer that a person has named.

    Raises:
        BadInput: there is none, there are several, or it is this one.
    """
    hint = "List them with: potluck account"
    by_key = len(said) >= KEY_LETTERS_MIN
    found = [
        PeerId(one.key)
        for one in devices
        if not one.ended and said and (one.name == said or (by_key and one.key.hex().startswith(said.lower())))
    ]
    if not found:
        raise BadInput("None of your computers is called {words}.", quoted(said), hint=hint)
    if len(found) > 1:
        raise BadInput(
            "{count} of your computers are called {words}.",
            len(found),
            quoted(said),
            Sentence(hint),
            hint="Give a key. {advice}",
        )
    if found[0] == me:
        raise BadInput("This is the computer that you are at.", hint="End it from another one, or leave.")
    return found[0]
