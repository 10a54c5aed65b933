"""The engine as the window knows it: its process, the connection, what it reports, and wishes sent to it."""
