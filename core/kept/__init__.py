"""Files that this computer keeps of a collaboration: states, means, shards, and what codecs still owe."""
