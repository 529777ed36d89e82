"""The audit of a whole network: every port of an inventory gets a verdict on its buffer.

The package is also the function `forebay.fleet`: both have one name, so that the package can be called.

1. `inventory` reads ports; `profiles` assigns a profile to each.
2. `questions` makes one question of each set of equal ports. A question has no names of ports.
3. `first_stage` answers with the atlas and bounds; `sampling` checks a sample of its verdicts.
4. `packet_stage` asks for packet runs at quick precision; `search_stage` searches where the change matters most.
5. `measuring` makes the runs, here or on a cluster; `store` keeps each of them.
6. `auditing` runs the stages; `answer` is the typed result.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """The package, which passes a call on to the function."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module(f"{__name__}.auditing").fleet(*arguments, **options)


sys.modules[__name__].__class__ = _Package
