"""What a network already measures, read as a scenario: captures, flow records, counters and sockets."""
