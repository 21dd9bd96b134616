"""The demo model's words, rules and sentences as data, loaded once."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def load(name: str) -> Any:
    """Return the parsed YAML file `name`.yaml of this folder; the result is cached. Raises FileNotFoundError if there is none."""
    text = files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader, in C
