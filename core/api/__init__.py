"""What the app, the command line and the engine share: snapshots up, commands down."""
