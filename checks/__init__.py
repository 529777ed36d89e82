"""Checks of correctness and of speed for developers: outside of the wheel, and imported by nothing in the package.

- Reference numbers of other programs: `rows` reads them as scenarios, `reference` runs and judges, `findings` has the
  shares and biases, `summary` the tables. `reference_rows` and `ns2_rows` make rows.
- Theory: `theory` compares the packet engine with formulas.
- Real kernels: `kernel_against_packets` compares both engines, `shapers` the shapers of the packet engine with those of
  `kernel`, `emulators` the emulated link with others, and `home_link` puts a browser behind it.
- Observation: `observed` compares with known truth, `captured` with tcptrace, tshark and sockets. `circle` asks
  `recommend` about the observed scenario.
- Answers: `coverage` counts how often a sure answer is right, `atlas` computes smallest buffers over a grid of links,
  and `manual` the figures of the manual.
- Tests: `faults_by_hand` runs Rust's tests against faults, and `mutant_sample` reduces a session of cosmic-ray.
- Speed and memory: `bench`, `memory`, `lab_speed` and `lab_memory`.

`make help` lists their targets.
"""
