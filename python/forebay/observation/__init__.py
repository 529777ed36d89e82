"""Scenarios from measurements of a network: captures, flow records, counters and sockets.

`observing` runs the stages in this order. Each stage passes its result on as a value.

1. Inputs: `inputs.recognition` finds the input of each file. `inputs.registry` lists all inputs.
2. Readings: the input reads its files. `captures` reads packets, `records` flow records, `counters` a port's counters,
   and `sockets` dumps of sockets. `consistency` refuses captures that contradict themselves.
3. Direction and sides: `captures` and `capture_sides` choose the direction of a capture, and order two captures of one
   queue. `clock_offset` puts them on one clock. `busy_hour` chooses the described part of a day.
4. Link rate: `link_rate` measures it, and `capture_link` accepts it or explains why it is unknown. `rate_bound` gives
   the least rate. Other inputs state the rate.
5. Load: `load` describes bytes over time: mean, quantiles, burstiness, memory.
6. Round trips: `round_trips` estimates base round trips of the streams of a capture.
7. Flows: `capture_flows` asks `limits` with `schedules`, `controllers` with `congestion_signals`, and `queues`.
   `sizes` and `arrivals` describe transfers, and `regime` names the regime.
8. Scenario: the input makes a `Finding`, and `writing` a scenario of it.

Every number is an `IntervalEstimate` or an `Unknown` (`estimate`). To add an input, write a file in `inputs` and name
it in its registry:

    LINES = CounterInput("Influx line protocol", accepts, (Yields.COUNTERS,), read_lines)
"""
