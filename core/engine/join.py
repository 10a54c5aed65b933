"""How an engine comes into a collaboration: with a pass, and with all that takes part put together."""

import platform
from collections.abc import Callable
from random import SystemRandom

from core.api.verdict import Verdict
from core.backbone.join import Joining
from core.backbone.link import Link
from core.backbone.source import check_source
from core.base.manifest import Manifest
from core.engine.installation import Installation
from core.engine.session import VolunteerSession
from core.system.atomic_files import make_directory


async def join(
    link: Link, installation: Installation, *, changed: Callable[[], None], waiting: Callable[[Verdict], None]
) -> VolunteerSession:
    """Get a pass, and put together what takes part; nothing listens yet.

    Args:
        link: Leads to the collaboration.
        installation: What all sessions of this computer have in common.
        changed: Called when something that people see has changed.
        waiting: Told what is waited for, as a verdict.

    Raises:
        UserProblem: the link, the pass or the disk is wrong; the sentence says what to do.
    """
    options = installation.options
    folder = options.home.state(link.manifest_id.hex())
    make_directory(folder)

    def willing(manifest: Manifest) -> None:
        if not options.help_bytes:
            check_source(manifest, options.text)

    joining = Joining(link=link, key=installation.key, folder=folder, blobs=options.home.blobs, willing=willing)
    joined = await joining.join(
        username=installation.name,
        device=platform.node()[:40],
        now=installation.clock.now,
        random=SystemRandom(),
        waiting=waiting,
    )
    installation.notices.tell("info", "engine.joined", name=joined.manifest.name)
    if joined.name != installation.name:
        installation.notices.tell("info", "engine.name", name=joined.name)
    installation.clock.correct(joined.clock_ahead_s)
    return VolunteerSession(installation, joined, joining, changed=changed)
