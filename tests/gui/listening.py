"""Writes what a window tells on the accessibility bus, a line of JSON for each focus, announcement and alert.

    /usr/bin/python3 tests/gui/listening.py FILE

Run by the system's own Python, for which Debian packs the bindings (python3-gi, gir1.2-atspi-2.0).
"""

import json
import sys
from pathlib import Path

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402

KINDS = ("object:state-changed:focused", "object:active-descendant-changed", "object:announcement", "object:alert")
STATES = ("checked", "pressed", "selected", "expanded", "enabled")


def main() -> None:
    known: list[object] = []
    with Path(sys.argv[1]).open("a", encoding="utf-8", buffering=1) as file:

        def hear(event) -> None:
            if event.type == KINDS[0] and not event.detail1:
                return
            words = str(event.any_data) if event.type == KINDS[2] else ""
            source = event.any_data if event.type == KINDS[1] else event.source
            file.write(json.dumps({"kind": event.type, "words": words, **told(source, known)}) + "\n")

        listener = Atspi.EventListener.new(hear)
        for kind in KINDS:
            listener.register(kind)
        file.write("{}\n")
        Atspi.event_main()


def told(source, known: list[object]) -> dict[str, object]:
    """Number, role, name, description and states of an object, as a screen reader gets them."""
    try:
        if source not in known:
            known.append(source)
        states = source.get_state_set()
        return {
            "number": known.index(source),
            "role": source.get_role_name(),
            "name": source.get_name(),
            "description": source.get_description(),
            "states": [name for name in STATES if states.contains(getattr(Atspi.StateType, name.upper()))],
        }
    except Exception as gone:  # noqa: BLE001 - of many kinds, when the object has gone meanwhile
        return {"gone": str(gone)}


if __name__ == "__main__":
    main()
