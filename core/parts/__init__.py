"""The training part: torch and what comes with it, chosen for this computer and got at first use."""
