"""Fits the parameters of tools to models that lose arguments of wide schemas, as GigaChat does with more than about eight properties.

`split` moves the properties of every wide object, at whatever depth, into nested objects of at most eight, and puts the arguments of a call
together again, so no argument is lost; conditions that name moved properties are left out. `narrow` keeps the required properties and the
first others.
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
"""How many properties an object may have."""
MOST: Final = WIDEST**3
"""How many properties of one object are split at most."""
_PART: Final = "part_"
_OF_NAMES: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_OF_MANY: Final = ("prefixItems", "anyOf", "oneOf", "allOf")
_OF_ONE: Final = ("items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "unevaluatedItems")
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf", "then", "else")
_KEPT: Final = frozenset({"type", "title", "description", "$defs", "definitions", "$ref", "$schema", "$id", "$comment", "nullable"})
"""The keywords that stay at an object whose properties were moved; `additionalProperties` and alternatives are looked at."""
_MERGED: Final = frozenset({"type", "title", "description", "properties", "required", "$comment"})
"""The keywords of a part of `allOf` that can be merged into the object."""
_STAYING_REF: Final = re.compile(r"#(?:/(?:\$defs|definitions)/[^/]+)?")
"""References that lead to the same place in the changed schema."""
Schema = JsonObject
Call = Callable[[Any], Any]


class _NotJoined(Exception):
    """The parts of a call cannot be put together."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The named properties of one object, with those of `allOf` if they can be merged into it."""

    schema: Schema
    properties: JsonObject
    required: Sequence[str]
    has_merged: bool = False


def fit_tool(tool: ModelTool, fit: Fit) -> ModelTool:
    """Return the tool with parameters whose objects have at most `WIDEST` properties. Raises RejectedRequest if that cannot be done."""
    return tool if fit == "keep" else replace(tool, parameters=_build_fitter(tool, fit).fitted)


def join_arguments(call: ToolCall, tools: Sequence[ModelTool], fit: Fit) -> ToolCall:
    """Return the call with the arguments as its tool declares them, after the model was shown the tool as `fit_tool` gives it.

    An argument that stands in two parts, or a part that is no object, is a problem of the call.
    """
    tool = next((model_tool for model_tool in tools if model_tool.name == call.name), None)
    if fit != "split" or call.problem or tool is None:
        return call
    try:
        return replace(call, arguments=_build_fitter(tool, fit).join(call.arguments, [tool.parameters]))
    except _NotJoined as error:
        return replace(call, arguments={}, problem=str(error))


def split_arguments(name: str, arguments: object, tools: Sequence[ModelTool], fit: Fit) -> Any:
    """Return arguments of an earlier call in the form in which the model is shown the tool now."""
    tool = next((model_tool for model_tool in tools if model_tool.name == name), None)
    return arguments if fit != "split" or tool is None else _build_fitter(tool, fit).split(arguments, [tool.parameters])


def _build_fitter(tool: ModelTool, fit: Fit) -> "_Fitter":
    try:
        return _Fitter(tool, fit)
    except RecursionError:
        raise RejectedRequest(f"The parameters of the tool {tool.name} are nested too deeply.") from None


