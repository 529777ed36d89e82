"""Views of answers: tables, plots and pages. They read answers and compute none."""
