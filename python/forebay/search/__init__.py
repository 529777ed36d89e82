"""The smallest buffer that meets the goals, and how sure that is. Above are views and commands, below the engines.

The life cycle of `recommend` has five stages: Question, Plan, Search, Evidence, Recommendation.

1. `recommendation` makes objects of the keywords: `Goals` (`goals`), `Sizing`, `Precision`, `Execution` and `Extras`
   (`options`). Each object checks itself. `choice` makes one case of each combination of listed values.
2. Question (`question`): each case becomes a `Question` with its variable, a `BufferVariable` or a `RangeVariable`.
   `goals` and `measurable` check the goals. `parameter_rules` has published rules for a key, and `rare_states`
   lengthens the runs if a state needs it. From here on the variable holds the scenario.
3. Plan (`planning`, `plan`): a `Plan` has the range, the buffers to measure in any case, and the error probability.
   `delay_bound` adds what is derived without runs.
4. Search (`searching`): within a `TimeBudget` (`time_budget`) a search runs: `smallest` with `confirmation`, `quick`,
   or `ladder` with smaller links (`scaling`). All of them are a `SearchState`. `bracketing`, `noisy_threshold` and
   `noisy_root` locate the threshold, and `goal_test` decides on goals. `measurements` runs the jobs, by `strata` of
   random states (`overlaps`), and `resumption` keeps them. `optimizing` continues to the best value of a metric.
5. Evidence (`evidence`): the `Outcome` and everything that was measured. `configured` judges the configured buffer,
   and `twins` varies the hosts.
6. Recommendation (`answering`, `answer`): `findings` makes the parts (`answer_parts`), with a `rule_verdict` on each
   rule, and `evidence_warnings` the warnings. `ranking` picks the best of several answers, and `variations` repeats the
   search with changed traffic (`sensitivity`). `unmeasured` withholds the confidence if the scenario does not support
   it.

Invariants: a scenario enters each file once. Nothing but `measurements` knows an engine. A `Listener` (`listener`) is
told what happens, and cannot change it. Evidence and answers never change.

Other questions use the same stages. `checking` judges given buffers by `sequential_test`. `class_sizing` sizes all
classes of a port (`port_classes`) in the steps of `class_steps`, and `port_sizing` the values of a lossless port
(`port_values`) in those of `port_steps`, for the goals of `port_goals`; `sizing_steps` has the common part. `limiting`
finds the limit that drops packets at a checked port. `surveying` maps two keys by `survey`, which knows places and
reports only.

Examples
--------
>>> from forebay.search.recommendation import recommend
>>> answer = recommend(scenario, ["utilization>=0.99"])
"""
