"""What a day is for, by its field: whether it may be past, and where words without a year look.

The lists stand in data/language/date_places.yaml.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

from bitrix.catalogue.names import to_field_key
from orchestrator.language.date_format import PastRule
from orchestrator.language.day_phrase import Look
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.periods import Side

Purpose = Literal["plan", "event", "fact"]
"""Planned and not past; at a time that is named; what has been."""

_TABLE: Final = load_lexicon("date_places")
_DAYS: Final = frozenset(_TABLE.read_words("days"))
_PLANS: Final = frozenset(_TABLE.read_words("plans"))
_FACTS: Final = frozenset(_TABLE.read_words("facts"))
_AHEAD: Final = frozenset(_TABLE.read_words("ahead_in_filters"))
_BOUNDS: Final[Mapping[str, Side]] = {
    name: "start" if side == "start" else "end" for name, side in _TABLE.read_table("read_bounds").items()
}
_FINISHED: Final = {name: frozenset(values.split()) for name, values in _TABLE.read_table("finished").items()}
_UNFINISHED: Final = {name: frozenset(values.split()) for name, values in _TABLE.read_table("unfinished").items()}
_STAGES: Final = frozenset(_TABLE.read_words("stages"))
_FINAL_STAGES: Final = frozenset(_TABLE.read_words("final_stages"))
_PAST_RULES: Final[Mapping[Purpose, PastRule]] = {"plan": "refused", "event": "named", "fact": "meant"}
_OPERATOR: Final = re.compile(r"[<>=!@%]*")


def split_operator(key: str) -> tuple[str, str]:
    """(">=", "DATE_CREATE")."""
    match = _OPERATOR.match(key)
    end = match.end() if match is not None else 0
    return key[:end], key[end:]


def holds_day(key: str) -> bool:
    """`key` is the field's normalized name."""
    return key in _DAYS


def find_purpose(key: str, fields: Mapping[str, object]) -> Purpose:
    """`fields` are those written beside it."""
    if key in _FACTS:
        return "fact"
    if key not in _PLANS:
        return "event"
    return "fact" if is_finished(fields) else "plan"


def find_past_rule(purpose: Purpose) -> PastRule:
    return _PAST_RULES[purpose]


def find_look(key: str, conditions: Mapping[str, object]) -> Look:
    if is_finished(conditions):
        return "back"
    is_open = key in _PLANS and _has_sign(conditions, _UNFINISHED)
    return "ahead" if key in _AHEAD or is_open else "back"


def find_read_bound(name: str) -> Side | None:
    """Of a period, for a parameter of a reading method."""
    return _BOUNDS.get(name.lower())


def is_finished(values: Mapping[str, object]) -> bool:
    """What the fields or conditions are about is finished."""
    if _has_sign(values, _FINISHED):
        return True
    stages = (value for name, value in values.items() if to_field_key(split_operator(name)[1]) in _STAGES)
    return any(str(stage).rpartition(":")[2].lower() in _FINAL_STAGES for stage in stages)


def _has_sign(values: Mapping[str, object], signs: Mapping[str, frozenset[str]]) -> bool:
    for name, value in values.items():
        operator, field = split_operator(name)
        sign_values = signs.get(to_field_key(field)) if operator in {"", "=", "@"} else None
        several = value if isinstance(value, list) else [value]
        if sign_values and several and all(str(item).lower() in sign_values for item in several):
            return True
    return False
