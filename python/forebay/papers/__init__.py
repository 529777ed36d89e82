"""The papers: a folder each with scenarios, claims and drawings, and what runs, judges and shows them.

`catalog` reads the folders, `running` runs what they ask for (cached, resumable), `results` gives the numbers to
the claims' expressions (`expression`), `claims` judges, `page` puts all pictures into one HTML file.
"""
