"""How long a link lasts where its organiser says nothing else: strangers who find it come in by it no longer.

Only the standard library is needed here, for the command line is read before anything else is installed.
"""

from typing import Final

LINK_USES: Final = 20
"""Number of computers that it lets in."""
LINK_DAYS: Final = 14
