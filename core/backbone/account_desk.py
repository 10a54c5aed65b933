"""The part of the welcome desk that people ask about their own computers.

A member signs what it asks with its key, the moment and a nonce.  It learns which keys its account has, gets an
invitation for one further computer, and ends another one.  All keys of an account are equal: somebody who has one of
its computers can do the same.

What the worst member gains: `KEYS_MAX` keys that count as one person, one open invitation at a time, and as many
places in the list of revoked keys, by which no ban that still matters is forgotten (`Decisions.passes_since`).  What
the worst stranger gains: the check of one signature, at most as often as its household may ask for passes.  A signed
request that somebody else repeats does nothing: its nonce is known as long as its moment counts, and it names the
backbone that it was made for.
"""

import logging
from collections.abc import Callable
from typing import Final

from core.api.account import AccountAct
from core.backbone.accounts import KEYS_MAX
from core.backbone.admission_log import AdmissionLog
from core.backbone.charter import Charter, CharterRecords, only_command, revoke
from core.backbone.desk_messages import AccountAnswer, AccountRequest, KnownDevice
from core.backbone.fresh_requests import FreshRequests
from core.backbone.invitations import DeviceInvitation, Invitation, new_secret
from core.backbone.refusals import TooManyDevices, closed, ended_here
from core.backbone.revocations import shut_out
from core.base.ids import AccountId, PeerId, account_of
from core.base.problems import BadInput, NotTrusted, Problem, later
from core.base.signing import Ed25519Verifier

_LOG = logging.getLogger(__name__)

LINK_S: Final = 3600.0
ASKED_PER_S: Final = 0.1
ASKED_BURST: Final = 20
"""Requests of one account."""


class AccountDesk:
    """Answers members about their accounts.

    Args:
        charter: The collaboration.
        log: Knows whose keys were let in.
        records: What moderators have said.
        me: This backbone's key.
    """

    def __init__(self, charter: Charter, log: AdmissionLog, records: CharterRecords, me: Callable[[], PeerId]) -> None:
        self._charter = charter
        self._me = me
        self._log = log
        self._records = records
        self._links: dict[AccountId, DeviceInvitation] = {}
        """The newest invitation of each account; an earlier one lets nobody in any more."""
        self._fresh = FreshRequests[AccountId](
            rate_per_s=ASKED_PER_S, burst=ASKED_BURST, too_often=later("Your account has asked too often.")
        )

    def invitations(self, now: float) -> list[Invitation]:
        """The charter's, and those for further computers that hold now.

        Raises:
            Damaged: the charter is unreadable.
        """
        self._links = {account: one for account, one in self._links.items() if not one.has_expired(now)}
        return [*self._charter.invitations, *self._links.values()]

    async def answer(self, asked: AccountRequest, now: float) -> AccountAnswer:
        """Do what a member asks.

        Args:
            asked: As it came.
            now: Unix seconds.

        Raises:
            NotTrusted: no member has signed it now, for this backbone, or the person is shut out, or may bring no
                further computer.
            BadInput: it is not a computer that this one may end.
            Busy: the account has asked too often.
            Problem: the charter cannot be read or written.
        """
        key = PeerId(asked.key)
        account, records = self._proven(asked, key, now), self._records.read()
        invite, expires, told = "", 0.0, True
        match asked.act:
            case AccountAct.ADD:
                if not records.decisions.lets_in:
                    raise closed()
                if len(self._log.accounts.keys(account)) >= KEYS_MAX:
                    raise TooManyDevices(KEYS_MAX)
                link = DeviceInvitation(secret=new_secret(), uses_max=1, expires=now + LINK_S, account=account)
                self._links[account], invite, expires = link, link.secret, now + LINK_S
            case AccountAct.END:
                other = PeerId(asked.ended)
                if other == key or other not in self._log.accounts.keys(account):
                    hint = "List them with: potluck account"
                    raise BadInput("This is not another computer of your account.", hint=hint)
                told = await self.end(other, by=key, now=now)
            case AccountAct.SIGN_OUT:
                self._log.end(key, by=key, now=now)
            case AccountAct.TAKE_OUT:
                for each in self._log.accounts.keys(account):
                    self._log.end(each, by=key, now=now, nameless=True)
        return AccountAnswer(self._devices(account), invite, expires, told)

    def _proven(self, asked: AccountRequest, key: PeerId, now: float) -> AccountId:
        """The account of the member that has signed a request just now, and for the first time."""
        log, accounts = self._log, self._log.accounts
        signed = Ed25519Verifier().verify(key, asked.signature, asked.signed_bytes(self._charter.manifest.id))
        if log.name_of(key) is None or not signed or asked.desk != self._me():
            raise NotTrusted("No member has signed this request.")
        account = accounts.of(key)
        self._fresh.take(account, at=asked.at, nonce=asked.nonce, now=now)
        log.revocations.refresh()
        if key in accounts.ended:
            raise ended_here()
        if any(accounts.among(account, keys) for keys in (log.revocations.keys, self._records.read().shut_out(now))):
            raise shut_out()
        return account

    async def end(self, key: PeerId, *, by: PeerId, now: float) -> bool:
        """Let a key of an account in no more; whether peers are told.

        The account's first key is never told: a list that names it bans the whole account.

        Args:
            key: It was let in.
            by: The key whose holder says so; the same one, where its person has signed in at the page.
            now: Unix seconds.

        Raises:
            Problem: the charter cannot be read or written.
        """
        self._log.end(key, by=by, now=now)
        founder, roles = self._charter.authority.peer_id, self._records.read().roles
        first = account_of(key) == self._log.accounts.of(key)
        if first or founder not in roles.keys or roles.threshold > 1:
            return False
        self._log.revocations.refresh()
        if key in self._log.revocations.keys:  # each list has a greater number, and peers believe none of next week
            return True
        try:
            async with only_command(self._charter):
                revoke(self._charter, [key], now=now)
        except Problem as problem:
            _LOG.warning("peers are not told that a key was ended: %s", problem)
            return False
        return True

    def _devices(self, account: AccountId) -> list[KnownDevice]:
        accounts, admitted = self._log.accounts, self._log.admitted
        lines = [(key, admitted[key]) for key in accounts.keys(account)]
        return [KnownDevice(key, one.device, one.at, key in accounts.ended) for key, one in lines]
