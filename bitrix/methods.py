"""Ring 1. What a method name may look like on the wire; refuses every second spelling of the same method."""

import re

# The same method answers to `x.json`, `x/`, `/x` and `X`: only one plain spelling is let through.
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*", re.ASCII)
_SUFFIXES = (".json", ".xml")
_MAX_LENGTH = 100


def is_method_name(name: str) -> bool:
    """Whether `name` is dotted words of Latin letters, digits and underscores, with no format suffix."""
    return len(name) <= _MAX_LENGTH and _NAME.fullmatch(name) is not None and not name.lower().endswith(_SUFFIXES)
