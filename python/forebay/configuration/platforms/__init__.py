"""Router operating systems: a file or a folder each, put together in `registry`.

A router's operating system is a `Router` of `routers`, made of the forms of `forms`. `docs/configurations.md` has a
column for each.
"""
