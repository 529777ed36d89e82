"""Inputs beside a scenario: goals, traces of links, bundled scenarios and bounds of arguments."""
