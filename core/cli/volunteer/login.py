"""Signing in on the command line: an address and a code are shown, and the page is asked until somebody has."""

import asyncio
import os
import platform
import sys
import webbrowser
from typing import Final

from core.backbone.link import Link
from core.base.problems import printable
from core.cli.printing.say import say_json
from core.joining.sign_in import LIFE_MAX_S, DeviceAuthorization, SignedIn, begin, keep_sign_in, wait_for_ticket
from core.net.clock import steady_s
from core.storage.paths import Home
from core.system.atomic_files import make_directory
from core.system.progress_bar import ProgressBar

STEP_S: Final = 1.0
"""Pause between two drawings of the progress, seconds."""


def sign_in(link: Link, site: str, home: Home, *, json: bool) -> SignedIn:
    """Have a person sign in; what that gives is kept for the engine, which asks for the pass.

    Args:
        link: Leads to the collaboration.
        site: Address of its page.
        home: Home of this computer.
        json: Whether a program shows the code, and opens the browser.

    Raises:
        SignInProblem: this computer is not let in, or the time is over.
        Problem: the page does not answer, or not as it should.
    """
    signed_in = asyncio.run(_signed_in(site, json=json))
    folder = home.state(link.manifest_id.hex())
    make_directory(folder)
    keep_sign_in(folder, signed_in)
    if not json:
        print(_outcome(signed_in))
    return signed_in


async def _signed_in(site: str, *, json: bool) -> SignedIn:
    given = await begin(site, device=platform.node())
    if json:
        shown = {"address": given.verification_uri, "complete": given.verification_uri_complete}
        seconds = min(given.expires_in, LIFE_MAX_S)
        say_json({"event": "sign_in", **shown, "user_code": given.user_code, "seconds": seconds})
    else:
        print(f"\nSign in at   {given.verification_uri}\nwith the code {given.user_code}\n", flush=True)
        if has_browser():
            webbrowser.open(given.verification_uri_complete)
            print("A browser opens there. Compare the code with the one that it shows.", flush=True)
    return await _waited(site, given, ProgressBar(json=json))


async def _waited(site: str, given: DeviceAuthorization, bar: ProgressBar) -> SignedIn:
    """Wait, and draw how much of the time is over."""
    begun, whole_s = steady_s(), min(given.expires_in, LIFE_MAX_S)

    async def rest(seconds: float) -> None:
        until = steady_s() + seconds
        while (left_s := until - steady_s()) > 0:
            bar.show((steady_s() - begun) / whole_s, "Waiting until you have signed in")
            await asyncio.sleep(min(left_s, STEP_S))

    try:
        return await wait_for_ticket(site, given, rest=rest)
    finally:
        bar.clear()


def has_browser() -> bool:
    """Whether a browser with a window can be opened here: one in the terminal would hide the code."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return bool(webbrowser.get())
    except webbrowser.Error:
        return False


def _outcome(signed_in: SignedIn) -> str:
    if not signed_in.ticket:
        return "You have asked to be let in. Potluck goes on asking, and takes part as soon as a moderator says yes."
    return printable(f"You are signed in as {signed_in.name}.") if signed_in.name else "You are signed in."
