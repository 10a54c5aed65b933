"""A host of experts beside plain loops over the same blocks."""
