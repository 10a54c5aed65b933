"""Attacks on real processes in real rounds: each is shown to succeed where its defence is switched off."""
