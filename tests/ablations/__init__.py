"""What fails without a mechanism: figures for docs/decisions."""
