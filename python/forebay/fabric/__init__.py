"""Lossless Ethernet fabrics: the headroom that priority flow control (PFC) needs, and an auditor of buffers.

1. `headroom.py` reads the arguments and chooses a model or a table.
2. A model is one file: `sonic_model.py`, `mlx5_model.py` or `ieee_model.py`. Each returns a `HeadroomSum`.
3. `lookup_table.py` reads a device's static table. `table_fit.py` fits a line to it, and `table_audit.py` lists what
   is implausible in it. `table_answer.py` makes a `HeadroomSum` of a table.
4. `headroom_answer.py` has the answer for users.
5. `switch_audit.py` audits the buffers of a SONiC switch. `config_tables.py` and `switch_reader.py` make a `Switch` of
   its file. `switch_headroom.py` and `switch_memory.py` compute, and `switch_checks.py` has a function for each kind of
   finding. `audit_answer.py` has the answer for users.
6. `simulated_headroom.py` has the headroom that the model of `pfc` needs, for `forebay.search.port_values`.

Invariants: the parts of a sum add up to its `size`. The parts of `xoff` add up to `xoff`, and those of `xon` to `xon`.
Sizes are whole bytes.

Example: `forebay.headroom("100Gbps", "300m", asic="spectrum-4").xoff`.
"""
