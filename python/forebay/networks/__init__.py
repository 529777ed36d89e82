"""Verbs on a whole network that draw what they found.

`auditing` has `fleet`: `forebay.fleets` judges the ports, and `forebay.views` makes the page.
"""
