import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, model_validator

from orchestrator.domain.actor import Mode, Role
from orchestrator.domain.budget import Currency, WrongValue
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.value_faults import describe_fault

Place = tuple[str | int, ...]
Places = Mapping[Place, tuple[str, int]]
"""("rules", 0, "then") → (name of the file, line)."""

_DURATION: Final = re.compile(r"(\d{1,6})\s*([smhd])", re.ASCII)
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def describe_yaml_error(error: Exception) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return f"{place}: look at indents, colons, quotes and brackets"


def parse_duration(value: object) -> object:
    """Parses "1h", "90m", "2d"; other texts raise ValueError, other values stay."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise WrongValue("finding-policy-duration", "a duration such as 1h, 90m or 2d is needed")
    return timedelta(**{_UNITS[match.group(2)]: int(match.group(1))})


def read_policy_file(path: Path) -> tuple[dict[str, object], dict[Place, tuple[str, int]]]:
    """The content, and (file, line) of each key and element. Raises SettingsError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            f"POLICY_FILE {path.name}: cannot be read ({type(error).__name__}); check the path and the encoding (UTF-8)"
        ) from None
    return parse_policy_text(text, path.name)


def parse_policy_text(text: str, name: str) -> tuple[dict[str, object], dict[Place, tuple[str, int]]]:
    """As `read_policy_file` does for the file `name`. Raises SettingsError."""
    try:
        content, placed_keys = _parse_policy(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError(f"POLICY_FILE {name}: not valid YAML{describe_yaml_error(error)}") from None
    if content is None:
        return {}, {}
    if not isinstance(content, Mapping):
        raise SettingsError(f"POLICY_FILE {name}: line 1: must be a map of keys such as `refuse_methods: [crm.deal.add]`")
    places: dict[Place, tuple[str, int]] = {}
    for place, line, twice in placed_keys:
        if twice:
            raise SettingsError(f"POLICY_FILE {name}: line {line}: `{format_place(place)}` is given twice; keep one")
        places[place] = name, line
    return {str(key): deepcopy(value) for key, value in content.items()}, places


@lru_cache(maxsize=4)  # the shipped text is read again with each text of an owner
def _parse_policy(text: str) -> tuple[object, list[tuple[Place, int, bool]]]:
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    if node is None:
        return None, []
    places = list(_list_places(node, ()))  # before the content is made, which rewrites the nodes of merged keys
    return loader.construct_document(node), places


def _list_places(node: yaml.Node, at: Place) -> Iterator[tuple[Place, int, bool]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            yield (*at, name), key.start_mark.line + 1, name in seen
            seen.add(name)
            yield from _list_places(value, (*at, name))
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*at, number), value.start_mark.line + 1, False
            yield from _list_places(value, (*at, number))


def format_place(place: Sequence[str | int]) -> str:
    """Gives "rules.0.then" for ("rules", 0, "then")."""
    return ".".join(str(part) for part in place)


def format_location(place: Sequence[str | int], places: Places) -> str:
    """For example "POLICY_FILE mine.yaml: line 4: `rules.0.then`"."""
    known = next((places[prefix] for end in range(len(place), 0, -1) if (prefix := tuple(place[:end])) in places), None)
    return f"POLICY_FILE {known[0]}: line {known[1]}: `{format_place(place)}`" if known else f"`{format_place(place)}`"


def describe_mistakes(
    error: ValidationError, places: Places, model: type[BaseModel], parts: Mapping[str, type[BaseModel]]
) -> Iterator[str]:
    for fault in error.errors():
        place, kind, needed, input_value = fault["loc"], fault["type"], describe_fault(fault), fault["input"]
        below = parts.get(str(place[0])) if len(place) > 1 else None
        here = format_location(place, places)
        if kind == "extra_forbidden":
            yield f"{here}: {needed}.{build_suggestion(str(place[-1]), list((below or model).model_fields))}"
        elif kind == "missing":
            yield f"{here}: {needed}"
        else:
            near = build_suggestion(str(input_value), re.findall(r"'([^']*)'", str(fault.get("ctx", {}).get("expected", ""))))
            yield f"{here}: {needed}; got {input_value!r:.60}{near and f'.{near}'}"


def build_suggestion(name: str, known: list[str]) -> str:
    near = find_near_name(name, known)
    return f" Did you mean {near!r}?" if near else ""


def find_near_name(name: str, known: list[str]) -> str:
    return next(iter(difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)), "")


Then = Literal["ask", "ask_twice", "lead", "two_people", "refuse"]
LONGEST_WHY: Final = 120


def _to_list(value: object) -> object:
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


def _strip_words(words: tuple[str, ...]) -> tuple[str, ...]:
    if any(not word.strip() for word in words):
        raise WrongValue("finding-policy-word-empty", "an empty word fits nothing; remove it")
    return tuple(word.strip() for word in words)


def _check_sentence(text: str) -> str:
    text = text.strip()
    if not text or not text.isprintable():
        raise WrongValue("finding-policy-why", "one plain sentence is needed: people read it when the rule applies")
    return text


Words = Annotated[tuple[Annotated[str, Field(coerce_numbers_to_str=True)], ...], BeforeValidator(_to_list), AfterValidator(_strip_words)]


class Rule(Frozen):
    """All its conditions must hold; of several words of one, one must match."""

    method: Words = ()
    """A deal changed through crm.item.update counts as crm.deal.update, too."""
    entity: Words = ()
    """Such as deal or item:*, whatever the method is."""
    field: Words = ()
    """Changed, or set on a new record."""
    above: Decimal | None = Field(default=None, ge=0)
    currency: Currency | Literal[""] = ""
    """Of `above`; by default the policy's."""
    times: int | None = Field(default=None, ge=2)
    person: Words = ()
    role: Annotated[tuple[Role, ...], BeforeValidator(_to_list)] = ()
    mode: Annotated[tuple[Mode, ...], BeforeValidator(_to_list)] = ()
    """The mode that applies to the person."""
    then: Then
    why: Annotated[str, Field(max_length=LONGEST_WHY), AfterValidator(_check_sentence)]

    @model_validator(mode="after")
    def _concerns_something(self) -> "Rule":
        if not any((self.method, self.entity, self.field, self.above is not None, self.times, self.person, self.role, self.mode)):
            raise WrongValue(
                "finding-policy-condition-missing",
                "names no condition, so it would concern every change; name at least one, such as `role: manager`",
            )
        if self.currency and self.above is None:
            raise WrongValue("finding-policy-currency-alone", "a currency is that of `above`; name the sum, or remove the currency")
        return self


class DefinitionRoles(Frozen):
    """None where the program's own rule holds."""

    edit: Annotated[frozenset[Role] | None, BeforeValidator(_to_list)] = None
    publish: Annotated[frozenset[Role] | None, BeforeValidator(_to_list)] = None


def is_match(pattern: str, name: str) -> bool:
    """Regardless of case; a star in `pattern` stands for any text."""
    return fnmatchcase(name.lower(), pattern.lower())
