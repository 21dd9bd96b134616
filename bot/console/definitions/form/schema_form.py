"""Makes the form of a document from its JSON Schema: typed fields, groups and lists, with what stands in the document (C-27)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bot.console.definitions.form.fields import NO, YES, Choice, Field, Group, Kind, Listing, Node, show_value
from bot.console.definitions.form.schema import Property, Schema, SchemaReader, Shape
from bot.plugins.kind_face import Steps
from orchestrator.documents.changing import ABSENT, Absent, find_value
from orchestrator.domain.finding import Path

_LONG: Final = 300
"""Characters from which on a text gets a field of several lines."""
_LONG_NAMES: Final = frozenset({"text", "prompt", "message", "question", "caption", "retry_text", "system_prompt", "source", "template"})
_CONDITION: Final = "condition"
_BRANCHES: Final = "branches"
_BRANCH_NAMES: Final = ("if", "else")
_MORE: Final = "…"
"""The last part of the path of a group that is no part of the document."""
_TARGETS: Final = frozenset({"next_step", "on_invalid", "on_timeout", "on_refused"})
"""Fields of scenarios that name a step."""
_TYPE_NAMES: Final = ("runeType", "type", "action_type")
"""Fields that say what an object is; the others depend on them."""
_RARE: Final = frozenset(
    {
        *("regex", "min_length", "max_length", "minimum", "maximum", "retry_text", "tries", "on_invalid", "timeout", "on_timeout"),
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
"""Fields that few definitions have: they stand below the others and are folded."""
_MOST_RARE_SHOWN: Final = 1
"""So many of them are not folded: one line more is shorter than something to open."""
_INLINE: Final = frozenset({"params", "metadata"})
"""Objects whose fields stand among those around them."""
_TITLES: Final = ("name", "title")
_OTHER_TITLES: Final = ("text", "prompt", "template", "method", "variable")
_LONGEST_TITLE: Final = 80


class Words(Protocol):
    """What people read in the form."""

    def name_field(self, owner: str, name: str) -> str:
        """Return what a field is called."""

    def explain_field(self, owner: str, name: str, description: str) -> str:
        """Return the sentence under a field; `description` is that of the schema."""

    def name_choice(self, name: str, value: str, description: str) -> str:
        """Return what people read for one of the values of a field."""

    def name_addition(self, name: str) -> str:
        """Return what stands on the button that adds an element to a list."""

    def name_more(self) -> str:
        """Return what the group of rare fields is called."""

    def name_nothing(self, name: str) -> str:
        """Return what people read for a choice that is not made."""


@dataclass(frozen=True, slots=True)
class SchemaForm:
    """The form of documents of one kind."""

    reader: SchemaReader
    words: Words
    steps: Steps | None = None
    """Where the steps stand to which fields may lead, None for a kind without steps."""

    def describe(self, document: object) -> Group:
        """Return the form of a document, which may be a draft with any content."""
        shape = Shape(self.reader.whole, self.reader.name)
        names = self.steps.name_steps(document) if self.steps is not None else ()
        targets = tuple(Choice(name, name) for name in dict.fromkeys(names) if name)
        fields = self.steps.names if self.steps is not None else ("id",)
        return Group(path=(), label="", nodes=_Description(self, targets, fields).list_nodes(shape, document, ()))

    def list_choices(self, name: str, schema: Schema) -> tuple[Choice, ...]:
        """Return the values of which a field is one, none if it is free."""
        known = [(one.const, one.description) for one in schema.one_of] or [(one, "") for one in schema.enum or ()]
        return tuple(Choice(value, self.words.name_choice(name, value, said)) for value, said in known if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class _Description:
    """One pass over a document."""

    form: SchemaForm
    targets: tuple[Choice, ...]
    """The steps to which fields may lead."""
    names: tuple[str, ...]
    """The fields by which steps are named."""

    def list_nodes(self, shape: Shape, data: object, path: Path) -> tuple[Node, ...]:
        """Return the fields of an object."""
        properties = self.form.reader.list_properties(shape, data)
        first = [one for one in properties if one.name in _TYPE_NAMES and (one.schema.one_of or one.is_required)]
        rest = [one for one in properties if one not in first and not _is_hidden(one, data)]
        rest.sort(key=lambda one: one.name in _TARGETS)
        rare = [one for one in rest if one.name in _RARE and not one.is_required]
        if len(rare) <= _MOST_RARE_SHOWN:
            rare = []
        nodes = [self._describe(one, find_value(data, (one.name,)), (*path, one.name)) for one in (*first, *rest) if one not in rare]
        if rare:
            folded = tuple(self._describe(one, find_value(data, (one.name,)), (*path, one.name)) for one in rare)
            more = Group(path=(*path, _MORE), label=self.form.words.name_more(), nodes=folded, is_folded=True)
            at = next((index for index, node in enumerate(nodes) if isinstance(node, Listing)), len(nodes))
            nodes.insert(at, more)
        return tuple(nodes)

    def _describe(self, one: Property, value: object, path: Path) -> Node:
        if one.name == _BRANCHES:
            return self._describe_branches(one, value, path)
        shape = self.form.reader.resolve(one.schema, one.owner, value)
        if shape.schema.type == "array" and self._holds_objects(shape):
            return self._describe_list(one, shape, value, path)
        properties = self.form.reader.list_properties(shape, value) if isinstance(value, Mapping | Absent) and not shape.is_mixed else []
        if properties:
            nodes = self.list_nodes(shape, value, path)
            if one.name in _INLINE:
                return Group(path=path, label="", nodes=nodes)
            return Group(path=path, label=self._name(one), nodes=nodes, hint=self._explain(one), is_folded=True)
        return self._describe_field(one, shape, value, path)

    def _holds_objects(self, shape: Shape) -> bool:
        items = shape.schema.items
        return items is not None and (items.ref is not None or items.condition is not None)

    def _describe_list(self, one: Property, shape: Shape, value: object, path: Path) -> Node:
        if value is not ABSENT and not isinstance(value, list):
            return self._describe_json(one, value, path)
        inner, items = shape.schema.items or Schema.model_validate({}), value if isinstance(value, list) else []
        groups = [self._describe_item(inner, shape.owner, item, (*path, index)) for index, item in enumerate(items)]
        add = self.form.words.name_addition(one.name)
        return Listing(path=path, label=self._name(one), items=tuple(groups), add=add, hint=self._explain(one))

    def _describe_item(self, schema: Schema, owner: str, item: object, path: Path) -> Group:
        shape = self.form.reader.resolve(schema, owner, item)
        if not isinstance(item, Mapping):
            whole = Field(path=path, kind="json", label="JSON", value=show_value("json", item))
            return Group(path=path, label="", nodes=(whole,), is_folded=True)
        nodes = self.list_nodes(shape, item, path)
        kind = next((node for node in nodes if isinstance(node, Field) and node.path[-1] in _TYPE_NAMES), None)
        label = next((choice.label for choice in kind.choices if choice.value == kind.value), kind.value) if kind is not None else ""
        return Group(path=path, label=label, nodes=nodes, is_folded=True, title=_find_title(item, self.names))

    def _describe_branches(self, one: Property, value: object, path: Path) -> Node:
        """Return where a branch leads: a step for each way."""
        if value is not ABSENT and not isinstance(value, Mapping):
            return self._describe_json(one, value, path)
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

    def _describe_json(self, one: Property, value: object, path: Path) -> Field:
        return Field(
            path=path,
            kind="json",
            label=self._name(one),
            value=show_value("json", value),
            hint=self._explain(one),
            is_required=one.is_required,
        )

    def _describe_field(self, one: Property, shape: Shape, value: object, path: Path) -> Field:
        kind = _choose_kind(one, shape, value)
        shown = show_value(kind, value)
        choices = self.form.list_choices(one.name, shape.schema) if kind == "choice" else ()
        if kind == "choice" and one.name in _TARGETS:
            choices = self._list_targets(one.name, value)
        elif kind == "choice":
            nothing = () if one.is_required else (Choice("", self.form.words.name_nothing(one.name)),)
            choices = _with_present((*nothing, *choices), shown)
        least = shape.schema.minimum if shape.schema.minimum is not None else shape.schema.exclusive_minimum
        return Field(
            path=path,
            kind=kind,
            label=self._name(one),
            value=shown,
            hint=self._explain(one),
            is_required=one.is_required,
            choices=choices,
            usual=_show_usual(one.schema, shape.schema, kind),
            least=least,
            most=shape.schema.maximum,
            is_open=shape.is_open,
        )

    def _name(self, one: Property) -> str:
        return self.form.words.name_field(one.owner, one.name)

    def _explain(self, one: Property) -> str:
        return self.form.words.explain_field(one.owner, one.name, one.schema.description)


def _is_hidden(one: Property, data: object) -> bool:
    """Return whether a field is not shown: what only a branch has, at other steps."""
    if one.name not in {_CONDITION, _BRANCHES} or find_value(data, (one.name,)) is not ABSENT:
        return False
    return find_value(data, ("type",)) != "branch"


def _choose_kind(one: Property, shape: Shape, value: object) -> Kind:
    """Return what kind of field fits a value of this shape; for one that it could not show, JSON."""
    schema = shape.schema
    if one.name in _TARGETS:
        return "choice"
    words = schema.enum or tuple(other.const for other in schema.one_of)
    if words and all(isinstance(word, str) for word in words):
        return "choice"
    if schema.one_of and not isinstance(value, str):
        return "json"
    match schema.type:
        case "string":
            return "text" if _is_long(one, schema, value) else "line"
        case "integer":
            return "integer"
        case "number":
            return "number"
        case "boolean":
            return "boolean" if isinstance(value, bool | Absent) or value is None else "any"
        case "array" if _holds_words(schema, value):
            return "words"
        case "object" | "array":
            return "json"
    return "any"


def _holds_words(schema: Schema, value: object) -> bool:
    """Return whether a list is one of texts, or may be and is."""
    items = schema.items
    may_be = items is not None and (items.type == "string" or any(one.type == "string" for one in items.any_of))
    return may_be and (not isinstance(value, list) or all(isinstance(one, str) for one in value))


def _is_long(one: Property, schema: Schema, value: object) -> bool:
    is_large = isinstance(value, str) and ("\n" in value or len(value) > _LONGEST_TITLE)
    return is_large or one.name in _LONG_NAMES or (schema.max_length or 0) > _LONG


def _show_usual(outer: Schema, inner: Schema, kind: Kind) -> str:
    given = outer.default if outer.default is not ABSENT else inner.default
    if isinstance(given, bool):
        return YES if given else NO
    return show_value(kind, given) if given is not None else ""


def _with_present(choices: tuple[Choice, ...], shown: str) -> tuple[Choice, ...]:
    """Return the choices with the present value, which may be none of them."""
    return choices if not shown or any(choice.value == shown for choice in choices) else (*choices, Choice(shown, shown))


def _find_title(item: Mapping[str, object], names: tuple[str, ...]) -> str:
    params = item.get("params")
    metadata = item.get("metadata")
    for given in (one if isinstance(one, Mapping) else {} for one in (metadata, item, params)):
        for name in (*_TITLES, *names, *_OTHER_TITLES):
            if isinstance(text := given.get(name), str) and text.strip():
                return " ".join(text.split())[:_LONGEST_TITLE]
    return ""
