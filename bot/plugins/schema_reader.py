"""A JSON Schema as the form reads it; a field of an unknown keyword is JSON, so nothing is kept from the author."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.documents.changing import ABSENT, find_value

_PLACEHOLDER: Final = r"\{[^{}]+\}"
_REFS: Final = "#/$defs/"
_DEEPEST: Final = 30


class Schema(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    ref: str | None = Field(None, alias="$ref")
    defs: dict[str, "Schema"] = Field(default_factory=dict, alias="$defs")
    type: str | None = None
    description: str = ""
    default: object = ABSENT
    const: object = ABSENT
    enum: tuple[object, ...] | None = None
    pattern: str | None = None
    max_length: int | None = Field(None, alias="maxLength")
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = Field(None, alias="exclusiveMinimum")
    properties: dict[str, "Schema | bool"] = Field(default_factory=dict)
    required: frozenset[str] = frozenset()
    read_only: bool = Field(False, alias="readOnly")
    additional: "Schema | bool" = Field(True, alias="additionalProperties")
    patterns: dict[str, "Schema"] = Field(default_factory=dict, alias="patternProperties")
    items: "Schema | None" = None
    any_of: tuple["Schema", ...] = Field((), alias="anyOf")
    one_of: tuple["Schema", ...] = Field((), alias="oneOf")
    all_of: tuple["Schema", ...] = Field((), alias="allOf")
    condition: "Schema | None" = Field(None, alias="if")
    then: "Schema | None" = None
    otherwise: "Schema | None" = Field(None, alias="else")

    @property
    def inside(self) -> "Schema | None":
        """Of the values of an object whose keys are free."""
        return self.additional if isinstance(self.additional, Schema) else next(iter(self.patterns.values()), None)

    @property
    def is_placeholder(self) -> bool:
        """For a text with a variable in place of another value."""
        return self.type == "string" and self.pattern == _PLACEHOLDER

    def is_met(self, data: object) -> bool:
        """As published schemas have conditions: fields that are there, and their values."""
        has_all = all(find_value(data, (name,)) is not ABSENT for name in self.required)
        return has_all and all(
            one.const is ABSENT or find_value(data, (name,)) == one.const
            for name, one in self.properties.items()
            if isinstance(one, Schema)
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """What one value may be."""

    schema: Schema
    owner: str
    """The part in which its fields stand, such as the type of a step."""
    is_open: bool = False
    """A text with a placeholder may stand there instead."""
    is_mixed: bool = False


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    owner: str
    schema: Schema
    is_required: bool


class SchemaReader:
    def __init__(self, schema: Mapping[str, object], name: str) -> None:
        """`name` is that of the outermost part."""
        self.whole, self.name = Schema.model_validate(schema), name

    def list_properties(self, shape: Shape, data: object) -> list[Property]:
        """In the order in which an author should read them."""
        properties: dict[str, Property] = {}
        parts = list(self._list_parts(shape.owner, shape.schema, data, 0))
        for owner, part in parts:
            for name, part_schema in part.properties.items():
                if isinstance(part_schema, Schema):
                    before = properties.get(name)
                    properties[name] = Property(name, owner, part_schema, False) if before is None else _overlay(before, part_schema)
        required = {name for _, part in parts for name in part.required}
        return [Property(prop.name, prop.owner, prop.schema, prop.name in required) for prop in properties.values()]

    def _list_parts(self, owner: str, schema: Schema, data: object, depth: int) -> Iterator[tuple[str, Schema]]:
        """Each with the owner of its fields."""
        if depth > _DEEPEST:
            return
        if schema.ref is not None:
            name = schema.ref.removeprefix(_REFS)
            yield from self._list_parts(name, self.whole.defs.get(name, Schema.model_validate({})), data, depth + 1)
        yield owner, schema
        for rule in (schema, *schema.all_of):
            if rule.condition is not None:
                branch = rule.then if rule.condition.is_met(data) else rule.otherwise
                if branch is not None:
                    yield from self._list_parts(owner, branch, data, depth + 1)

    def resolve(self, schema: Schema, owner: str, data: object = ABSENT) -> Shape:
        """References followed, null and placeholders taken out."""
        resolved = schema
        for _ in range(_DEEPEST):
            if resolved.ref is not None:
                owner = resolved.ref.removeprefix(_REFS)
                resolved = self.whole.defs.get(owner, Schema.model_validate({}))
            elif resolved.condition is not None and not resolved.properties:
                resolved = (resolved.then if resolved.condition.is_met(data) else resolved.otherwise) or Schema.model_validate({})
            else:
                break
        shape = Shape(resolved, owner)
        if not resolved.any_of:
            return shape
        options = [one for one in resolved.any_of if one.type != "null"]
        real = [option for option in options if not option.is_placeholder]
        is_open = len(real) < len(options)
        if len(real) != 1:
            return Shape(resolved, owner, is_open, is_mixed=True)
        inner = self.resolve(real[0], owner, data)
        return Shape(inner.schema, inner.owner, is_open or inner.is_open, inner.is_mixed)


def _overlay(before: Property, schema: Schema) -> Property:
    """Another part of the schema says more of it."""
    more = schema.model_copy(update={"description": schema.description or before.schema.description})
    return Property(before.name, before.owner, more, False)
