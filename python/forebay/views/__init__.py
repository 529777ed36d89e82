"""Views of answers: tables, plots and pages. They read answers and compute none; commands choose among them.

- Text: `opening` and `answer_sentences` have the first sentences of a recommendation, which every view shares.
  `recommendation_text`, `reports` and `comparison_tables` print tables that `fitting` adapts to the terminal.
- A chart is values (`recommendation_charts`, `decision`), then shapes in pixels (`charts`, `scales`, `shapes`), then
  the template `chart.svg.j2`. `plots` draws the same values with Matplotlib.
- A page is a template of `templates` with a view model of formatted texts (`pages`). Markup is in templates only.
"""
