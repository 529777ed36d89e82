"""The laboratory: the engines in a page that needs no server.

The source of the page is in `lab/`, and `make lab` builds it. `page` puts a scenario into
the page, and `widget` shows it in a notebook.
"""
