"""The contract of algorithms: what every congestion control and every queue discipline has to meet.

1. `conforming` reads the file of a user and finds the class.
2. `static_checks` reads the text, and runs nothing.
3. `control_checks` or `queue_checks` run small scenarios of `trials`, one with a `probe` inside of the class
   or a `module_probe` inside of the module.
4. Each check gives one `answer.Check`: a verdict, a figure, and what is allowed.

The allowed values are those that forebay's own algorithms meet: `tests/contract/test_built_in_algorithms.py`.
"""
