"""Attacks on the readers of untrusted files, texts and options, and the laws that every reader must obey.

A target takes any bytes; it raises where a law is broken and returns otherwise. `python -m tests.attacks` feeds them,
with files or with inputs of a fuzzer; `test_attacks.py` feeds every file of every corpus, without a fuzzer.
"""
