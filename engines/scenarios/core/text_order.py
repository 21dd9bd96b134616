"""Finds conditions that order texts, which letters decide: «31.12.2026» < «10.01.2027» is false. Pure."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from orchestrator.domain.finding import DefinitionRefused
from orchestrator.expressions.syntax import ORDER, parse_condition
from state.stored import JsonObject

_WHOLE: Final = "context"
_DAY: Final = re.compile(r"\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?|\d{4}-\d\d-\d\d(?:T.*)?", re.ASCII)
_MAKE_DAYS: Final = frozenset({"add_days", "at_time"})
_SPOKEN: Final = frozenset({"format_date"})
_TODAY: Final = ("today", "__today")
Side = Literal["typed", "spoken", "day"]


def find_typed_texts(steps: Sequence[tuple[str, JsonObject]]) -> frozenset[str]:
    """The variables that are only set by questions whose answer stays the text that was typed. `steps` are (type, parameters)."""
    texts: set[str] = set()
    others: set[str] = set()
    for kind, params in steps:
        name = params.get("input_variable")
        if kind == "input" and isinstance(name, str):
            (texts if params.get("type", "text") == "text" and not params.get("buttons") else others).add(name)
    return frozenset(texts - others)


def list_ordered_texts(source: str, typed: frozenset[str], days: frozenset[str]) -> Iterator[str]:
    """Yield what stands on a side of such an order; `days` are variables that hold days."""
    try:
        tree = parse_condition(source)
    except DefinitionRefused:
        return
    known: dict[str, Side] = {**dict.fromkeys((*days, *_TODAY), "day"), **dict.fromkeys(typed, "typed")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = (node.left, *node.comparators)
            for op, left, right in zip(node.ops, parts, parts[1:], strict=False):
                sides = (_find_side(left, known), _find_side(right, known))
                if type(op) in ORDER and None not in sides and sides != ("day", "day"):
                    yield ast.unparse(left if sides[0] != "day" else right)


def _find_side(node: ast.expr, known: Mapping[str, Side]) -> Side | None:
    match node:
        case ast.Name(id=name) | ast.Set(elts=[ast.Name(id=name)]):
            return known.get(name)
        case ast.Attribute(value=ast.Name(id=whole), attr=name) if whole == _WHOLE:
            return known.get(name)
        case ast.Subscript(value=ast.Name(id=whole), slice=ast.Constant(value=str(name))) if whole == _WHOLE:
            return known.get(name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=whole), attr="get"), args=[ast.Constant(value=str(name)), *_]) if (
            whole == _WHOLE
        ):
            return known.get(name)
        case ast.Call(func=ast.Name(id=name)) if name in _MAKE_DAYS:
            return "day"
        case ast.Call(func=ast.Name(id=name)) if name in _SPOKEN:
            return "spoken"
        case ast.Constant(value=str(text)) if _DAY.fullmatch(text.strip()):
            return "day" if text.strip()[4:5] == "-" else "spoken"
        case _:
            return None
