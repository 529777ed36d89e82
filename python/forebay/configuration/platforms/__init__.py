"""Router operating systems: a file or a folder each, put together in `registry`."""
