"""A program that says which words it was given, and which of them others can read."""

import sys

import psutil

from core.system.hidden_links import own_words

if __name__ == "__main__":
    words = own_words()
    sys.stdout.write(f"{list(words)!a}\n{psutil.Process().cmdline()!a}\n")
