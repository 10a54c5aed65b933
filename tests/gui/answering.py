"""A program in the place of `potluck`, which keeps what it was asked, and what it says of collaborations."""

from core.api.hosting import BackboneState, JoinedView
from core.api.joined import KeptRefusal
from core.api.turns import WhyNot

LINK = f"potluck://192.168.1.7:40711/{'ab' * 32}#2k4YCCvUQC02y63kKNHFFF3Tr5j76ERC"
NOW = 1.8e9
PROGRAM = """
import json, sys, time
from pathlib import Path
home = Path(sys.argv[sys.argv.index("--home") + 1])
words = sys.argv[1:sys.argv.index("--json")]
with (home / "calls").open("a") as calls:
    calls.write(json.dumps(words) + "\\n")
refused = {"event": "problem", "code": "bad_input", "message": "It cannot be.", "hint": "Do another thing."}
link = (home / "link").read_text() if (home / "link").exists() else ""
match words[0]:
    case "collaborations":
        print((home / "joined").read_text())
    case "invite":
        print(json.dumps({"event": "invitation", "link": link} if link else refused))
    case "where":
        print(json.dumps({"event": "where", "home": "192.168.1.7", "outside": "", "router": "closed"}))
    case "directory":
        print((home / "directory").read_text() if (home / "directory").exists() else json.dumps(refused))
    case "found":
        for share in (0.1, 0.6):
            print(json.dumps({"event": "progress", "share": share, "text": "Reading text"}), flush=True)
        while (home / "slow").exists():
            time.sleep(0.02)
        said = {"event": "founded", "link": link, "charter": str(home / "founded"), "running": True,
                "ports": {"desk": 4001, "peers": 4002}, "text": [{"documents": 3}]}
        print(json.dumps(said if link else refused))
    case _:
        print(json.dumps({"event": "joined", "running": True, "name": "Poems"}))
"""


def joined():
    """One of each kind."""
    now, ids = NOW, [f"{number:02x}" * 32 for number in range(1, 7)]
    shut_out = KeptRefusal("The organiser has shut this computer out of the collaboration.", "Ask them.")
    own = {"charter": "/home/ada/founded/own", "samples": 3}
    return [
        JoinedView(id="ab" * 32, name="Kitchen words", summary="It writes.", current=True, served_at=now, **own,
                   backbone=BackboneState.RUNS),
        JoinedView(id=ids[1], name="Three <b>languages</b>", summary="Novels.", samples=31337, served_at=now - 99_999),
        JoinedView(id=ids[2], name="Old poems", why_not=WhyNot.ENDED, closed=True, samples=120),
        JoinedView(id=ids[3], name="Village stories", why_not=WhyNot.REFUSED, refusal=shut_out),
        JoinedView(id=ids[4], name="Far away", why_not=WhyNot.UNREACHABLE),
        JoinedView(id=ids[5], name="My first", joined=False, backbone=BackboneState.OFF, **own),
    ]  # fmt: skip
