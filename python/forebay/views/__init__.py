"""What people look at: tables, plots, pages. Reads answers and computes none."""
