"""The program behind `potluck backbone`, with what it tells the organiser."""

import argparse
import asyncio
import logging
import shlex
import sys
from collections.abc import Callable, Coroutine
from functools import partial

from core.backbone.charter import Charter, load_charter
from core.backbone.link import Link, read_hosts
from core.backbone.offers import Offers
from core.backbone.remembered import LOCK, Ports, read_ports
from core.backbone.serve import Backbone
from core.backbone.site_process import SiteAddress
from core.backbone.ways.ways_file import read_ways
from core.base.problems import Busy, printable
from core.base.site.ways import WaysIn
from core.cli.organiser import stand_in
from core.cli.printing.say import say_json
from core.cli.running import EVERYWHERE, MIB, log_to_stderr
from core.joining.other_logs import keep_copying
from core.net.addresses.hosts import SAID, reach
from core.net.addresses.interfaces import LOOPBACK, is_loopback
from core.net.clock import Clock
from core.system.atomic_files import delete_torn
from core.system.file_lock import held
from core.system.parent_watch import stop_on_signals, watch_parent
from core.system.usage import raise_file_limit

_LOG = logging.getLogger(__name__)
LEAVING_S = 10.0
"""A backbone that was just told to stop has so long to leave."""


def run(args: argparse.Namespace) -> int:
    """`potluck backbone`; see `potluck backbone --help`."""
    log_to_stderr()
    raise_file_limit()
    folder = args.charter.expanduser().absolute()
    there = None if args.stand_in is None else stand_in.prepare(args, read_hosts(args.host) or (LOOPBACK,))
    charter = load_charter(folder)
    hosts = read_hosts(args.host) or read_hosts(read_ports(charter.folder).hosts) or (LOOPBACK,)
    bind = args.bind or EVERYWHERE
    if all(map(is_loopback, hosts)) and not is_loopback(bind):
        print(
            "potluck: This link works on this computer only. "
            "For others, name an address at which they find it: --host ADDRESS",
            file=sys.stderr,
        )
    ports = Ports(args.port, args.desk_port, hosts[0], hosts[1:])
    shards = None if args.shards is None else args.shards.expanduser().absolute()
    site = None if args.site is None else SiteAddress(args.site_bind, args.site, args.database)
    if site is not None:
        site.check()
    ways = None if site is None else read_ways(charter.folder)
    offers = Offers(help_bytes=args.averaging_memory * MIB, shards=shards, site=site)

    def made() -> Backbone:
        clock = Clock(authority=True)
        return Backbone(charter=charter, bind=bind, clock=clock, ports=ports, offers=offers, copying=keep_copying)

    ready = None
    if there is not None and not stand_in.is_named(charter):
        stand_in.tell(charter, json=args.json)
        ready = partial(stand_in.until_named, charter, there)
    else:
        stand_in.check_named(charter)
    say = _say_link if args.json else partial(_tell_link, charter, site, ways)
    asyncio.run(_serve(charter, made, with_parent=args.with_parent, say=say, ready=ready))
    return 0


async def _serve(
    charter: Charter,
    made: Callable[[], Backbone],
    *,
    with_parent: bool,
    say: Callable[[Link], object],
    ready: Callable[[], Coroutine[None, None, None]] | None = None,
) -> None:
    """Run a backbone until it is told to stop.

    Args:
        charter: The collaboration.
        made: Makes the backbone, once no other one runs on the charter.
        with_parent: End also when stdin closes.  Without it a backbone outlives the terminal that started it.
        say: Takes the link, once others can join by it.
        ready: Returns when it can begin; None: it can now.

    Raises:
        Busy: a backbone runs on this charter, or another program has a port that was asked for.
    """
    stop = asyncio.Event()
    if with_parent:
        watch_parent(stop.set)
    stop_on_signals(stop.set)
    taken = Busy("A backbone runs on this charter already.", hint="Hand out its link, or stop it and start again.")
    async with held(charter.folder / LOCK, patience_s=LEAVING_S, otherwise=taken):
        delete_torn(charter.folder)
        if ready is not None:
            waiting, stopped = asyncio.create_task(ready()), asyncio.create_task(stop.wait())
            await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                waiting.cancel()
                return
            await waiting
        backbone = made()
        link = await backbone.open()
        if backbone.moved_from:
            sys.stderr.write(
                f"potluck: Earlier links name port {backbone.moved_from}, where this backbone is no longer: "
                "hand out the new link, or free that port and start again.\n"
            )
        if not link.invite:
            sys.stderr.write("potluck: No invitation lets people in: make one with potluck invite.\n")
        say(link)
        _LOG.info("the backbone starts")  # a start without an end before it: it was killed
        await backbone.serve(stop)
        _LOG.info("the backbone ends")


def _say_link(link: Link) -> None:
    say_json({"event": "listening", "link": str(link)})


def _tell_link(charter: Charter, site: SiteAddress | None, ways: WaysIn | None, link: Link) -> None:
    """Say to a person what runs, and what comes next."""
    folder = shlex.quote(str(charter.folder))
    print(
        f"The backbone of {printable(charter.manifest.name)} runs at {link.where}. It takes part, and trains nothing."
    )
    print(f"\nHand out the link:            {link}")
    print("Others paste it in the window, or: potluck join LINK")
    peers = read_ports(charter.folder).peers
    for each in link.each:
        print(f"{each.host} can be reached {SAID[reach(each.host)]}.")
    print(f"Ports that a router forwards: {link.port} (TCP), {peers} (TCP and UDP)")
    if site is not None:
        print(f"Its page:                     {site}")
        print(f"Pages for moderators:         potluck moderate page --charter {folder}")
    if ways is not None and ways.told:
        print(f"People sign in there by:      {', '.join(ways.told)}; others open it at {ways.address}")
    print(f"More links, or fewer:         potluck invite --charter {folder}")
    print(f"To shut somebody out:         potluck revoke --charter {folder} NAME")
    print("To stop it:                   Ctrl-C; its key, its ports and its links stay.", flush=True)
