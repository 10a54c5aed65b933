"""The part of the welcome desk that people ask about their own computers.

A member signs what it asks with its key, the moment and a nonce.  It learns which keys its account has, gets an
invitation for one further computer, and ends another one.  All keys of an account are equal: somebody who has one of
its computers can do the same.

What the worst member gains: `KEYS_MAX` keys that count as one person, one open invitation at a time, and as many
places in the list of revoked keys, by which no ban that still matters is forgotten (`Decisions.passes_since`).  What
the worst stranger gains: the check of one signature, at most as often as its household may ask for passes.  A signed
request that somebody else repeats does nothing: its nonce is known as long as its moment counts.
"""

import logging
from typing import Final

from core.api.account import AccountAct
from core.authority.decisions import Newcomers
from core.authority.records import AuthorityRecords
from core.backbone.accounts import KEYS_MAX
from core.backbone.admission_log import AdmissionLog, TooManyDevices, closed, ended_here
from core.backbone.charter import Charter, CharterRecords, only_command, revoke
from core.backbone.desk_messages import AccountAnswer, AccountRequest, KnownDevice
from core.backbone.invitations import DeviceInvitation, Invitation, new_secret
from core.backbone.revocations import shut_out
from core.base.ids import AccountId, PeerId, account_of
from core.base.problems import BadInput, Busy, NotTrusted, Problem
from core.base.rate_limit import RateLimit
from core.base.signing import Ed25519Verifier

_LOG = logging.getLogger(__name__)

SIGNED_S: Final = 120.0
"""Seconds by which a member's clock may differ from the desk's: twice what a pass may be off by."""
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
    """

    def __init__(self, charter: Charter, log: AdmissionLog, records: CharterRecords) -> None:
        self._charter = charter
        self._log = log
        self._records = records
        self._links: dict[AccountId, DeviceInvitation] = {}
        """The newest invitation of each account; an earlier one lets nobody in any more."""
        self._nonces: dict[bytes, float] = {}
        """Those of requests whose moment still counts, and until when, Unix seconds."""
        self._asked = RateLimit[AccountId](rate_per_s=ASKED_PER_S, burst=ASKED_BURST)

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
            NotTrusted: no member has signed it now, or the person is shut out, or may bring no further computer.
            BadInput: it is not a computer that this one may end.
            Busy: the account has asked too often.
            Problem: the charter cannot be read or written.
        """
        key = PeerId(asked.key)
        account, records = self._proven(asked, key, now), self._records.read()
        invite, expires, told = "", 0.0, True
        match asked.act:
            case AccountAct.ADD:
                if records.decisions.newcomers is Newcomers.CLOSED:
                    raise closed()
                if len(self._log.accounts.keys(account)) >= KEYS_MAX:
                    raise TooManyDevices
                link = DeviceInvitation(secret=new_secret(), uses_max=1, expires=now + LINK_S, account=account)
                self._links[account], invite, expires = link, link.secret, now + LINK_S
            case AccountAct.END:
                told = await self._end(PeerId(asked.ended), by=key, records=records, now=now)
        return AccountAnswer(self._devices(account), invite, expires, told)

    def _proven(self, asked: AccountRequest, key: PeerId, now: float) -> AccountId:
        """The account of the member that has signed a request just now, and for the first time."""
        log, accounts = self._log, self._log.accounts
        if log.name_of(key) is None or not Ed25519Verifier().verify(
            key, asked.signature, asked.signed_bytes(self._charter.manifest.id)
        ):
            raise NotTrusted("No member has signed this request.")
        account = accounts.of(key)
        if abs(now - asked.at) > SIGNED_S:
            raise NotTrusted("This request was signed at another time.", hint="Set this computer's clock.")
        self._nonces = {nonce: until for nonce, until in self._nonces.items() if now <= until}
        if asked.nonce in self._nonces:
            raise NotTrusted("This request was made already.")
        if not self._asked.admits(account, now):
            raise Busy("Your account has asked too often.", hint="Wait for some minutes.")
        self._nonces[asked.nonce] = asked.at + SIGNED_S
        log.revocations.refresh()
        if key in accounts.ended:
            raise ended_here()
        if any(accounts.among(account, keys) for keys in (log.revocations.keys, self._records.read().shut_out(now))):
            raise shut_out()
        return account

    async def _end(self, key: PeerId, *, by: PeerId, records: AuthorityRecords, now: float) -> bool:
        """Let another key of an account in no more; whether peers are told.

        The account's first key is never told: a list that names it bans the whole account.
        """
        accounts = self._log.accounts
        account = accounts.of(by)
        if key == by or key not in accounts.keys(account):
            raise BadInput("This is not another computer of your account.", hint="List them with: potluck account")
        self._log.end(key, by=by, now=now)
        founder = self._charter.authority.peer_id
        if account_of(key) == account or founder not in records.roles.keys or records.roles.threshold > 1:
            return False
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
