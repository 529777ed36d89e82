"""Scenarios from measurements of a network: captures, flow records, counters and sockets.

1. `observing` is the entry. `inputs` asks the registry of `readers` for the kind of each file.
2. `captures` reads captures by `crates/capture` as `Seen`, and `doubts` refuses contradictions. `apart` puts captures
   of two hosts on one clock.
3. `interpretation` asks, in this order: `link_rate`, or `carried` if the rate is unknown; `limits` with `steadiness`;
   `round_trips`; `controllers` with `evidence` and `behaviors`, or `reductions` without timestamps; `queues`.
4. `records`, `counters` and `sockets` read the other inputs, and `others` makes findings of them. `busy_hour` chooses
   the described part of a day.
5. `joining` makes a `Finding` of a capture, and `writing` makes a scenario of any finding.

Every number is an `Estimate` or an `Unknown` (`estimate`). The statistics are in `load`, `sizes`, `arrivals`,
`regime` and `intervals`.
"""
