"""Converts between the JSON of effects and values of Mongo; an object is compared with `$eq`, so that nothing in it acts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from bson import Code, DBRef, Decimal128, Int64, ObjectId, Regex, Timestamp

from orchestrator.gate.call.kinds.mongo_queries import COMPARISONS, is_typed, parse_moment
from state.canonical import to_storable
from state.clock import format_iso

MAX_ANSWER_DEPTH: Final = 20
_ID_DIGITS: Final = 24


def build_filter(query: Mapping[str, Any]) -> dict[str, Any]:
    """`query` is checked before. A text like an id finds both the text and the id."""
    return {key: _build_condition(key, value) for key, value in query.items()}


def to_bson(value: Any) -> Any:
    """`value` is checked before."""
    if is_typed(value):
        ((kind, text),) = value.items()
        return _build_typed(kind, text)
    if isinstance(value, Mapping):
        return {key: to_bson(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_bson(one) for one in value]
    return value


def to_json(value: Any, depth: int = 0) -> Any:
    """For people and models; it cannot always be turned back."""
    if depth > MAX_ANSWER_DEPTH:
        return "…"
    match value:
        case Mapping():
            return to_storable({str(key): to_json(one, depth + 1) for key, one in value.items()})
        case list() | tuple():
            return [to_json(one, depth + 1) for one in value]
        case Int64():
            return to_storable(int(value))
        case datetime():
            return format_iso(value if value.tzinfo else value.replace(tzinfo=UTC))
        case Timestamp():
            return format_iso(value.as_datetime())
        case bytes():
            return f"({len(value)} bytes)"
        case Regex():
            return f"/{to_storable(str(value.pattern))}/"
        case Code() | ObjectId() | Decimal128() | DBRef():
            return to_storable(str(value))
        case _:
            return to_storable(value)


def to_typed_json(value: Any) -> Any:
    """`to_bson` inverts it. Raises ValueError for other types."""
    match value:
        case Mapping():
            return {str(key): to_typed_json(one) for key, one in value.items()}
        case list() | tuple():
            return [to_typed_json(one) for one in value]
        case ObjectId():
            return {"$oid": str(value)}
        case datetime():
            return {"$date": format_iso(value if value.tzinfo else value.replace(tzinfo=UTC))}
        case Decimal128():
            return {"$numberDecimal": str(value)}
        case None | bool() | str() | int() | float() if not isinstance(value, Code):
            return int(value) if isinstance(value, Int64) else value
        case _:
            msg = f"{type(value).__name__} has no form in JSON"
            raise ValueError(msg)


def _build_typed(kind: str, text: str) -> ObjectId | datetime | Decimal128:
    match kind:
        case "$oid":
            return ObjectId(text)
        case "$date":
            return parse_moment(text)
        case _:
            return Decimal128(text)


def _build_condition(key: str, value: Any) -> Any:
    if key in {"$and", "$or", "$nor"}:
        return [build_filter(one) for one in value]
    if not isinstance(value, Mapping | list) or is_typed(value):
        plain = to_bson(value)
        return {"$in": _list_ids([plain])} if key == "_id" else plain
    if isinstance(value, Mapping) and any(name.startswith("$") for name in value):
        return {name: _build_operand(key, name, one) for name, one in value.items()}
    return {"$eq": to_bson(value)}


def _build_operand(key: str, operator: str, operand: Any) -> Any:
    if operator in {"$not", "$elemMatch"}:
        return _build_condition(key, operand) if next(iter(operand)) in COMPARISONS else build_filter(operand)
    plain = to_bson(operand)
    return _list_ids(plain) if key == "_id" and operator in {"$in", "$nin"} else plain


def _list_ids(values: list[Any]) -> list[Any]:
    """Beside each text that may be an id, the id itself."""
    ids = list(values)
    ids += [ObjectId(one) for one in values if isinstance(one, str) and len(one) == _ID_DIGITS and ObjectId.is_valid(one)]
    return ids
