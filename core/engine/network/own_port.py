"""The port at which this computer hears other peers."""

import logging

from core.base.problems import Busy, Sentence
from core.engine.installation import Installation
from core.session.session import Session
from core.swarm.participant import Participant

_LOG = logging.getLogger(__name__)


async def listening(session: Session[Participant], installation: Installation) -> int:
    """Open the ports of a session; returns the number of the port, which is another one where the wanted one is taken.

    Raises:
        Busy: the port that the command line named is taken.
        BadInput: this computer has no such address.
    """
    options = installation.options
    wanted = options.port if options.port is not None else installation.preferences.settings.port
    try:
        port = await session.listen(bind=options.bind, port=wanted)
    except Busy as busy:
        if options.port is not None:
            raise
        port = await session.listen(bind=options.bind)
        notice = Sentence("{busy} This time port {port} is used for other peers.", busy.sentence, port)
        installation.notices.add("warning", notice)
    _LOG.info("listening for peers on port %d", port)
    return port
