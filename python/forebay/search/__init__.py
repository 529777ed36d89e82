"""The smallest buffer that meets the goals, and how sure that is. Above are views and commands, below the engines.

The course of `recommend`:

1. `recommendation` checks the goals (`measurable`) and chooses the variable: a buffer (`buffer_variable`), a key
   between two ends (`range_variable`), or each of some words (`choice`, ordered by `ranking`). `value` converts a value
   of a key to the whole number of a search. `parameter_rules` has published rules for a key.
2. `smallest` searches for a confident answer, `quick` for a fast one, within the time of `time_budget`. `ladder`
   narrows the range first if runs take long, by searches on smaller links (`scaling`). `optimizing` continues to the
   best value of a metric (`optimum`).
3. `search_state` holds the observations, proves what is impossible, and asks for more. `goal_test` decides on goals.
   `bracketing` and `noisy_threshold` locate the threshold. `strata`, `rare_states` and `overlaps` choose runs by random
   states.
4. `measurements` runs the jobs, and `resumption` stores them. `interpolation` estimates between measured buffers.
5. `findings` makes the `answer`, with a `rule_verdict` on each rule. `independence`, `twins` and `unmeasured` withhold
   the confidence if the runs or the scenario do not support it.

Other questions use the same parts: `checking` judges given buffers by `sequential_test`, `class_sizing` sizes all
classes of a port, and `surveying` maps two settings by `survey`, which knows places and reports only. Its answer is in
`feasible`.
"""
