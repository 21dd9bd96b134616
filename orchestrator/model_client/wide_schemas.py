"""Fits tools to models that lose arguments of wide schemas, as GigaChat does beyond eight properties.

`split` nests them in objects of eight and joins the arguments of a call again; `narrow` keeps the required and first others.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from orchestrator.domain.models import ModelTool, ToolCall
from orchestrator.model_client.dialects import Fit
from orchestrator.model_client.failures import RejectedRequest
from state.stored import JsonObject

WIDEST: Final = 8
MOST: Final = WIDEST**3
_PART: Final = "part_"
_OF_NAMES: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_OF_MANY: Final = ("prefixItems", "anyOf", "oneOf", "allOf")
_OF_ONE: Final = ("items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "unevaluatedItems")
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf", "then", "else")
_KEPT: Final = frozenset({"type", "title", "description", "$defs", "definitions", "$ref", "$schema", "$id", "$comment", "nullable"})
_MERGED: Final = frozenset({"type", "title", "description", "properties", "required", "$comment"})
"""Of a part of `allOf`."""
_STAYING_REF: Final = re.compile(r"#(?:/(?:\$defs|definitions)/[^/]+)?")
Schema = JsonObject
Call = Callable[[Any], Any]


class _NotJoined(Exception):
    """The parts of a call cannot be put together."""


@dataclass(frozen=True, slots=True)
class _Level:
    schema: Schema
    properties: JsonObject
    required: Sequence[str]
    has_merged: bool = False


def fit_tool(tool: ModelTool, fit: Fit) -> ModelTool:
    """Raises RejectedRequest."""
    return tool if fit == "keep" else replace(tool, parameters=_build_fitter(tool, fit).fitted)


def join_arguments(call: ToolCall, tools: Sequence[ModelTool], fit: Fit) -> ToolCall:
    """The inverse of `fit_tool`. What stands in two parts, or a part that is no object, is a problem."""
    tool = next((model_tool for model_tool in tools if model_tool.name == call.name), None)
    if fit != "split" or call.problem or tool is None:
        return call
    try:
        return replace(call, arguments=_build_fitter(tool, fit).join(call.arguments, [tool.parameters]))
    except _NotJoined as error:
        return replace(call, arguments={}, problem=str(error))


def split_arguments(name: str, arguments: object, tools: Sequence[ModelTool], fit: Fit) -> Any:
    tool = next((model_tool for model_tool in tools if model_tool.name == name), None)
    return arguments if fit != "split" or tool is None else _build_fitter(tool, fit).split(arguments, [tool.parameters])


def _build_fitter(tool: ModelTool, fit: Fit) -> "_Fitter":
    try:
        return _Fitter(tool, fit)
    except RecursionError:
        raise RejectedRequest(f"The parameters of the tool {tool.name} are nested too deeply.") from None


class _Fitter:
    def __init__(self, tool: ModelTool, fit: Fit) -> None:
        self._tool, self._root, self._narrows = tool.name, tool.parameters, fit == "narrow"
        self._part = _PART
        while any(str(name).startswith(self._part) for schema in _list_schemas(self._root) for name in _read_mapping(schema, "properties")):
            self._part += "_"
        self._parts = 0
        self._done: dict[int, Any] = {}
        """By identity of the originals; None while one is being changed."""
        self._is_wide = any(len(self._read_level(schema).properties) > WIDEST for schema in _list_schemas(self._root))
        self._paths: dict[int, dict[str, tuple[str, ...]]] = {}
        """Name → the parts that lead to it, by split object."""
        self.fitted: dict[str, Any] = self._fit(self._root)

    def _fit(self, schema: object) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        if id(schema) in self._done:
            if self._done[id(schema)] is None:
                raise RejectedRequest(f"The parameters of the tool {self._tool} refer to themselves in a way that cannot be split.")
            return self._done[id(schema)]
        self._done[id(schema)] = None
        level = self._read_level(schema)
        fitted = _change_children(schema, self._fit)
        if self._is_wide and (target := self._resolve(schema.get("$ref"))) is not None and not _STAYING_REF.fullmatch(schema["$ref"]):
            fitted = {**self._fit(target), **{name: value for name, value in fitted.items() if name != "$ref"}}
        elif fitted.get("type") == "object" and "properties" not in fitted:
            fitted["properties"] = {}  # GigaChat refuses an object that declares none
        if len(level.properties) > WIDEST:
            fitted = self._narrow(level, fitted) if self._narrows else self._split_level(level, fitted)
        self._done[id(schema)] = fitted
        return fitted

    def _read_level(self, schema: Schema) -> _Level:
        properties = dict(_read_mapping(schema, "properties"))
        required = [*_read_names(schema)]
        merged: dict[str, Any] = {}
        for part in schema.get("allOf") or () if isinstance(schema.get("allOf"), list) else ():
            if (
                not isinstance(part, Mapping)
                or not part.keys() <= _MERGED
                or _read_mapping(part, "properties").keys() & (properties | merged).keys()
            ):
                return _Level(schema, properties, [name for name in required if name in properties])
            merged |= _read_mapping(part, "properties")
            required += _read_names(part)
        whole = properties | merged
        return _Level(schema, whole, [name for name in dict.fromkeys(required) if name in whole], has_merged=bool(merged))

    def _narrow(self, level: _Level, fitted: dict[str, Any]) -> dict[str, Any]:
        if len(level.required) > WIDEST:
            raise RejectedRequest(
                f"The tool {self._tool} has {len(level.required)} required parameters, and the provider takes {WIDEST}: "
                "use wide_schemas: split."
            )
        others = [name for name in level.properties if name not in level.required][: WIDEST - len(level.required)]
        properties = {name: self._fit(one) for name, one in level.properties.items() if name in level.required or name in others}
        whole = {name: value for name, value in fitted.items() if name != "allOf" or not level.has_merged}
        return {**whole, "properties": properties, "required": list(level.required)}

    def _split_level(self, level: _Level, fitted: dict[str, Any]) -> dict[str, Any]:
        names = [*level.required, *(name for name in level.properties if name not in level.required)]
        if len(names) > MOST:
            raise RejectedRequest(f"The tool {self._tool} has {len(names)} parameters in one object, and at most {MOST} can be split.")
        paths: dict[str, tuple[str, ...]] = {}
        packed = self._pack(names, level, paths, ())
        self._paths[id(level.schema)] = paths
        remaining = {name: value for name, value in fitted.items() if name in _KEPT}
        if fitted.get("additionalProperties") in (True, False):
            remaining["additionalProperties"] = fitted["additionalProperties"]
        for keyword in ("anyOf", "oneOf", *(() if level.has_merged else ("allOf",))):
            branches = [_clean_branch(one, level.properties.keys()) for one in fitted.get(keyword) or ()]
            if branches and all(branches):
                remaining[keyword] = branches
        return {**remaining, "properties": packed["properties"], "required": packed["required"]}

    def _pack(self, names: Sequence[str], level: _Level, paths: dict[str, tuple[str, ...]], at: tuple[str, ...]) -> dict[str, Any]:
        """In parts if they are too many; `at` is where the object stands."""
        if len(names) <= WIDEST:
            paths |= dict.fromkeys(names, at)
            properties = {name: self._fit(level.properties[name]) for name in names}
            return {"type": "object", "properties": properties, "required": [name for name in names if name in level.required]}
        size = WIDEST
        while size * WIDEST < len(names):
            size *= WIDEST
        parts: dict[str, Any] = {}
        for start in range(0, len(names), size):
            self._parts += 1
            part = f"{self._part}{self._parts}"
            parts[part] = self._pack(names[start : start + size], level, paths, (*at, part))
        return {"type": "object", "properties": parts, "required": [name for name, part in parts.items() if part["required"]]}

    def join(self, value: object, schemas: Sequence[Any]) -> Any:
        """Raises _NotJoined."""
        levels = [level for schema in schemas for level in self._list_levels(schema, set())]
        if isinstance(value, Mapping):
            whole = self._merge(value) if any(id(level.schema) in self._paths for level in levels) else value
            return {name: self.join(item, _find_children(levels, name)) for name, item in whole.items()}
        if isinstance(value, list):
            return [self.join(item, _find_items(levels, place)) for place, item in enumerate(value)]
        return value

    def _merge(self, value: JsonObject) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        for name, item in value.items():
            part = {name: item}
            if name.startswith(self._part) and name.removeprefix(self._part).isdecimal():
                if not isinstance(item, Mapping):
                    raise _NotJoined(f"the argument {name} is not an object")
                part = self._merge(item)
            if twice := whole.keys() & part.keys():
                raise _NotJoined(f"the argument {min(twice)} is given twice")
            whole |= part
        return whole

    def split(self, value: object, schemas: Sequence[Any]) -> Any:
        """The inverse of `join`."""
        levels = [level for schema in schemas for level in self._list_levels(schema, set())]
        if isinstance(value, list):
            return [self.split(item, _find_items(levels, place)) for place, item in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        known = [self._paths[id(level.schema)] for level in levels if id(level.schema) in self._paths]
        paths = max(known, key=lambda mapping: len(mapping.keys() & value.keys()), default={})
        whole: dict[str, Any] = {}
        for name, item in value.items():
            place = whole
            for part in paths.get(name, ()):
                place = place.setdefault(part, {})
            place[name] = self.split(item, _find_children(levels, name))
        return whole

    def _list_levels(self, schema: object, seen: set[int]) -> Iterator[_Level]:
        if not isinstance(schema, Mapping) or id(schema) in seen:
            return
        seen.add(id(schema))
        yield self._read_level(schema)
        yield from self._list_levels(self._resolve(schema.get("$ref")), seen)
        for keyword in _ALTERNATIVES:
            alternatives = schema.get(keyword)
            for alternative in alternatives if isinstance(alternatives, list) else [alternatives]:
                yield from self._list_levels(alternative, seen)

    def _resolve(self, reference: object) -> Schema | None:
        """None outside of the tool."""
        node: object = self._root
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                node = node.get(name) if isinstance(node, Mapping) else None
        return node if isinstance(node, Mapping) else None


def _change_children(schema: Schema, change: Call) -> dict[str, Any]:
    changed = dict(schema)
    for keyword in _OF_NAMES:
        if isinstance(changed.get(keyword), Mapping):
            changed[keyword] = {name: change(one) for name, one in changed[keyword].items()}
    for keyword in (*_OF_MANY, *_OF_ONE):
        if isinstance(changed.get(keyword), list):
            changed[keyword] = [change(one) for one in changed[keyword]]
        elif isinstance(changed.get(keyword), Mapping):
            changed[keyword] = change(changed[keyword])
    return changed


def _list_schemas(schema: object) -> list[Schema]:
    schemas: list[Schema] = []

    def visit(node: object) -> Any:
        if isinstance(node, Mapping):
            schemas.append(node)
            _change_children(node, visit)
        return node

    visit(schema)
    return schemas


def _clean_branch(branch: object, moved: Container[str]) -> dict[str, Any]:
    if not isinstance(branch, Mapping):
        return {}
    own = {name: one for name, one in _read_mapping(branch, "properties").items() if name not in moved}
    remaining = {name: value for name, value in branch.items() if name in _KEPT}
    if own:
        remaining |= {"properties": own, "required": [name for name in _read_names(branch) if name in own]}
    return remaining if own or "$ref" in remaining else {}


def _read_mapping(schema: Schema, keyword: str) -> JsonObject:
    content = schema.get(keyword)
    return content if isinstance(content, Mapping) else {}


def _read_names(schema: Schema) -> list[str]:
    names = schema.get("required")
    return [one for one in names if isinstance(one, str)] if isinstance(names, list | tuple) else []


def _find_children(levels: Sequence[_Level], name: str) -> list[Any]:
    property_schemas = [level.properties[name] for level in levels if name in level.properties]
    return property_schemas or [level.schema["additionalProperties"] for level in levels if "additionalProperties" in level.schema]


def _find_items(levels: Sequence[_Level], place: int) -> list[Any]:
    schemas: list[Any] = []
    for level in levels:
        for keyword in ("prefixItems", "items"):
            items = level.schema.get(keyword)
            if isinstance(items, list):
                schemas += items[place : place + 1]
            elif items is not None:
                schemas.append(items)
    return schemas
