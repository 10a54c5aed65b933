"""The ledger, the board that shows it, and receipts as evidence."""
