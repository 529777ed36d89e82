"""Scenario files to start from, and configuration lines of routers.

`drafting` and `jitter` make scenarios. `port` reads a `Port` from a scenario: rate, limit, discipline with its resolved
parameters, classes. A platform of `platforms` fits the port to the router, writes its lines and reads them back.
`configuring` states every difference with both figures, and counts each class by the size of its own packets.
"""
