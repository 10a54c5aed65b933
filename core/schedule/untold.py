"""Which of the rules stop nothing here, since the system does not tell what they need."""

from core.schedule.sensed import Sensed


def untold(sensed: Sensed) -> tuple[str, ...]:
    """Names of such rules, as fields of `core.api.rules.UseRules`."""
    cards = sensed.gpus
    told = {
        "idle_minutes": sensed.idle_s is not None,
        "on_battery": sensed.on_battery is not None,
        "battery_percent": sensed.battery is not None,
        "full_screen": sensed.full_screen is not None,
        "busy_percent": sensed.busy is not None,
        "gpu_busy_percent": any(card.busy is not None for card in cards),
        "celsius_max": sensed.celsius is not None or any(card.celsius is not None for card in cards),
        "watts_max": sensed.watts is not None or any(card.watts is not None for card in cards),
    }
    return tuple(name for name, known in told.items() if not known)
