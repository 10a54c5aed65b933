"""What tasks with a mixture of experts are made of: the blocks that are experts, and what chooses among them."""
