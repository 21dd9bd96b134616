"""Lists what is allowed in queries and updates, never what is forbidden.

An object without operators is a value. Operators that run code or a pattern in the database have no place.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation, Overflow
from typing import Any, Final, TypeGuard

MAX_DEPTH: Final = 10
MAX_PARTS: Final = 2_000
MAX_KEY: Final = 200
MAX_TEXT: Final = 100_000
MAX_ALTERNATIVES: Final = 50
_ID_DIGITS: Final = 24
_LARGEST: Final = 2**53 - 1
_NUMBER: Final = re.compile(r"-?[0-9]{1,34}(?:\.[0-9]{1,34})?(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_DECIMAL128: Final = Context(prec=34, Emin=-6143, Emax=6144, clamp=1, traps=[Inexact, InvalidOperation, Overflow])
"""The numbers that a database keeps exactly; others would be rounded, or fail when sent."""

_COMBINE: Final = frozenset({"$and", "$or", "$nor"})
_ONE_VALUE: Final = frozenset({"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"})
_VALUES: Final = frozenset({"$in", "$nin", "$all"})
COMPARISONS: Final = frozenset({*_ONE_VALUE, *_VALUES, "$exists", "$size", "$not", "$elemMatch"})
UPDATES: Final = frozenset({"$set", "$unset", "$inc", "$push", "$addToSet", "$pull"})
_TYPED: Final = frozenset({"$oid", "$date", "$numberDecimal"})
"""They stand for an id, a moment or an exact number, alone in their object."""
_ODD_NAMES: Final = frozenset({"__proto__", "constructor", "prototype"})


class MongoMistake(ValueError):
    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}".encode(errors="backslashreplace").decode())  # a name may hold half of a character


def check_query(query: Mapping[str, Any], where: str = "query", depth: int = 1) -> None:
    """Raises MongoMistake."""
    _check_depth(where, depth)
    for key, value in query.items():
        place = f"{where}.{key}"
        if key in _COMBINE:
            _check_alternatives(value, place, depth)
        elif key.startswith("$"):
            raise MongoMistake(place, f"no operator that may stand here; allowed are {_list_names(_COMBINE)}, or the name of a field")
        else:
            check_field_name(key, place)
            _check_condition(value, place, depth + 1)


def check_document(document: Mapping[str, Any], where: str = "document") -> None:
    """Raises MongoMistake for an `_id`, operators, and names that a database cannot keep as one field."""
    if not document:
        raise MongoMistake(where, "it is empty; name at least one field")
    if "_id" in document:
        raise MongoMistake(f"{where}._id", "the program gives each new document its _id; keep a number of yours in a field of its own")
    _check_value(document, where, 1)


def check_update(update: Mapping[str, Any], where: str = "update") -> None:
    """Raises MongoMistake, also for a document without operators, which would replace the whole stored one."""
    if not update:
        raise MongoMistake(where, 'it changes nothing; write for example {"$set": {"status": "done"}}')
    changed: list[str] = []
    for operator, fields in update.items():
        place = f"{where}.{operator}"
        if not operator.startswith("$"):
            raise MongoMistake(place, f'write {{"$set": {{"{operator}": …}}}}: without $set the whole document would be replaced')
        if operator not in UPDATES:
            raise MongoMistake(place, f"no operator that may stand here; allowed are {_list_names(UPDATES)}")
        if not isinstance(fields, Mapping) or not fields:
            raise MongoMistake(place, "must be an object that names at least one field")
        for path, value in fields.items():
            _check_change(operator, path, value, f"{place}.{path}")
            changed.append(path)
    _check_separate(changed, where)


def check_size(tree: object, where: str) -> None:
    """Checked before anything else looks at `tree`. Raises MongoMistake."""
    for number, part in enumerate(_list_parts(tree)):
        if number >= MAX_PARTS:
            raise MongoMistake(where, f"it has more than {MAX_PARTS} parts")
        if isinstance(part, str) and len(part) > MAX_TEXT:
            raise MongoMistake(where, f"a text in it has {len(part)} characters; at most {MAX_TEXT} are sent")


def check_no_null(query: Mapping[str, Any], where: str = "query") -> None:
    """In a write's query, null and "not in []" match more than was meant. Raises MongoMistake."""
    if any(part is None for part in _list_parts(query)):
        raise MongoMistake(where, 'null also matches documents that lack the field; write {"$exists": false} if that is meant')
    if any(isinstance(part, Mapping) and _is_about_nothing(part) for part in _list_parts(query)):
        raise MongoMistake(where, "everything is outside of an empty list, so every document would match")


