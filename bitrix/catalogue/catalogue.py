"""What is known of each Bitrix24 method: read from data/catalogue/*.yaml, never guessed from a name (DESIGN §3).

Ring 1: it describes the portal and decides nothing. An unlisted method is simply absent.
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
Owner = Literal["record", "filter", "self", "reference", "unscoped"]
"""How rights are checked: `record` reads the target's owner; `filter` adds the responsible filter; `self` concerns the caller only;
`reference` is data everybody may see (stages, users, fields); `unscoped` cannot be checked, so only `sees: all` may use it."""


class Method(BaseModel):
    """One method of the portal. `classes` lists all that apply (R read, W write, D destructive, C configuration, M money, N outward)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    classes: tuple[MethodClass, ...] = Field(min_length=1)
    verb: Verb
    entity: str = ""
    """deal, lead, contact, company, item (typed by entityTypeId), task, activity, todo, comment, user …; "" = none."""
    idempotent: bool
    safe_create: bool = False
    critical: tuple[str, ...] = ()
    """Field names (upper and camel spelling) whose change on an existing record asks."""
    fields_at: str = "fields"
    """Where the fields lie: "fields", or "" for the top level of params."""
    target: tuple[str, ...] = ()
    """Paths to the id of the record that is read or changed, first present wins: "id", "taskId", "fields.ENTITY_ID"."""
    target_entity: str = ""
    """What the target is when it is not `entity`: "deal", or "@fields.ENTITY_TYPE" to read its name there."""
    owner: Owner = "unscoped"
    owner_filter: str = ""
    """For owner=filter: the filter field to set, such as ASSIGNED_BY_ID."""
    responsible: str = ""
    """For adds: the field that becomes the speaker when missing."""
    marked: bool = False
    """ORIGINATOR_ID/ORIGIN_ID are set on it, so a lost answer can be reconciled."""
    before: str = ""
    """The read method that gives the before-image: "crm.deal.get"."""
    undo: str = ""
    """The method that takes it back, as far as one does."""
    leads_to: tuple[str, ...] = ()
    """The states a task may be in after this action, the usual one first: its numbers of STATUS."""
    comes_from: tuple[str, ...] = ()
    """The states in which the action is possible."""
    required: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    """Further top-level parameters, in the portal's spelling; "*" = any. What no part of the row names is unknown."""
    stands_for: dict[str, str] = Field(default_factory=dict)
    """Parameters that the record keeps under another name: updateDeadline's `value` is its DEADLINE."""
    forced: dict[str, int | str] = Field(default_factory=dict)
    """Top-level parameters that are set whatever the caller says: event.offline.get clear=0."""
    inward: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Paths with their harmless values ("" = absent); any other value makes the call an outward message (N)."""
    closed: bool = False
    """Refused unless the policy opens the method, as the whole of class D is."""
    asks: bool = False
    """Every call asks, whatever it changes: completing a task, starting a workflow."""
    note: str = ""
    scope: str = ""
    """The right a webhook or application needs for it, as the documentation names it: crm, task, im …; basic = every one has it.
    `insufficient_scope` is answered with this name. The file's `scope` holds where the row has none."""
    app_only: bool = False
    """Works for an application (OAuth) only; a webhook gets WRONG_AUTH_TYPE."""
    rare: bool = False
    """Not part of a sales team's day: judged like any other, but not worth a line in the list of methods
    that every request to a model carries."""
    source: str = ""
    """The page of the vendor's documentation below api-reference/, or the folder of the family's pages."""

    @property
    def reads_only(self) -> bool:
        """True when the method changes nothing."""
        return self.classes == ("R",)


class Catalogue:
    """The listed methods, looked up without regard to case."""

    def __init__(self, methods: Iterable[Method], entities: Mapping[str, "Entity"]) -> None:
        """Keep `methods`; two rows for one name are an error."""
        self.entities = dict(entities)
        self._methods: dict[str, Method] = {}
        for method in methods:
            key = method.name.lower()
            if key in self._methods:
                msg = f"method {method.name} is listed twice in the catalogue"
                raise ValueError(msg)
            self._methods[key] = method

    def find(self, name: str) -> Method | None:
        """The method of that name in any case, or None when it is not listed."""
        return self._methods.get(name.strip().lower())

    def __iter__(self) -> Any:
        """All methods."""
        return iter(self._methods.values())

    def __len__(self) -> int:
        """How many methods are listed."""
        return len(self._methods)


class Entity(BaseModel):
    """A kind of record: how it is read, whose it is, what its fields are called for people."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    type_id: int | None = None
    get: str
    list: str
    id_param: str = "id"
    result_key: str = ""
    """"item" or "task" when the record lies one level down."""
    owner_field: str
    also_owned_by: tuple[str, ...] = ()
    """Further fields that make a record one's own: who set a task may follow it."""
    title_field: str = "TITLE"
    fields: dict[str, "FieldInfo"] = Field(default_factory=dict)

    @cached_property
    def by_key(self) -> dict[str, str]:
        """The names of `fields` by their key (`bitrix.catalogue.names.squeeze`); where two share one, the first."""
        return {to_field_key(name, self.name): name for name in reversed(self.fields)}


class FieldInfo(BaseModel):
    """A field for people: names and how its values read."""

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
    """Read every YAML file of `folder`, then the `extra` rows of the policy; raises ValueError naming the file and row."""
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
    """What one file holds; the same text is read once a process: all files together take a fifth of a second."""
    found = yaml.load(content, Loader=_LOADER) or {}  # noqa: S506 - a safe loader, in C
    entities = {kind: _validate_row(Entity, {"name": kind, **row}, name) for kind, row in (found.get("entities") or {}).items()}
    scope = {"scope": found["scope"]} if "scope" in found else {}
    sets = found.get("sets") or {}
    rows = (row for entry in found.get("methods") or [] for row in _expand({**scope, **entry}, sets, name))
    return tuple(_validate_row(Method, row, name) for row in rows), entities


def _expand(entry: Mapping[str, Any], sets: Mapping[str, list[str]], where: str) -> Iterable[dict[str, Any]]:
    """One row per name of `names`; "$name" entries of `critical` and `params` become the named set of the file.

    A read may always be repeated, so only rows that change something say whether they may.
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
