"""Engine's side of the worker process: frames on the pipe for words, a memory-mapped file for numbers."""
