"""The command line, one file per verb: options in, answers printed."""
