"""Types shared by the app, the command line and the engine: snapshots up, commands down."""
