"""What reads files, texts and options that nobody vouches for, and the laws that hold whatever they are.

A target takes any bytes; it raises where a law is broken and returns otherwise. `python -m tests.attacks` feeds them,
with files or with inputs of a fuzzer; `test_attacks.py` feeds every file of every corpus, without a fuzzer.
"""