def _is_about_nothing(part: Mapping[str, Any]) -> bool:
    denied = [part.get("$not"), *(condition for one in part.get("$nor", ()) for condition in one.values())]
    return part.get("$nin") == [] or any(one.get(name) == [] for one in denied if isinstance(one, Mapping) for name in ("$in", "$all"))


def find_odd_names(names: Iterable[str]) -> list[str]:
    """Names that a database may not read as one field; data from outside must hold none."""
    return sorted({name for name in names if _find_oddity(name) or "." in name})


def is_typed(value: object) -> TypeGuard[Mapping[str, Any]]:
    """An object for one value of a type that JSON lacks, such as {"$oid": …}."""
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _TYPED


def parse_moment(text: str) -> datetime:
    """ISO 8601 with a time zone, to UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        msg = "the time zone is missing"
        raise ValueError(msg)
    return moment.astimezone(UTC)


def _check_alternatives(value: object, where: str, depth: int) -> None:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_ALTERNATIVES:
        raise MongoMistake(where, f"must be a list of 1 to {MAX_ALTERNATIVES} queries")
    for number, alternative in enumerate(value):
        if not isinstance(alternative, Mapping) or not alternative:
            raise MongoMistake(f"{where}[{number}]", "must be a query that names at least one field")
        check_query(alternative, f"{where}[{number}]", depth + 1)


def _check_condition(value: object, where: str, depth: int) -> None:
    _check_depth(where, depth)
    if not _has_operators(value) or is_typed(value):
        _check_value(value, where, depth)
        return
    for operator, operand in value.items():
        place = f"{where}.{operator}"
        if operator not in COMPARISONS:
            what = "no comparison that may stand here" if operator.startswith("$") else "a field beside operators"
            raise MongoMistake(place, f"{what}; allowed are {_list_names(COMPARISONS)}")
        _check_operand(operator, operand, place, depth)


def _check_operand(operator: str, operand: object, where: str, depth: int) -> None:
    if operator in _VALUES:
        if not isinstance(operand, list) or len(operand) > MAX_PARTS:
            raise MongoMistake(where, "must be a list of values")
        _check_value(operand, where, depth + 1)
    elif operator == "$exists":
        _check_type(operand, bool, where, "must be true or false")
    elif operator == "$size":
        _check_type(operand, int, where, "must be a whole number")
    elif operator in {"$not", "$elemMatch"}:
        if not isinstance(operand, Mapping) or not operand or is_typed(operand):
            raise MongoMistake(where, "must be an object with comparisons")
        if operator == "$not" or next(iter(operand)) in COMPARISONS:
            if not _has_operators(operand):
                raise MongoMistake(where, "must be an object with comparisons")
            _check_condition(operand, where, depth + 1)
        else:
            check_query(operand, where, depth + 1)
    else:
        _check_value(operand, where, depth + 1)


def _check_change(operator: str, path: str, value: object, where: str) -> None:
    check_field_name(path, where)
    if path == "_id" or path.startswith("_id."):
        raise MongoMistake(where, "the _id of a document never changes")
    if operator == "$inc":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise MongoMistake(where, "must be a number")
        _check_scalar(value, where)
    elif operator == "$unset":
        if value not in ("", True, 1):
            raise MongoMistake(where, 'must be ""')
    else:
        _check_value(value, where, 2)


def _check_separate(paths: Sequence[str], where: str) -> None:
    """Refuses a place changed twice, or together with a part of it: databases read that in several ways."""
    seen: set[str] = set()
    for path in sorted(paths):
        steps = path.split(".")
        if any(".".join(steps[:length]) in seen for length in range(1, len(steps) + 1)):
            raise MongoMistake(f"{where}: {path}", "one field is changed twice")
        seen.add(path)


def _check_value(value: object, where: str, depth: int) -> None:
    _check_depth(where, depth)
    if is_typed(value):
        _check_typed(value, where)
    elif isinstance(value, Mapping):
        for key, element in value.items():
            if "." in key:
                raise MongoMistake(f"{where}.{key}", "the name of a field must not contain a dot here; write an object inside of an object")
            _check_name(key, f"{where}.{key}")
            _check_value(element, f"{where}.{key}", depth + 1)
    elif isinstance(value, list):
        for number, element in enumerate(value):
            _check_value(element, f"{where}[{number}]", depth + 1)
    else:
        _check_scalar(value, where)


def _check_scalar(value: object, where: str) -> None:
    """What the driver cannot write would fail only when a call is under way."""
    match value:
        case None | bool():
            return
        case str():
            if not _is_writable(value):
                raise MongoMistake(where, "it holds half of a character")
        case int():
            if not -_LARGEST <= value <= _LARGEST:
                raise MongoMistake(
                    where, 'a whole number has at most 15 digits; write a longer one as a text or as {"$numberDecimal": "…"}'
                )
        case float():
            if not math.isfinite(value):
                raise MongoMistake(where, "it is no finite number")
        case _:
            raise MongoMistake(where, f"{type(value).__name__} is no JSON value")


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_typed(value: Mapping[str, object], where: str) -> None:
    (kind, text) = next(iter(value.items()))
    place = f"{where}.{kind}"
    if not isinstance(text, str):
        raise MongoMistake(place, "must be a text")
    if kind == "$oid":
        if len(text) != _ID_DIGITS or not set(text) <= set("0123456789abcdefABCDEF"):
            raise MongoMistake(place, "must have 24 hexadecimal digits")
        return
    try:
        if kind == "$date":
            parse_moment(text)
        elif _NUMBER.fullmatch(text) is None or Decimal(text) != _DECIMAL128.create_decimal(text):
            raise MongoMistake(place, "must be a number of at most 34 digits such as 12.50")
    except (ValueError, OverflowError, DecimalException):
        what = "a moment with a time zone such as 2026-11-24T10:00:00Z" if kind == "$date" else "a number such as 12.50"
        raise MongoMistake(place, f"must be {what}") from None


def check_field_name(path: str, where: str) -> None:
    """Dots lead to inner fields. Raises MongoMistake."""
    for step in path.split("."):
        _check_name(step, where)


def _check_name(name: str, where: str) -> None:
    if oddity := _find_oddity(name):
        raise MongoMistake(where, oddity)


def _find_oddity(name: str) -> str:
    if not name or len(name) > MAX_KEY:
        return f"the name of a field must have 1 to {MAX_KEY} characters"
    if name.startswith("$"):
        return "an operator has no place inside of a value"
    if not _is_writable(name):
        return "the name of a field holds half of a character"
    if "\x00" in name or name in _ODD_NAMES:
        return "this is no name for a field"
    return ""


def _check_depth(where: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise MongoMistake(where[:MAX_KEY], f"it is nested more than {MAX_DEPTH} deep")


def _check_type(value: object, kind: type, where: str, what: str) -> None:
    if type(value) is not kind:
        raise MongoMistake(where, what)


def _has_operators(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping) and any(key.startswith("$") for key in value)


def _list_parts(tree: object) -> Iterator[object]:
    """Every key and value, without recursion: `tree` may be nested deeper than the stack."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Mapping):
            yield from part
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)


def _list_names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
