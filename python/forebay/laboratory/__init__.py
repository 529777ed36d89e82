"""The laboratory: the engines in a page that needs no server."""
