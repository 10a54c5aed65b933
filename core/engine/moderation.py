"""What a moderator does with the key of this computer, while the engine takes part (docs/protocols/authority.md)."""

from collections.abc import Callable

from core.api.moderation import ModerationOutcome, ModerationView, ModerationWish
from core.authority.acts import key_of, signed_wish
from core.authority.view import moderation_view, outcome
from core.base.ids import PeerId, account_of
from core.base.problems import BadInput, Problem, quoted
from core.engine.installation import Installation
from core.engine.session import VolunteerSession


class Moderation:
    """Answers moderators (`core.control.intents.Moderators`).

    Args:
        installation: Has the key.
        session: The engine's part in a collaboration.
    """

    def __init__(self, installation: Installation, session: Callable[[], VolunteerSession]) -> None:
        self._installation = installation
        self._session = session

    def view(self) -> ModerationView:
        """Who decides, what waits for signatures, and who is held."""
        session = self._session()
        names = session.journal.board.names
        now = self._installation.clock.now()
        return moderation_view(session.authority, self._installation.key.peer_id, lambda key: names.get(key, ""), now)

    def act(self, wish: ModerationWish) -> ModerationOutcome:
        """Sign what a moderator wants, and hand it to the others.

        Raises:
            BadInput: nobody is meant, or it cannot be done.
            NotTrusted: this computer is not a moderator's.
            Problem: something else was decided in the same moment.
        """
        session, key = self._session(), self._installation.key
        document = signed_wish(session.authority, key, self._installation.clock.now(), wish, self._find)
        if not session.learn_records(session.authority.seal.written(document)):
            raise Problem("Nothing has changed: you have signed that, or something else was decided meanwhile.")
        return outcome(session.authority, document)

    def _find(self, said: str) -> list[PeerId]:
        """All keys of a person that are known here, those that others know by the account's first key first."""
        session = self._session()
        names, key = session.journal.board.names, key_of(said)
        name = said if key is None else names.get(key, "")
        found = [each for each, known in names.items() if name and known == name] or ([] if key is None else [key])
        if not found:
            raise BadInput(
                "Nobody here is called {words}.", quoted(said), hint="Give a name of the leaderboard, or a key."
            )
        firsts = {session.passes.account(each) for each in found}
        return sorted(found, key=lambda each: account_of(each) not in firsts)
