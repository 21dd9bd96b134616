"""Describes the methods of Bitrix24 as read from data/catalogue/*.yaml. Nothing is guessed from the name of a method.

The catalogue decides nothing. A method that is not listed is unknown to it.
"""

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bitrix.catalogue.names import to_field_key

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Model = TypeVar("_Model", bound=BaseModel)
MethodClass = Literal["R", "W", "D", "C", "M", "N"]
Verb = Literal["get", "list", "fields", "add", "update", "delete", "action"]
Owner = Literal["record", "part", "author", "event", "filter", "self", "reference", "unscoped"]
"""How rights are checked: `record` reads the target's owner; `part` reads the owner of the record that the target, such as a product row,
belongs to; `author` does the same and also demands that the person wrote the target; `event` reads in whose calendar the event is;
`filter` adds the responsible to the filter; `self` concerns the caller only;
`reference` is data everybody may see (stages, users, fields); `unscoped` cannot be checked, so only people with `sees: all` in the access
file may use it."""

ListKind = Literal["products", "contacts", "companies", "people"]
"""What stands in a list that belongs to a record: product rows, linked contacts or companies, guests of a calendar event."""


class Method(BaseModel):
    """The description of one method of the portal.

    `classes` lists all that apply: R (read), W (write), D (destructive), C (configuration), M (money), N (outward message).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    classes: tuple[MethodClass, ...] = Field(min_length=1)
    verb: Verb
    entity: str = ""
    """deal, lead, contact, company, item (typed by entityTypeId), task, activity, todo, comment, user …; "" for none."""
    idempotent: bool
    safe_create: bool = False
    critical: tuple[str, ...] = ()
    """Names of fields (in either spelling) whose change on an existing record needs a confirmation."""
    fields_at: str = "fields"
    """Where the fields are: "fields", or "" for the top level of params."""
    target: tuple[str, ...] = ()
    """Paths to the id of the record that is read or changed, of which the first present one counts: "id", "taskId", "fields.ENTITY_ID"."""
    target_entity: str = ""
    """The entity of the target if it is not `entity`: "deal", or "@fields.ENTITY_TYPE" to read its name from that path."""
    owner: Owner = "unscoped"
    owner_filter: str = ""
    """For owner=filter: the filter field to set, such as ASSIGNED_BY_ID."""
    linked: bool = False
    """Whether a read is also open to those who have an open deal or lead with this contact or company, whoever is responsible for it."""
    responsible: str = ""
    """For methods that add a record: the field that is set to the person who asks if it is missing."""
    marked: bool = False
    """Whether the created record gets ORIGINATOR_ID and ORIGIN_ID, by which it can be found if the portal's answer was lost."""
    before: str = ""
    """The read method that returns the record as it is before the change: "crm.deal.get"."""
    replaces: dict[str, ListKind] = Field(default_factory=dict)
    """The record's list that the call replaces as a whole: the parameter that holds the new list, and what the list holds.

    `before` reads the list. A call without the parameter empties the list, as crm.deal.contact.items.delete does."""
    changes_one: Literal["", "add", "remove"] = ""
    """With `replaces`: the call adds one element (its fields) to the list or removes one, and keeps the others."""
    undo: str = ""
    """The method that undoes this one; "" if there is none."""
    leads_to: tuple[str, ...] = ()
    """The states (STATUS numbers) a task may be in after this action, the usual one first."""
    comes_from: tuple[str, ...] = ()
    """The states (STATUS numbers) of a task in which the action is possible."""
    required: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    """Further top-level parameters, in the portal's spelling; "*" means any. A parameter not named anywhere in the row is unknown."""
    stands_for: dict[str, str] = Field(default_factory=dict)
    """Parameters that the record stores under another name: updateDeadline's `value` is its DEADLINE."""
    forced: dict[str, int | str] = Field(default_factory=dict)
    """Top-level parameters that are always set: event.offline.get clear=0."""
    inward: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Paths with their harmless values ("" = absent); any other value makes the call an outward message (N)."""
    closed: bool = False
    """Whether calls are refused unless the policy allows the method, as it is for all methods of class D."""
    asks: bool = False
    """Whether every call needs a confirmation, whatever it changes: completing a task, starting a workflow."""
    adds: bool = False
    """Whether a method that is no `add` only adds all the same, or marks something for the caller alone, such as a pin."""
    note: str = ""
    scope: str = ""
    """The scope that a webhook or application needs for the method, named as in the documentation: crm, task, im …; basic = always granted.
    `insufficient_scope` is answered with this name. The file's `scope` applies if the row has none."""
    app_only: bool = False
    """Whether the method works for an application (OAuth) only; a webhook gets WRONG_AUTH_TYPE."""
    rights: bool = False
    """Whether the method does nothing else than give somebody rights or access, which no conversation may do."""
    rare: bool = False
    """Whether a sales team seldom needs it: evaluated like any other, but left out of the list of methods in every model request."""
    source: str = ""
    """The page of the vendor's documentation below api-reference/, or the folder of the family's pages."""

    @property
    def reads_only(self) -> bool:
        """Whether the method changes nothing."""
        return self.classes == ("R",)

    @cached_property
    def param_names(self) -> Mapping[str, str]:
        """The names of the top-level parameters (lower case → exact spelling), in the order in which they are sent."""
        paths = [*self.required, *self.target, self.fields_at, self.target_entity.removeprefix("@"), *self.forced, *self.params]
        if self.target_entity and not self.target_entity.startswith("@"):
            paths.remove(self.target_entity)
        if self.owner == "filter":
            paths.append("filter")
        if self.responsible and not self.fields_at:
            paths.append(self.responsible)
        if self.reads_only or self.verb == "delete":
            paths = [path for path in paths if path != self.fields_at or path in self.required]
        tops = [path.partition(".")[0] for path in paths if path not in {"", "*"}]
        return {name.lower(): name for name in tops}


