"""`potluck sim`: the swarm's own machines in a pretended world."""

from core.cli.options import Commands, add_json, calling, whole


def add(commands: Commands) -> None:
    """Add the command to the program."""
    sim = commands.add_parser(
        "sim",
        help="run the swarm in a pretended world",
        description="The swarm's own machines in a pretended world with loss, delay and churn, reproducible by seed.",
    )
    add_json(sim)
    sim.add_argument("--seeds", type=whole(1, 1_000_000), default=1, metavar="N", help="how many worlds (default: 1)")
    sim.add_argument("--seed", type=whole(0, 2**63), default=0, metavar="N", help="of the first world (default: 0)")
    sim.add_argument("--peers", type=whole(1, 10_000), default=24, metavar="N", help="in each world (default: 24)")
    sim.add_argument("--epochs", type=whole(1, 10_000), default=3, metavar="N", help="that must end (default: 3)")
    sim.add_argument("--jobs", type=whole(1, 256), default=2, metavar="N", help="worlds at the same time (default: 2)")
    sim.set_defaults(run=calling("core.sim.__main__:run"))
