"""The audit of a whole network: every port of an inventory gets a verdict on its buffer.

1. `inventory` reads files and folders. An importer of `importers` turns each format into the columns of `columns`.
   Every row that cannot be used is listed with its file, line and reason.
2. `profiles` assigns a profile to each port; `observed` makes one of a capture, and `port_classes` puts its flows into
   the classes of the port.
3. `questions` makes one question of each set of equal ports. A question has no names of ports.
4. `first_stage` answers with the atlas and bounds; `sampling` checks a sample of its verdicts.
5. `packet_stage` asks for packet runs at quick precision; `search_stage` searches where the change matters most.
6. `measuring` makes the runs, here or on a cluster; `store` keeps each of them.
7. `auditing` runs the stages; `answer` is the typed result. `changes` writes the lines that change wrong ports, and
   `comparing` the differences of two audits. `synthetic` makes a network with known errors.

No module here prints, and polars is imported only inside of functions, because it is an optional package.
"""
