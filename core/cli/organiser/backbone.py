"""The program behind `potluck backbone`, with what it tells the organiser."""

import argparse
import asyncio
import shlex
import sys
from functools import partial

from core.backbone.charter import Charter, load_charter
from core.backbone.link import Link, read_hosts
from core.backbone.offers import Offers
from core.backbone.ports import Ports, read_ports
from core.backbone.serve import Backbone, serve_backbone
from core.backbone.site_process import SiteAddress
from core.cli.printing.say import say_json
from core.cli.printing.tables import clean
from core.cli.running import EVERYWHERE, MIB, log_to_stderr
from core.net.addresses.hosts import SAID, reach
from core.net.addresses.interfaces import LOOPBACK, is_loopback
from core.net.clock import Clock
from core.system.file_limit import raise_file_limit


def run(args: argparse.Namespace) -> int:
    """`potluck backbone`; see `potluck backbone --help`."""
    log_to_stderr()
    raise_file_limit()
    charter = load_charter(args.charter.expanduser().absolute())
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
    site = None if args.site is None else SiteAddress(args.site_bind, args.site)
    if site is not None:
        site.check()
    offers = Offers(help_bytes=args.averaging_memory * MIB, shards=shards, site=site)

    def made() -> Backbone:
        clock = Clock(authority=True)
        return Backbone(charter=charter, bind=bind, clock=clock, ports=ports, offers=offers)

    say = _say_link if args.json else partial(_tell_link, charter, site)
    asyncio.run(serve_backbone(charter, made, with_parent=args.with_parent, say=say))
    return 0


def _say_link(link: Link) -> None:
    say_json({"event": "listening", "link": str(link)})


def _tell_link(charter: Charter, site: SiteAddress | None, link: Link) -> None:
    """Say to a person what runs, and what comes next."""
    folder = shlex.quote(str(charter.folder))
    print(f"The backbone of {clean(charter.manifest.name)} runs at {link.where}. It takes part, and trains nothing.")
    print(f"\nHand out the link:            {link}")
    print("Others paste it in the window, or: potluck join LINK")
    peers = read_ports(charter.folder).peers
    for each in link.each:
        print(f"{each.host} can be reached {SAID[reach(each.host)]}.")
    print(f"Ports that a router forwards: {link.port} (TCP), {peers} (TCP and UDP)")
    if site is not None:
        print(f"Its page:                     {site}")
    print(f"More links, or fewer:         potluck invite --charter {folder}")
    print(f"To shut somebody out:         potluck revoke --charter {folder} NAME")
    print("To stop it:                   Ctrl-C; its key, its ports and its links stay.", flush=True)
