"""The person's choices while the engine runs: read, changed, kept, and in force at once.

Without an engine the command line changes them by the same rules (`changed`).
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import msgspec

from core.api.modes import CARDS_MAX, FOR_S_MAX, SUBJECTS, UseSwitch
from core.api.settings import FIELDS, SettingsView
from core.base.problems import BadInput, Sentence, quoted
from core.engine.limits.setting_checks import checked
from core.storage.settings import Settings, load_settings, save_settings


class Preferences:
    """Reads, checks and saves the person's choices, and puts them into force at once.

    Args:
        path: Where they are kept.
        settings: As they were read.
    """

    def __init__(self, path: Path, settings: Settings) -> None:
        self.settings = settings
        """As they are now."""
        self._path = path
        self._followers: list[Callable[[Settings], object]] = []

    def follow(self, told: Callable[[Settings], object]) -> Callable[[], None]:
        """Call `told` with the settings whenever the person has changed them.

        Returns:
            What ends that.
        """
        self._followers.append(told)
        return lambda: self._followers.remove(told)

    def reload(self, random: Random) -> Sentence | None:
        """Read them again, have them in force, and write them if a port had to be drawn or the file is not there.

        Args:
            random: Draws the port.

        Returns:
            A sentence for the person, when the file was damaged and set aside.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        read = load_settings(self._path)
        self._hold(read.settings.with_port(random))
        if self.settings != read.settings or not self._path.exists():
            self.save()
        return read.notice

    def save(self) -> None:
        """Write them.

        Raises:
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        save_settings(self._path, self.settings)

    def switch(self, subject: str, *, on: bool, until: float | None = None, now: float) -> None:
        """Pause something or take a pause back; that holds at once, and even if `save` cannot write it.

        Args:
            subject: What is switched (`core.api.modes.SWITCHED`).
            on: Whether it is used again.
            until: Unix seconds; None: without an end.
            now: The moment of the wish, unix seconds.
        """
        self._hold(switched(self.settings, subject, on=on, until=until, now=now))

    def change(self, wish: Mapping[str, object]) -> None:
        """Do what the person wants, all of it or nothing.

        Raises:
            BadSetting: something of it cannot be.
            BadInput: it names something that is not a setting.
            NoSpace: the disk is full; nothing has changed.
            UserProblem: the system does not let us write; nothing has changed.
        """
        settings = changed(self.settings, wish)
        save_settings(self._path, settings)
        self._hold(settings)

    def _hold(self, settings: Settings) -> None:
        """Have new choices in force."""
        self.settings = settings
        for told in self._followers:
            told(settings)


def changed(settings: Settings, wish: Mapping[str, object]) -> Settings:
    """The settings with the wish fulfilled.

    Args:
        settings: As they are.
        wish: See `core.api.settings.Wish`; it comes from a client and is checked here.

    Raises:
        BadSetting: something of it cannot be.
        BadInput: it names something that is not a setting.
    """
    unknown = sorted(set(wish) - set(FIELDS))
    if unknown:
        raise BadInput(
            "There is no setting {unknown}.", quoted(unknown[0]), ", ".join(FIELDS), hint="There are: {fields}."
        )
    return msgspec.structs.replace(settings, **{field: checked(field, value) for field, value in wish.items()})


def switched(settings: Settings, subject: str, *, on: bool, until: float | None, now: float) -> Settings:
    """The settings with something paused, or a pause taken back; see `Preferences.switch`."""
    before = settings.switches.named(subject)
    switch = before.on(until, now) if on else before.off(until, now)
    if subject in SUBJECTS:
        return msgspec.structs.replace(settings, **{subject: switch})
    cards = {name: each for name, each in {**settings.cards, subject: switch}.items() if each != UseSwitch()}
    return msgspec.structs.replace(settings, cards=dict(list(cards.items())[-CARDS_MAX:]))


def check_end(until: float | None, now: float) -> None:
    """See whether a switch can stand elsewhere until a moment, unix seconds.

    Raises:
        BadInput: the moment is past, or too far away.
    """
    if until is not None and not now < until <= now + FOR_S_MAX:
        days = round(FOR_S_MAX / 86_400)
        raise BadInput(
            "This time has passed, or it is too far ahead.", days, hint="Choose one within the next {days} days."
        )


def view(settings: Settings, *, month_used_bytes: int | None = None, port_now: int = 0) -> SettingsView:
    """The settings as people see them.

    Args:
        settings: As they are kept.
        month_used_bytes: Sent and received in this month.
        port_now: At which others are heard, if that is the one from the settings or should be; else 0.
    """
    drawn = "Other volunteers are heard at port {port_now} now; the next start draws another."
    chosen = "Other volunteers are heard at port {port_now} now; port {port} counts from the next start."
    later = Sentence(chosen if settings.port else drawn, port_now, settings.port)
    return SettingsView(
        **{field: getattr(settings, field) for field in FIELDS},
        month_used_bytes=month_used_bytes,
        note=str(later) if port_now not in {0, settings.port} else "",
        said=(later,) if port_now not in {0, settings.port} else (),
    )
