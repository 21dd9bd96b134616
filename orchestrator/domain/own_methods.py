"""The names of the reads that the program answers itself: what a method of the portal needs, and who changed a record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from state.stored import JsonObject

HELP: Final = "method.help"
"""What a method of the portal needs, from the program's catalogue."""
HISTORY: Final = "history.of"
"""Who changed a record, from the program's journal."""
OWN_READS: Final = frozenset({HELP, HISTORY})


@dataclass(frozen=True, kw_only=True)
class HelpTexts:
    """What the data files give for the help: worked examples by method, and a value of each kind of field for examples made by code."""

    examples: Mapping[str, JsonObject] = field(default_factory=dict)
    """The parameters of a worked example, by the method's name."""
    samples: Mapping[str, object] = field(default_factory=dict)
