"""The worker that hosts experts: computes batches of many trainers' calls, and has the experts learn from them."""
