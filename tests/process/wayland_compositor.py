"""A Wayland compositor without a screen, made with libwayland: its words on stdin say when somebody is idle.

`python wayland_compositor.py VERSION`, with XDG_RUNTIME_DIR: prints the name of its socket, then a line for each
notification that is asked for: the request and its milliseconds.  "idled" and "resumed" on stdin are sent as events.
"""

import os
import sys

from pywayland import lib
from pywayland.protocol.ext_idle_notify_v1 import ExtIdleNotificationV1, ExtIdleNotifierV1
from pywayland.protocol.wayland import WlCompositor, WlSeat
from pywayland.protocol_core.message import Message
from pywayland.server import Display
from pywayland.server.eventloop import EventLoop

made = []
kept = []
"""libwayland holds what these own."""


def numbers(message, arguments):
    """Arguments of the requests for a notification; pywayland 0.4.19 can read those of events only."""
    return (arguments[0].n, arguments[1].u, arguments[2].o) if message.name.startswith("get_") else ()


Message.c_to_arguments = numbers


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def keep(resource):
    """Have requests to a resource answered: pywayland 0.4.19 looks for itself where it put nothing."""
    kept.append(resource)
    own = vars(resource)
    handle = own["_handle"]
    lib.wl_resource_set_dispatcher(own["_ptr"], lib.dispatcher_func, handle, handle, lib.resource_destroy_func)


def notify(request):
    def asked(notifier, number, timeout_ms, seat):
        client = lib.wl_resource_get_client(vars(notifier)["_ptr"])
        made.append(ExtIdleNotificationV1.resource_class(client, notifier.version, number))
        keep(made[-1])
        say(f"{request} {timeout_ms}")

    return asked


def bound(notifier):
    keep(notifier)
    for request in ("get_idle_notification", "get_input_idle_notification")[: notifier.version]:
        notifier.dispatcher[request] = notify(request)


def main(version):
    display = Display()
    seat, notifier = WlSeat.global_class(display, 5), ExtIdleNotifierV1.global_class(display, version)
    seat.bind_func, notifier.bind_func = keep, bound
    kept.extend([WlCompositor.global_class(display), seat, notifier])

    def heard(fd, mask, data):
        for word in os.read(fd, 4096).decode().split():
            for each in made:
                getattr(each, word)()

    kept.append(display.get_event_loop().add_fd(0, heard, EventLoop.FdMask.WL_EVENT_READABLE, None))
    say(display.add_socket())
    display.run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
