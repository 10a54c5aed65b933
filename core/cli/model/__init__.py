"""Commands that use the model: try, ask, export, publish."""
