"""Values that people read as they speak: «чт, 31 декабря» for 2026-12-31, «700 000» for 700000. Pure."""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal

from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import Value
from orchestrator.expressions.syntax import parse_condition
from orchestrator.language.date_format import format_day
from orchestrator.language.money_format import format_sum
from orchestrator.language.text import Locale, format_phone
from state.stored import JsonObject

SpokenType = Literal["date", "datetime", "money", "phone"]
_TYPES: Final[Mapping[object, SpokenType]] = {"date": "date", "datetime": "datetime", "money": "money", "phone": "phone"}
_KEEP: Final = frozenset({"min", "max", "abs", "round", "int", "float"})


def find_spoken(steps: Iterable[tuple[str, JsonObject]]) -> Mapping[str, SpokenType]:
    """What variables hold that questions of these types set, and what is calculated from them. `steps` are (type, parameters)."""
    types: dict[str, SpokenType] = {}
    for kind, params in steps:
        name, answer = params.get("input_variable"), _TYPES.get(params.get("type")) if isinstance(params.get("type"), str) else None
        if kind == "input" and isinstance(name, str) and name and answer is not None:
            types[name] = answer
        values = params.get("values")
        if kind == "calculate" and isinstance(values, Mapping):
            for calculated, source in values.items():
                if isinstance(source, str) and (result := _find_result(source, types)) is not None:
                    types.setdefault(str(calculated), result)
    return types


def _find_result(source: str, types: Mapping[str, SpokenType]) -> SpokenType | None:
    try:
        return _find_type(parse_condition(source), types)
    except (DefinitionRefused, RecursionError):
        return None


def _find_type(node: ast.expr, types: Mapping[str, SpokenType]) -> SpokenType | None:
    match node:
        case ast.Name(id=name):
            return types.get(name)
        case ast.Call(func=ast.Name(id="add_days"), args=[day, *_]):
            return "date" if _find_type(day, types) in ("date", "datetime") else None
        case ast.Call(func=ast.Name(id="at_time"), args=[day, *_]):
            return "datetime" if _find_type(day, types) is not None else None
        case ast.Call(func=ast.Name(id=name), args=args) if name in _KEEP:
            found = {_find_type(one, types) for one in args} - {None}
            return found.pop() if len(found) == 1 else None
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            sides = [_find_type(left, types), _find_type(right, types)]
            is_share = isinstance(op, ast.Div) and sides[1] == "money"
            return "money" if "money" in sides and not is_share else None
        case ast.IfExp(body=body, orelse=orelse):
            found = {_find_type(one, types) for one in (body, orelse)} - {None}
            return found.pop() if len(found) == 1 else None
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaking:
    today: date
    locale: Locale
    types: Mapping[str, SpokenType] = field(default_factory=dict)

    def speak(self, variables: Mapping[str, Value]) -> Mapping[str, Value]:
        """The same mapping if nothing is said otherwise. What has another form than its type stays."""
        spoken: dict[str, Value] = {}
        for name, kind in self.types.items():
            first, *rest = name.split(".")
            value = spoken.get(first) or variables.get(first)
            if value is not None:
                spoken[first] = Value(_replace(value.data, rest, partial(self._format, kind)), value.origins)
        return {**variables, **spoken} if spoken else variables

    def _format(self, kind: SpokenType, data: Any) -> Any:
        if kind == "money":
            is_number = isinstance(data, int | float) and not isinstance(data, bool)
            return format_sum(Decimal(str(data)), locale=self.locale) if is_number else data
        if not isinstance(data, str):
            return data
        if kind == "phone":
            return format_phone(data)
        try:
            return format_day(date.fromisoformat(data), today=self.today, locale=self.locale)
        except ValueError:
            return self._format_moment(data)

    def _format_moment(self, text: str) -> str:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            return text
        return f"{format_day(at.date(), today=self.today, locale=self.locale)}, {at:%H:%M}" if "T" in text else text


def _replace(data: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(data)
    first, *rest = path
    if not isinstance(data, Mapping) or first not in data:
        return data
    return {**data, first: _replace(data[first], rest, change)}