class _Fitter:
    """Changes the schema of one tool; `fitted` is the result."""

    def __init__(self, tool: ModelTool, fit: Fit) -> None:
        self._tool, self._root, self._narrows = tool.name, tool.parameters, fit == "narrow"
        self._part = _PART
        while any(str(name).startswith(self._part) for schema in _list_schemas(self._root) for name in _read_mapping(schema, "properties")):
            self._part += "_"
        self._parts = 0
        self._done: dict[int, Any] = {}
        """The changed schemas by the identity of the original ones, which live as long as the tool; None while one is being changed."""
        self._is_wide = any(len(self._read_level(schema).properties) > WIDEST for schema in _list_schemas(self._root))
        self._paths: dict[int, dict[str, tuple[str, ...]]] = {}
        """Where the properties of each split object are: name → the parts that lead to it."""
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
        made = _change_children(schema, self._fit)
        if self._is_wide and (target := self._resolve(schema.get("$ref"))) is not None and not _STAYING_REF.fullmatch(schema["$ref"]):
            made = {**self._fit(target), **{name: value for name, value in made.items() if name != "$ref"}}
        elif made.get("type") == "object" and "properties" not in made:
            made["properties"] = {}  # GigaChat refuses an object that declares none
        if len(level.properties) > WIDEST:
            made = self._narrow(level, made) if self._narrows else self._split_level(level, made)
        self._done[id(schema)] = made
        return made

    def _read_level(self, schema: Schema) -> _Level:
        properties = dict(_read_mapping(schema, "properties"))
        required = [*_read_names(schema)]
        merged: dict[str, Any] = {}
        for one in schema.get("allOf") or () if isinstance(schema.get("allOf"), list) else ():
            if (
                not isinstance(one, Mapping)
                or not one.keys() <= _MERGED
                or _read_mapping(one, "properties").keys() & (properties | merged).keys()
            ):
                return _Level(schema, properties, [name for name in required if name in properties])
            merged |= _read_mapping(one, "properties")
            required += _read_names(one)
        whole = properties | merged
        return _Level(schema, whole, [name for name in dict.fromkeys(required) if name in whole], has_merged=bool(merged))

    def _narrow(self, level: _Level, made: dict[str, Any]) -> dict[str, Any]:
        if len(level.required) > WIDEST:
            raise RejectedRequest(
                f"The tool {self._tool} has {len(level.required)} required parameters, and the provider takes {WIDEST}: "
                "use wide_schemas: split."
            )
        others = [name for name in level.properties if name not in level.required][: WIDEST - len(level.required)]
        kept = {name: self._fit(one) for name, one in level.properties.items() if name in level.required or name in others}
        whole = {name: value for name, value in made.items() if name != "allOf" or not level.has_merged}
        return {**whole, "properties": kept, "required": list(level.required)}

    def _split_level(self, level: _Level, made: dict[str, Any]) -> dict[str, Any]:
        names = [*level.required, *(name for name in level.properties if name not in level.required)]
        if len(names) > MOST:
            raise RejectedRequest(f"The tool {self._tool} has {len(names)} parameters in one object, and at most {MOST} can be split.")
        paths: dict[str, tuple[str, ...]] = {}
        packed = self._pack(names, level, paths, ())
        self._paths[id(level.schema)] = paths
        kept = {name: value for name, value in made.items() if name in _KEPT}
        if made.get("additionalProperties") in (True, False):
            kept["additionalProperties"] = made["additionalProperties"]
        for keyword in ("anyOf", "oneOf", *(() if level.has_merged else ("allOf",))):
            branches = [_clean_branch(one, level.properties.keys()) for one in made.get(keyword) or ()]
            if branches and all(branches):
                kept[keyword] = branches
        return {**kept, "properties": packed["properties"], "required": packed["required"]}

    def _pack(self, names: Sequence[str], level: _Level, paths: dict[str, tuple[str, ...]], at: tuple[str, ...]) -> dict[str, Any]:
        """Return an object with these properties, in parts if they are too many; `at` are the parts in which it is itself."""
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
        """Return the value at this place of the arguments with all parts put together. Raises _NotJoined."""
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
        """Return the value at this place of the arguments with the properties of split objects in their parts."""
        levels = [level for schema in schemas for level in self._list_levels(schema, set())]
        if isinstance(value, list):
            return [self.split(item, _find_items(levels, place)) for place, item in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        known = [self._paths[id(level.schema)] for level in levels if id(level.schema) in self._paths]
        paths = max(known, key=lambda one: len(one.keys() & value.keys()), default={})
        whole: dict[str, Any] = {}
        for name, item in value.items():
            place = whole
            for part in paths.get(name, ()):
                place = place.setdefault(part, {})
            place[name] = self.split(item, _find_children(levels, name))
        return whole

    def _list_levels(self, schema: object, seen: set[int]) -> Iterator[_Level]:
        """Yield the objects that a value at the place of this schema may be, with those of references and alternatives."""
        if not isinstance(schema, Mapping) or id(schema) in seen:
            return
        seen.add(id(schema))
        yield self._read_level(schema)
        yield from self._list_levels(self._resolve(schema.get("$ref")), seen)
        for keyword in _ALTERNATIVES:
            found = schema.get(keyword)
            for one in found if isinstance(found, list) else [found]:
                yield from self._list_levels(one, seen)

    def _resolve(self, reference: object) -> Schema | None:
        """Return the schema to which a reference within the tool leads, None for any other."""
        found: object = self._root
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            else:
                found = found.get(name) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else None


def _change_children(schema: Schema, change: Call) -> dict[str, Any]:
    """Return the schema with each schema directly below it changed."""
    made = dict(schema)
    for keyword in _OF_NAMES:
        if isinstance(made.get(keyword), Mapping):
            made[keyword] = {name: change(one) for name, one in made[keyword].items()}
    for keyword in (*_OF_MANY, *_OF_ONE):
        if isinstance(made.get(keyword), list):
            made[keyword] = [change(one) for one in made[keyword]]
        elif isinstance(made.get(keyword), Mapping):
            made[keyword] = change(made[keyword])
    return made


def _list_schemas(schema: object) -> list[Schema]:
    """Return all schemas with keywords in a schema, itself included."""
    schemas: list[Schema] = []

    def visit(one: object) -> Any:
        if isinstance(one, Mapping):
            schemas.append(one)
            _change_children(one, visit)
        return one

    visit(schema)
    return schemas


def _clean_branch(branch: object, moved: Container[str]) -> dict[str, Any]:
    """Return an alternative of an object without what it says of properties that were moved; {} if it says nothing else of any."""
    if not isinstance(branch, Mapping):
        return {}
    own = {name: one for name, one in _read_mapping(branch, "properties").items() if name not in moved}
    kept = {name: value for name, value in branch.items() if name in _KEPT}
    if own:
        kept |= {"properties": own, "required": [name for name in _read_names(branch) if name in own]}
    return kept if own or "$ref" in kept else {}


def _read_mapping(schema: Schema, keyword: str) -> JsonObject:
    found = schema.get(keyword)
    return found if isinstance(found, Mapping) else {}


def _read_names(schema: Schema) -> list[str]:
    found = schema.get("required")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list | tuple) else []


def _find_children(levels: Sequence[_Level], name: str) -> list[Any]:
    """Return the schemas of the property of this name in all objects that a value may be."""
    named = [level.properties[name] for level in levels if name in level.properties]
    return named or [level.schema["additionalProperties"] for level in levels if "additionalProperties" in level.schema]


def _find_items(levels: Sequence[_Level], place: int) -> list[Any]:
    """Return the schemas of the item in this place in all lists that a value may be."""
    found: list[Any] = []
    for level in levels:
        for keyword in ("prefixItems", "items"):
            items = level.schema.get(keyword)
            if isinstance(items, list):
                found += items[place : place + 1]
            elif items is not None:
                found.append(items)
    return found
