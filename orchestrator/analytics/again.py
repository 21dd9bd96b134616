"""The last report with keys changed: «а по источникам?», «за прошлый», «без Бориса»."""

from collections.abc import Mapping
from typing import Final

from orchestrator.analytics.names import SUBJECT_SYNONYMS
from orchestrator.analytics.reading import Misunderstood
from state.stored import JsonObject

_LEANS_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "period": ("compare", "plan", "explain", "expects", "at"),
    "compare": ("explain", "expects"),
    "group_by": ("top", "order", "abc"),
}
"""What makes no sense once a key is gone."""
_DRIVES_OUT: Final[Mapping[str, tuple[str, ...]]] = {
    "funnel": ("group_by", "measures", "where", "by", "top", "order", "plan", "at", "abc", "per", "explain", "expects", "show"),
    "at": ("funnel", "where", "compare", "plan", "abc", "per", "explain", "expects", "show"),
    "abc": ("compare", "plan", "funnel", "at", "per", "top", "explain", "expects", "show"),
    "per": ("top", "compare", "plan", "funnel", "at", "abc", "explain", "expects", "show"),
    "group_by": ("funnel", "abc", "show"),
    "measures": ("funnel", "order"),
    "where": ("funnel", "at", "by"),
    "compare": ("at", "abc", "per"),
}
"""What a new key replaces, unless it is asked for in the same breath."""


def choose_question(params: object, last: JsonObject | None) -> object:
    """The question itself, or the last one with the changes of `again`. Raises Misunderstood if there is nothing to ask again."""
    if not isinstance(params, Mapping) or "again" not in params:
        return params
    changes = params["again"]
    if set(params) != {"again"} or not isinstance(changes, Mapping):
        raise Misunderstood('"again" stands alone and holds the keys that change, such as {"again":{"group_by":"source"}}.')
    if last is None and "of" not in changes:
        raise Misunderstood('there is no last report to change, so ask with "of".')
    return merge_question(last or {}, changes)


def merge_question(last: JsonObject, changes: JsonObject) -> dict[str, object]:
    """`null` removes a key; conditions of `filter` are changed one by one; another subject starts anew."""
    subject = changes.get("of")
    if subject is not None and (SUBJECT_SYNONYMS.get(subject, subject) if isinstance(subject, str) else subject) != last.get("of"):
        return {key: value for key, value in changes.items() if value is not None}
    merged: dict[str, object] = dict(last)
    for key, value in changes.items():
        gone = _LEANS_ON.get(key, ()) if value is None else _DRIVES_OUT.get(key, ())
        for other in gone:
            if other not in changes:
                merged.pop(other, None)
        merged[key] = _merge_filter(last.get("filter"), value) if key == "filter" else value
    return {key: value for key, value in merged.items() if value is not None}


def _merge_filter(last: object, changes: object) -> object:
    if not isinstance(last, Mapping) or not isinstance(changes, Mapping):
        return changes
    merged = {key: value for key, value in {**last, **changes}.items() if value is not None}
    return merged or None
