"""Forms of JSON Schemas (C-27)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bot.console.definitions.form.fields import NO, YES, Field, Group, Kind, Listing, Node, show_value
from bot.plugins.choices import Choice, FindOffer, Offer
from bot.plugins.kind_face import Steps
from bot.plugins.schema_reader import Property, Schema, SchemaReader, Shape
from orchestrator.documents.changing import ABSENT, Absent, find_value
from orchestrator.domain.finding import Path

_LONG: Final = 300
"""Characters; then a field has several lines."""
_LONG_NAMES: Final = frozenset({"text", "prompt", "message", "question", "caption", "retry_text", "system_prompt", "source", "template"})
_CONDITION: Final = "condition"
_BRANCHES: Final = "branches"
_BRANCH_NAMES: Final = ("if", "else")
_MORE: Final = "…"
"""Last part of the path of a group that is no part of the document."""
_LAST: Final = frozenset({"next_step", "on_invalid", "on_timeout", "on_refused"})
_TARGETS: Final = frozenset({*_LAST, "next", "startStepId"})
_TYPE_NAMES: Final = ("runeType", "type", "action_type")
"""The other fields depend on them."""
"""What is chosen there is read beside the name of an element."""
_CODES: Final = frozenset({"Script-source", "script-source"})
_RARE: Final = frozenset(
    {
        *("regex", "min_length", "max_length", "minimum", "maximum", "earliest", "latest", "retry_text", "tries"),
        *("on_invalid", "timeout", "on_timeout"),
        *("next_step_map", "choices", "only_buttons", "confirm", "collection_name", "top_k", "messages", "temperature", "max_tokens"),
        *("zone", "note", "context_to_pass", "task_id_output_var", "sort", "fields", "configId", "version", "enabled", "input_parameters"),
        *(
            "show_progress",
            "allow_back",
            "allow_cancel",
            "customers",
            "initial_context",
            "scheduling",
            "onFailure",
            "kind",
            "variableTypes",
        ),
        *(
            "mayPropose",
            "isStreaming",
            "blocks",
            "incrementalType",
            "file",
            "url",
            "inline_keyboard",
            "context",
            "group",
            "isAll",
            "default",
        ),
    }
)
"""Fields that few definitions have: below the others, folded."""
_MOST_RARE_SHOWN: Final = 1
"""So many are not folded: one line more is shorter than something to open."""
_INLINE: Final = frozenset({"params", "metadata", "transitions", "onSuccess", "onFailure"})
_TITLES: Final = ("name", "title")
_OTHER_TITLES: Final = ("text", "prompt", "template", "method", "variable", "channel")
_LONGEST_TITLE: Final = 80


class Words(Protocol):
    def name_field(self, owner: str, name: str) -> str: ...

    def explain_field(self, owner: str, name: str, description: str) -> str:
        """`description` is that of the schema."""

    def name_choice(self, name: str, value: str, description: str) -> str: ...

    def name_addition(self, name: str) -> str: ...

    def name_more(self) -> str: ...

    def name_nothing(self, name: str) -> str:
        """For a choice that is not made."""

    def name_columns(self, owner: str, name: str) -> tuple[str, str]:
        """Of rows."""


@dataclass(frozen=True, slots=True)
class SchemaForm:
    reader: SchemaReader
    words: Words
    steps: Steps | None = None
    """To which fields may lead, None for a kind without steps."""
    kinds: frozenset[str] = frozenset()
    """Of stored definitions that do a step; the field that names one begins with its kind."""

    def is_doer(self, name: object) -> bool:
        """What a step does, or who does it."""
        return name in _TYPE_NAMES or (isinstance(name, str) and name.startswith(tuple(self.kinds)))

    def describe(self, document: object, find_offer: FindOffer = lambda _path: None) -> Group:
        """Of a draft with any content."""
        shape = Shape(self.reader.whole, self.reader.name)
        names = self.steps.name_steps(document) if self.steps is not None else ()
        targets = tuple(Choice(name, name) for name in dict.fromkeys(names) if name)
        fields = self.steps.names if self.steps is not None else ("id",)
        return Group(path=(), label="", nodes=_Description(self, targets, fields, find_offer).list_nodes(shape, document, ()))

    def list_choices(self, name: str, schema: Schema) -> tuple[Choice, ...]:
        """Empty if it is free."""
        known = [(one.const, one.description) for one in schema.one_of] or [(one, "") for one in schema.enum or ()]
        return tuple(Choice(value, self.words.name_choice(name, value, said)) for value, said in known if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class _Description:
    form: SchemaForm
    targets: tuple[Choice, ...]
    names: tuple[str, ...]
    find_offer: FindOffer

    def list_nodes(self, shape: Shape, data: object, path: Path) -> tuple[Node, ...]:
        properties = self.form.reader.list_properties(shape, data)
        first = [each for each in properties if each.name in _TYPE_NAMES and (each.schema.one_of or each.is_required)]
        rest = [each for each in properties if each not in first and not _is_hidden(each, data)]
        rest.sort(key=lambda each: each.name in _LAST)
        rare = [each for each in rest if each.name in _RARE and not each.is_required]
        if len(rare) <= _MOST_RARE_SHOWN:
            rare = []
        nodes = [self._describe(each, find_value(data, (each.name,)), (*path, each.name)) for each in (*first, *rest) if each not in rare]
        if rare:
            folded = tuple(self._describe(each, find_value(data, (each.name,)), (*path, each.name)) for each in rare)
            more = Group(path=(*path, _MORE), label=self.form.words.name_more(), nodes=folded, is_folded=True)
            at = next((index for index, node in enumerate(nodes) if isinstance(node, Listing)), len(nodes))
            nodes.insert(at, more)
        return tuple(nodes)

    def _describe(self, prop: Property, value: object, path: Path) -> Node:
        if prop.name == _BRANCHES:
            return self._describe_branches(prop, value, path)
        shape = self.form.reader.resolve(prop.schema, prop.owner, value)
        if shape.schema.type == "array" and self._holds_objects(shape):
            return self._describe_list(prop, shape, value, path)
        properties = self.form.reader.list_properties(shape, value) if isinstance(value, Mapping | Absent) and not shape.is_mixed else []
        if properties:
            nodes = self.list_nodes(shape, value, path)
            if prop.name in _INLINE:
                return Group(path=path, label="", nodes=nodes)
            return Group(path=path, label=self._name(prop), nodes=nodes, hint=self._explain(prop), is_folded=True)
        return self._describe_field(prop, shape, value, path)

    def _holds_objects(self, shape: Shape) -> bool:
        items = shape.schema.items
        return items is not None and (items.ref is not None or items.condition is not None)

    def _describe_list(self, prop: Property, shape: Shape, value: object, path: Path) -> Node:
        if value is not ABSENT and not isinstance(value, list):
            return self._describe_json(prop, value, path)
        inner, items = shape.schema.items or Schema.model_validate({}), value if isinstance(value, list) else []
        groups = [self._describe_item(inner, shape.owner, item, (*path, index)) for index, item in enumerate(items)]
        add = self.form.words.name_addition(prop.name)
        return Listing(path=path, label=self._name(prop), items=tuple(groups), add=add, hint=self._explain(prop))

    def _describe_item(self, schema: Schema, owner: str, item: object, path: Path) -> Group:
        shape = self.form.reader.resolve(schema, owner, item)
        if not isinstance(item, Mapping):
            whole = Field(path=path, kind="json", label="JSON", value=show_value("json", item))
            return Group(path=path, label="", nodes=(whole,), is_folded=True)
        nodes = self.list_nodes(shape, item, path)
        kind = next((node for node in nodes if isinstance(node, Field) and self.form.is_doer(node.path[-1]) and node.choices), None)
        label = next((choice.label for choice in kind.choices if choice.value == kind.value), kind.value) if kind is not None else ""
        return Group(path=path, label=label, nodes=nodes, is_folded=True, title=_find_title(item, self.names))

    def _describe_branches(self, prop: Property, value: object, path: Path) -> Node:
        if value is not ABSENT and not isinstance(value, Mapping):
            return self._describe_json(prop, value, path)
        ways = [
            Field(
                path=(*path, name),
                kind="choice",
                label=self.form.words.name_field(_BRANCHES, name),
                value=show_value("choice", find_value(value, (name,))),
                choices=self._list_targets(name, find_value(value, (name,))),
            )
            for name in _BRANCH_NAMES
        ]
        return Group(path=path, label="", nodes=tuple(ways))

    def _list_targets(self, name: str, present: object) -> tuple[Choice, ...]:
        known = (Choice("", self.form.words.name_nothing(name)), *self.targets)
        return _with_present(known, show_value("choice", present))

    def _describe_json(self, prop: Property, value: object, path: Path) -> Field:
        return Field(
            path=path,
            kind="json",
            label=self._name(prop),
            value=show_value("json", value),
            hint=self._explain(prop),
            is_required=prop.is_required,
        )

    def _describe_field(self, prop: Property, shape: Shape, value: object, path: Path) -> Field:
        offer = self.find_offer(path) or Offer()
        kind = _choose_kind(prop, shape, value)
        if offer.choices and not offer.is_open and isinstance(value, str | Absent):
            kind = "choice"
        text = show_value(kind, value)
        choices = offer.choices or (self.form.list_choices(prop.name, shape.schema) if kind == "choice" else ())
        if kind == "choice" and prop.name in _TARGETS:
            choices = self._list_targets(prop.name, value)
        elif kind == "choice":
            nothing = () if prop.is_required else (Choice("", self.form.words.name_nothing(prop.name)),)
            choices = _with_present((*nothing, *choices), text)
        least = shape.schema.minimum if shape.schema.minimum is not None else shape.schema.exclusive_minimum
        return Field(
            path=path,
            kind=kind,
            label=self._name(prop),
            value=text,
            hint=offer.hint or self._explain(prop),
            is_required=prop.is_required,
            choices=choices,
            inner="line" if shape.schema.inside is not None and shape.schema.inside.type == "string" else "any",
            inside=offer.inside,
            columns=self.form.words.name_columns(prop.owner, prop.name) if kind == "pairs" else ("", ""),
            usual=_show_usual(prop.schema, shape.schema, kind),
            least=least,
            most=shape.schema.maximum,
            is_open=shape.is_open,
        )

    def _name(self, prop: Property) -> str:
        return self.form.words.name_field(prop.owner, prop.name)

    def _explain(self, prop: Property) -> str:
        return self.form.words.explain_field(prop.owner, prop.name, prop.schema.description)


def _is_hidden(prop: Property, data: object) -> bool:
    """What only a branch has, at other steps; and what nobody chooses."""
    if find_value(data, (prop.name,)) is not ABSENT:
        return False
    if prop.schema.read_only or (prop.schema.const is not ABSENT and not prop.is_required):
        return True
    return prop.name in {_CONDITION, _BRANCHES} and find_value(data, ("type",)) != "branch"


def _choose_kind(prop: Property, shape: Shape, value: object) -> Kind:
    """JSON for what it could not show."""
    schema = shape.schema
    if prop.name in _TARGETS:
        return "choice"
    words = schema.enum or tuple(other.const for other in schema.one_of)
    if words and all(isinstance(word, str) for word in words):
        return "choice"
    if schema.one_of and not isinstance(value, str):
        return "json"
    match schema.type:
        case "string" if f"{prop.owner}-{prop.name}" in _CODES:
            return "code"
        case "string":
            return "text" if _is_long(prop, schema, value) else "line"
        case "integer" | "number":
            return schema.type
        case "boolean":
            return "boolean" if isinstance(value, bool | Absent) or value is None else "any"
        case "object" | "array":
            return _choose_rows(schema, value)
    return "any"


def _choose_rows(schema: Schema, value: object) -> Kind:
    if schema.type == "object":
        return "pairs" if isinstance(value, Mapping | Absent) else "json"
    if _holds_words(schema, value):
        return "words"
    return "items" if isinstance(value, list | Absent) else "json"


def _holds_words(schema: Schema, value: object) -> bool:
    """Whether a list is one of texts, or may be and is."""
    items = schema.items
    may_be = items is not None and (items.type == "string" or any(one.type == "string" for one in items.any_of))
    return may_be and (not isinstance(value, list) or all(isinstance(one, str) for one in value))


def _is_long(prop: Property, schema: Schema, value: object) -> bool:
    is_large = isinstance(value, str) and ("\n" in value or len(value) > _LONGEST_TITLE)
    return is_large or prop.name in _LONG_NAMES or (schema.max_length or 0) > _LONG


def _show_usual(outer: Schema, inner: Schema, kind: Kind) -> str:
    default = outer.default if outer.default is not ABSENT else inner.default
    if isinstance(default, bool):
        return YES if default else NO
    return show_value(kind, default) if default is not None else ""


def _with_present(choices: tuple[Choice, ...], present: str) -> tuple[Choice, ...]:
    """The present value may be none of them."""
    return choices if not present or any(choice.value == present for choice in choices) else (*choices, Choice(present, present))


def _find_title(item: Mapping[str, object], names: tuple[str, ...]) -> str:
    params = item.get("params")
    metadata = item.get("metadata")
    for source in (one if isinstance(one, Mapping) else {} for one in (metadata, item, params)):
        for name in (*_TITLES, *names, *_OTHER_TITLES):
            if isinstance(text := source.get(name), str) and text.strip():
                return " ".join(text.split())[:_LONGEST_TITLE]
    return ""
