"""The fields of a kind of definitions, how new elements begin, and the words of schema forms in the person's language."""

import re
from collections.abc import Sequence
from typing import Final

from bot.console.definitions.form.fields import Field, Group, parse_value
from bot.console.definitions.form.known import load_known
from bot.console.definitions.form.schema_form import SchemaForm
from bot.console.visit import Visit
from bot.plugins.choices import Known
from bot.plugins.kind_face import KIND_FACE, KindFace, build_kind_schema
from bot.plugins.loading import find_part_of_kind
from bot.plugins.schema_reader import SchemaReader
from orchestrator.documents.changing import ABSENT, find_value, insert_item, remove_value, set_value
from orchestrator.domain.finding import Path

_PARAMS: Final = "params"
_ROWS: Final = re.compile(r"\s*\((?:S\d{3}-[A-Z]?\d+|A\d+|X\d+|[ ,…]|rune_types\.py|`)+\)|\bOurs: ")


class FormWords:
    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._known: dict[tuple[str, ...], str] = {}
        """A form of 500 steps has the same words 500 times."""

    def _say(self, code: str, **args: str) -> str:
        known = (code, *args.values())
        if known not in self._known:
            self._known[known] = self._visit.say(code, **args)
        return self._known[known]

    def name_field(self, owner: str, name: str) -> str:
        own = self._say("console-form-own-name", place=_join(owner, name))
        return own or self._say("console-form-name", name=name, plain=_spell(name))

    def explain_field(self, owner: str, name: str, description: str) -> str:
        sentence = _ROWS.sub("", description)
        return self._say("console-form-hint", place=_join(owner, name), said=sentence[:1].upper() + sentence[1:])

    def name_choice(self, name: str, value: str, description: str) -> str:
        return self._say("console-form-value", place=_join(name, value), value=value, said=description)

    def name_addition(self, name: str) -> str:
        return self._say("console-form-add", name=name)

    def name_more(self) -> str:
        return self._say("console-form-more")

    def name_nothing(self, name: str) -> str:
        """For a choice that is not made."""
        return self._say("console-form-nothing", name=name)

    def name_columns(self, owner: str, name: str) -> tuple[str, str]:
        place = _join(owner, name)
        return self._say("console-form-key", place=place), self._say("console-form-value-of", place=place)


def _join(owner: str, name: str) -> str:
    """Of an inner part, such as a button, the last word counts."""
    return re.sub(r"\W", "_", f"{owner.rsplit('.', 1)[-1]}-{name}".replace("-", "_0_")).replace("_0_", "-")


def _spell(name: str) -> str:
    """ "inputVariable" as "Input variable"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").lower()
    return words[:1].upper() + words[1:]


def _find_kept(path: Path) -> int:
    """Elements of lists and the parameters of a step stay when they are emptied."""
    kept = [index + 1 for index, part in enumerate(path[:-1]) if isinstance(part, int) or part == _PARAMS]
    return max(kept, default=0)


class SchemaSource:
    def __init__(self, form: SchemaForm, face: KindFace, known: Known) -> None:
        self._form, self._face, self._known = form, face, known

    def describe(self, document: object) -> Group:
        return self._form.describe(document, self._face.open_choices(document, self._known))

    def enter(self, document: object, field: Field, typed: str) -> object:
        """Raises FieldRefused, and PlaceGone."""
        value = parse_value(field, typed)
        if value is ABSENT:
            return remove_value(document, field.path, keep=_find_kept(field.path))
        return self._face.follow(set_value(document, field.path, value), field.path)

    def add_item(self, document: object, path: Path) -> object:
        """At the end of the list at `path`, as elements of the kind begin."""
        items = find_value(document, path)
        index = len(items) if isinstance(items, list) else 0
        return self._face.follow(insert_item(document, path, index, self._face.build_item(document, path)), (*path, index))

    def list_variables(self, document: object, path: Path) -> Sequence[str]:
        """As they are written in the field at `path`."""
        return self._face.list_variables(document, path)


async def open_source(visit: Visit, kind: str) -> SchemaSource | None:
    """None for a plugin's kind without a schema. Raises VisitOver, StoreError."""
    face = find_part_of_kind(KIND_FACE, kind)
    schema = build_kind_schema(kind)
    if face is None or schema is None:
        return None
    return SchemaSource(
        SchemaForm(SchemaReader(schema, kind), FormWords(visit), face.steps, frozenset(face.offers)), face, await load_known(visit, face)
    )
