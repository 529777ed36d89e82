"""Views of answers: tables, plots and pages. They read answers and compute none; commands choose among them.

- Text: `opening` and `answer_sentences` have the first sentences of a recommendation, which every view shares.
  `recommendation_text`, `reports` and `comparison_tables` print tables that `fitting` adapts to the terminal.
- A chart is plain data (`chart`), which modules such as `recommendation_charts` and `comparison_picture` make of an
  answer. `chart_figure` draws it with Matplotlib for files, and `chart_svg` makes SVG of that for pages.
- A page is a template of `templates` with a view model of formatted texts (`pages`). Markup is in templates only.
"""