class Catalogue:
    """All listed methods, found by name without regard to case, and the kinds of records (`entities`)."""

    def __init__(self, methods: Iterable[Method], entities: Mapping[str, "Entity"]) -> None:
        """Keep the methods and the kinds of records. Raises ValueError if a method is listed twice."""
        self.entities = dict(entities)
        self._methods: dict[str, Method] = {}
        for method in methods:
            key = method.name.lower()
            if key in self._methods:
                msg = f"method {method.name} is listed twice in the catalogue"
                raise ValueError(msg)
            self._methods[key] = method

    def find(self, name: str) -> Method | None:
        """Return the method with the name `name`, in capitals or not; None if it is not listed."""
        method = self._methods.get(name)  # nearly all names are written as the catalogue has them
        return method if method is not None else self._methods.get(name.strip().lower())

    def __iter__(self) -> Any:
        """Iterate over all methods."""
        return iter(self._methods.values())

    def __len__(self) -> int:
        """Return the number of methods."""
        return len(self._methods)


class Entity(BaseModel):
    """A kind of record: how it is read, who owns it, and the display names of its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    type_id: int | None = None
    get: str
    list: str
    id_param: str = "id"
    result_key: str = ""
    """The key under which the answer holds the record ("item", "task"); "" if the answer is the record itself."""
    owner_field: str
    also_owned_by: tuple[str, ...] = ()
    """Further fields that name owners of the record: a task also belongs to its creator."""
    part_of: tuple[str, str] | None = None
    """The fields of a part, such as a comment, that name the record it belongs to: its kind and its id."""
    title_field: str = "TITLE"
    fields: dict[str, "FieldInfo"] = Field(default_factory=dict)

    @cached_property
    def by_key(self) -> dict[str, str]:
        """The field names in `fields` by their comparison key, which is the same for all spellings of a name (see `to_field_key`).

        If several names have the same key, the first one is kept.
        """
        return {to_field_key(name, self.name): name for name in reversed(self.fields)}


class FieldInfo(BaseModel):
    """The display names of a field and the kind of its values."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    ru: str
    en: str
    kind: Literal[
        "text",
        "prose",
        "money",
        "date",
        "datetime",
        "user",
        "stage",
        "category",
        "company",
        "contact",
        "flag",
        "number",
        "multifield",
        "enum",
    ] = "text"


def load_catalogue(folder: Path, extra: Iterable[Mapping[str, Any]] = ()) -> Catalogue:
    """Return the catalogue read from every YAML file of `folder`; `extra` are rows (descriptions of methods) that the policy adds.

    Raises ValueError for an invalid row; the error names the file, or the policy, and the row.
    """
    methods: list[Method] = []
    entities: dict[str, Entity] = {}
    for path in sorted(folder.glob("*.yaml")):
        rows, kinds = _read(path.name, path.read_text(encoding="utf-8"))
        methods.extend(rows)
        entities.update(kinds)
    methods.extend(_validate_row(Method, row, "policy") for row in extra)
    return Catalogue(methods, entities)


@cache
def _read(name: str, content: str) -> tuple[tuple[Method, ...], Mapping[str, Entity]]:
    """Parse one file and return (methods, kinds of records by name).

    The result is cached by text, because parsing all files takes a fifth of a second.
    """
    found = yaml.load(content, Loader=_LOADER) or {}  # noqa: S506 - a safe loader, in C
    entities = {kind: _validate_row(Entity, {"name": kind, **row}, name) for kind, row in (found.get("entities") or {}).items()}
    scope = {"scope": found["scope"]} if "scope" in found else {}
    sets = found.get("sets") or {}
    rows = (row for entry in found.get("methods") or [] for row in _expand({**scope, **entry}, sets, name))
    return tuple(_validate_row(Method, row, name) for row in rows), entities


def _expand(entry: Mapping[str, Any], sets: Mapping[str, list[str]], where: str) -> Iterable[dict[str, Any]]:
    """Return one row for each method in an entry of a file; an entry can describe several methods in `names`.

    In the columns `critical` and `params`, "$name" stands for a list in the section `sets` of the file. A method that only reads may always
    be repeated, so it counts as idempotent unless its row says otherwise. `where` is the file's name, for errors.
    """
    shared = {key: value for key, value in entry.items() if key != "names"}
    if shared.get("classes") == ["R"]:
        shared.setdefault("idempotent", True)
    names = entry.get("names") or (entry.get("name"),)
    for column in ("critical", "params"):
        listed: list[str] = []
        for item in entry.get(column, ()):
            if item.startswith("$") and item[1:] not in sets:
                msg = f"{where}: row {names[0]}: {column} names {item}, which is no set of this file"
                raise ValueError(msg)
            listed.extend(sets[item[1:]] if item.startswith("$") else [item])
        shared[column] = listed
    return [{**shared, "name": name} for name in names]


def _validate_row(model: type[_Model], row: Mapping[str, Any], where: str) -> _Model:
    try:
        return model.model_validate(row)
    except ValueError as error:
        msg = f"{where}: row {row.get('name', '?')}: {error}"
        raise ValueError(msg) from error
