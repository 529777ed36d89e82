"""The papers: a folder each with scenarios, claims and drawings, and the code that runs, judges and shows them.

`catalog` reads the folders, and `running` runs their scenarios (cached, resumable). `results` gives the numbers to the
claims' expressions (`expression`), `claims` judges, and `page` puts all pictures into one HTML file.
"""
