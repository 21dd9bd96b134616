"""Reads the hostile conditions of the corpus, and holds the variables with which they are tried."""

from pathlib import Path
from typing import Any, Final

import yaml

CORPUS: Final = Path(__file__).resolve().parents[2] / "corpus" / "hostile_conditions.yaml"


def read_hostile() -> list[str]:
    """Return the source of every hostile condition."""
    groups = yaml.safe_load(CORPUS.read_text(encoding="utf-8"))
    return [_expand(entry) for entries in groups.values() for entry in entries]


def _expand(entry: str | list[Any]) -> str:
    if isinstance(entry, str):
        return entry
    head, part, times, tail = entry
    return str(head + part * times + tail)


def build_names() -> dict[str, Any]:
    """Return the variables of which the corpus knows."""
    return {
        "n": 5, "text": "abc", "typed": "1) or __import__('os').system('id') or (1", "items": [1, 2, 3],
        "deal": {"title": "Ромашка", "sum": 150000}, "huge": ("a" * 9_000), "long": ([0] * 9_000),
    }  # fmt: skip
