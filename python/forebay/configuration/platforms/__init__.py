"""Router operating systems: a file or a folder for each, collected in `registry`.

A router's operating system is a `Router` of `routers`, made of the forms of `forms`.
`docs/reference/platforms.md` has a column for each.
"""
