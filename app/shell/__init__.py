"""The program of the window: its start, the one that runs, signals, notifications, windows and menus."""
