"""Many verdicts in a few numbers."""

from collections.abc import Sequence
from typing import Any

from core.api.numbers import amount

TARGET = 1.05
"""Permitted duration of a round in units of its bound."""
SHOWN_MAX = 20


def spread(numbers: Sequence[float]) -> dict[str, float]:
    """Median, 95th percentile (nearest rank) and greatest; zeros when there are none."""
    ordered = sorted(numbers)
    if not ordered:
        return {"median": 0.0, "p95": 0.0, "max": 0.0}
    rank = -(-95 * len(ordered) // 100)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    found = {"median": median, "p95": ordered[rank - 1], "max": ordered[-1]}
    return {name: float(f"{number:.4g}") for name, number in found.items()}


def fleet_summary(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How near to their bounds the rounds came.

    `failed`: seeds whose round is over the target, not whole, or wrong.
    """
    right = [v for v in verdicts if v["finished"] == v["members"] and v["same"]]
    within = {v["seed"] for v in right if v["ratio"] <= TARGET}
    worst = sorted(verdicts, key=lambda v: (-v["ratio"], v["seed"]))[:5]
    return {
        "fleets": len(verdicts),
        "ratio": spread([v["ratio"] for v in verdicts]),
        "within_target": len(within),
        "target": TARGET,
        "wrong": len(verdicts) - len(right),
        "relative_error": max((v["relative_error"] for v in verdicts), default=0.0),
        "messages": sum(v["messages"] for v in verdicts),
        "worst": [{name: v[name] for name in ("seed", "members", "bound_s", "round_s", "ratio")} for v in worst],
        "failed": [v["seed"] for v in verdicts if v["seed"] not in within],
    }


def fleet_report(summary: dict[str, Any]) -> str:
    """Write the summary of fleets for people."""
    ratio = summary["ratio"]
    lines = [
        f"{amount(summary['fleets'])} fleets, {amount(summary['messages'])} messages, {summary['wall_s']:.0f} s.",
        (
            f"A round takes {ratio['median']:.3f} times what its lines allow (median), {ratio['p95']:.3f} (p95), "
            f"{ratio['max']:.3f} (most); {summary['within_target']} are within {summary['target']}. The slowest:"
        ),
        *(
            f"  seed {v['seed']}: {v['members']} members, {v['round_s']} s where {v['bound_s']} s are the bound: "
            f"{v['ratio']:.3f} times{', which is TOO MUCH' if v['ratio'] > summary['target'] else ''}"
            for v in summary["worst"]
        ),
    ]
    if summary["wrong"]:
        lines.append(f"{summary['wrong']} rounds went wrong.")
    return "\n".join(lines)


def death_summary(verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Cost of deaths.  `failed`: seeds in which a checker found something."""
    struck = [v for v in verdicts if v["died"]]
    told = [v["lost_s"] for v in struck if not v["silent"]]
    return {
        "rounds": len(verdicts),
        "rounds_with_deaths": len(struck),
        "deaths": sum(v["died"] for v in verdicts),
        "members": sum(v["members"] for v in verdicts),
        "succeeded": sum(v["succeeded"] for v in verdicts),
        "succeeded_share": round(sum(v["succeeded"] for v in struck) / len(struck), 5) if struck else 1.0,
        "sent_home": sum(v["failed"] for v in verdicts),
        "truncated": sum(v["truncated"] for v in verdicts),
        "partial": sum(bool(v.get("partial")) for v in verdicts),
        "undisturbed_s": spread([round(v["seconds"] - v["lost_s"], 3) for v in verdicts]),
        "lost_s": spread([v["lost_s"] for v in struck]),
        "lost_by_crashes_s": spread(told),
        "lost_by_power_cuts_s": spread([v["lost_s"] for v in struck if v["silent"]]),
        "error": spread([v["error"] for v in verdicts]),
        "survivors_error": spread([v["survivors_error"] for v in verdicts]),
        "failed": [v["seed"] for v in verdicts if v["problem"]],
    }


def death_report(summary: dict[str, Any]) -> str:
    """Write the summary of deaths for people."""
    lost, told, silent = summary["lost_s"], summary["lost_by_crashes_s"], summary["lost_by_power_cuts_s"]
    failed = summary["failed"]
    lines = [
        (
            f"{amount(summary['rounds'])} rounds, {amount(summary['deaths'])} of {amount(summary['members'])} members "
            f"died in {amount(summary['rounds_with_deaths'])} of them; {summary['wall_s']:.0f} s."
        ),
        (
            f"In {summary['succeeded_share']:.3%} of those all survivors hold the mean; "
            f"{amount(summary['sent_home'])} survivors went home without it; "
            f"in {amount(summary['truncated'])} rounds a survivor's part is missing."
        ),
        (
            f"Undisturbed a round takes {summary['undisturbed_s']['median']:.1f} s.  A death costs "
            f"{lost['median']:z.1f} s (median), {lost['p95']:z.1f} s (p95), {lost['max']:z.1f} s (most); "
            f"a crash {told['median']:z.1f} s, a power cut {silent['median']:z.1f} s (medians)."
        ),
        (
            f"The mean is at most {summary['error']['max']:.1e} off the exact one of those whose parts it holds; "
            f"parts of the dead move it by {summary['survivors_error']['median']:.2f} (median)."
        ),
    ]
    if failed:
        more = f" and {len(failed) - SHOWN_MAX} more" if len(failed) > SHOWN_MAX else ""
        lines.append(f"{len(failed)} failed: {', '.join(map(str, failed[:SHOWN_MAX]))}{more}.")
    else:
        lines.append("No checker found anything wrong.")
    return "\n".join(lines)
