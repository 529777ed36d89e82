"""Audits a whole network: one row per port in, one verdict per port out.

1. `inventory` reads files and folders. An importer of `importers` turns each format into the columns of `columns`.
2. Every row that cannot be used is listed with its file, line and reason. All other rows are ports.
3. `synthetic` makes a network with known errors.

No module here prints, and polars is imported only inside of functions, because it is an optional package.
"""
