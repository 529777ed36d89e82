"""The paper gallery: published figures as data, run, judged and drawn.

`catalogue` reads the folders of `papers/`, `running` runs what they ask for (cached, resumable), `results` gives the
numbers to the claims' expressions (`expression`), `claims` judges, `page` puts all pictures into one HTML file.
"""
