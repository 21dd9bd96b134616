"""Describes the methods of Bitrix24 as read from data/catalogue/*.yaml."""

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bitrix.catalogue.names import MULTIFIELDS, to_field_key

ALSO_TAKEN: Final = {
    "task": frozenset({"SE_PARAMETER", "DEPENDS_ON", "CHECKLIST", "TAGS", "UF_CRM_TASK", "UF_TASK_WEBDAV_FILES", "UF_MAIL_MESSAGE"}),
}
ALSO_FILTERED: Final = frozenset({"SEARCH_CONTENT", "FM", "CONTACT_IDS", "COMPANY_IDS", "ACTIVE_TIME_PERIOD", *MULTIFIELDS})
TASKS_FILTERED: Final = frozenset({
    "MEMBER", "DOER", "ACTIVE", "OVERDUED", "TAG", "ROLEID", "SITE_ID", "GUID", "MARK", "REAL_STATUS", "ONLY_ROOT_TASKS", "IN_REPORT",
    "SUBORDINATE_TASKS", "SUBORDINATE", "SEARCH_INDEX", "FULL_SEARCH_INDEX", "SCENARIO_NAME", "FORUM_TOPIC_ID", "ZOMBIE", "XML_ID",
    "ALLOW_TIME_TRACKING", "AUDITOR", "ACCOMPLICE", "AUDITORS", "ACCOMPLICES", "TASK_CONTROL", "CHANGED_DATE", "CREATED_DATE",
    "CLOSED_DATE", "CLOSED_BY", "CHANGED_BY", "STATUS_CHANGED_BY", "STATUS_CHANGED_DATE", "DATE_START", "START_DATE_PLAN",
    "END_DATE_PLAN", "DEPENDS_ON", "VIEWED", "VIEWED_DATE", "FAVORITE", "STAGE_ID", "STAGES_ID", "FLOW", "FLOW_ID", "SPRINT_ID",
    "UF_CRM_TASK", "PRIORITY", "STATUS", "DEADLINE", "PARENT_ID", "GROUP_ID", "RESPONSIBLE_ID", "CREATED_BY", "TITLE", "ID",
})  # fmt: skip
FILLED: Final = frozenset(
    {
        "stageid",
        "statusid",
        "categoryid",
        "assignedbyid",
        "currencyid",
        "opened",
        "typeid",
        "companytype",
        "sourceid",
        "begindate",
        "closedate",
    }
)
WRITABLE_KEYS: Final = frozenset(
    {
        "productid",
        "productname",
        "price",
        "quantity",
        "discounttypeid",
        "discountrate",
        "discountsum",
        "taxrate",
        "taxincluded",
        "measurecode",
        "measurename",
        "customized",
        "sort",
    }
)
RESERVED_KEYS: Final = frozenset({"storeid", "reserveid", "reservequantity", "inputreservequantity", "rowreserved", "datereserveend"})
"""Which goods are reserved for a product row; writing the row again does not bring a reservation back."""


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Model = TypeVar("_Model", bound=BaseModel)
MethodClass = Literal["R", "W", "D", "C", "M", "N"]
Verb = Literal["get", "list", "fields", "add", "update", "delete", "action"]
Owner = Literal["record", "part", "author", "event", "filter", "self", "reference", "unscoped"]
"""How rights are checked.

`record`: the target's owner. `part`: the owner of the record that the target belongs to. `author`: also that the person wrote it. `event`:
whose calendar. `filter`: the responsible is added to the filter. `self`: the caller only. `reference`: open to all. `unscoped`: only for
`sees: all`.
"""

ListKind = Literal["products", "contacts", "companies", "people"]


class Method(BaseModel):
    """`classes` are all that apply: R (read), W (write), D (destructive), C (configuration), M (money), N (outward message)."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    classes: tuple[MethodClass, ...] = Field(min_length=1)
    verb: Verb
    entity: str = ""
    """Such as deal, item (typed by entityTypeId), task …; "" for none."""
    idempotent: bool
    safe_create: bool = False
    critical: tuple[str, ...] = ()
    fields_at: str = "fields"
    """Either "fields", or "" for the top level of params."""
    target: tuple[str, ...] = ()
    """Paths to the id of the record, of which the first present one counts: "id", "fields.ENTITY_ID"."""
    target_entity: str = ""
    owner: Owner = "unscoped"
    owner_filter: str = ""
    linked: bool = False
    """A read is also open to those who have an open deal or lead with this contact or company."""
    responsible: str = ""
    author: str = ""
    """The field that names who makes the record; without it the portal writes the owner of the webhook."""
    signed: tuple[str, ...] = ()
    """Parameters with a text that people read as the words of the owner of the webhook."""
    marked: bool = False
    """The created record gets ORIGINATOR_ID and ORIGIN_ID, by which it is found if the answer was lost."""
    before: str = ""
    """The read method that returns the record before the change: "crm.deal.get"."""
    replaces: dict[str, ListKind] = Field(default_factory=dict)
    """The list that the call replaces as a whole. A call without the parameter empties it."""
    changes_one: Literal["", "add", "remove"] = ""
    """With `replaces`: the call adds or removes one element and keeps the others."""
    undo: str = ""
    """The method that undoes this one; "" if there is none."""
    leads_to: tuple[str, ...] = ()
    """STATUS numbers a task may have after this action, the usual one first."""
    comes_from: tuple[str, ...] = ()
    """STATUS numbers of a task in which the action is possible."""
    required: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    """Further top-level parameters; "*" means any. One not named anywhere in the row is unknown."""
    kept: dict[str, str] = Field(default_factory=dict)
    """Parameters that the portal needs although the record says them, under these names: the gate fills them in."""
    stands_for: dict[str, str] = Field(default_factory=dict)
    """Parameters that the record stores under another name: updateDeadline's `value` is its DEADLINE."""
    forced: dict[str, int | str] = Field(default_factory=dict)
    inward: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Paths with their harmless values ("" = absent); any other makes the call an outward message (N)."""
    closed: bool = False
    """Refused unless the policy allows the method, as all of class D are."""
    asks: bool = False
    adds: bool = False
    """No `add`, but it only adds all the same, or marks something for the caller alone, such as a pin."""
    note: str = ""
    scope: str = ""
    """The scope that the method needs: crm, task, im …; basic = always granted."""
    app_only: bool = False
    """For applications (OAuth) only; a webhook gets WRONG_AUTH_TYPE."""
    rights: bool = False
    """It does nothing else than give somebody rights, which no conversation may do."""
    rare: bool = False
    """Left out of the list of methods in every model request."""
    source: str = ""
    """The page of the vendor's documentation below api-reference/."""

    @property
    def reads_only(self) -> bool:
        return self.classes == ("R",)

    @cached_property
    def param_names(self) -> Mapping[str, str]:
        paths = [*self.required, *self.target, self.fields_at, self.target_entity.removeprefix("@"), *self.forced, *self.kept, *self.params]
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
    def __init__(self, methods: Iterable[Method], entities: Mapping[str, "Entity"]) -> None:
        self.entities = dict(entities)
        self._methods: dict[str, Method] = {}
        for method in methods:
            key = method.name.lower()
            if key in self._methods:
                msg = f"method {method.name} is listed twice in the catalogue"
                raise ValueError(msg)
            self._methods[key] = method

    def find(self, name: str) -> Method | None:
        method = self._methods.get(name)  # nearly all names are written as the catalogue has them
        return method if method is not None else self._methods.get(name.strip().lower())

    def __iter__(self) -> Any:
        return iter(self._methods.values())

    def __len__(self) -> int:
        return len(self._methods)


class Entity(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    type_id: int | None = None
    get: str
    list: str
    id_param: str = "id"
    result_key: str = ""
    owner_field: str
    also_owned_by: tuple[str, ...] = ()
    """Further fields that name owners: a task also belongs to its creator."""
    part_of: tuple[str, str] | None = None
    """The fields of a part, such as a comment, that name the kind and the id of its record."""
    title_field: str = "TITLE"
    fields: dict[str, "FieldInfo"] = Field(default_factory=dict)

    @cached_property
    def by_key(self) -> dict[str, str]:
        return {to_field_key(name, self.name): name for name in reversed(self.fields)}


class FieldInfo(BaseModel):
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
    """Cached by text: parsing all files takes a fifth of a second."""
    document = yaml.load(content, Loader=_LOADER) or {}  # noqa: S506 - a safe loader, in C
    entities = {kind: _validate_row(Entity, {"name": kind, **row}, name) for kind, row in (document.get("entities") or {}).items()}
    scope = {"scope": document["scope"]} if "scope" in document else {}
    sets = document.get("sets") or {}
    rows = (row for entry in document.get("methods") or [] for row in _expand({**scope, **entry}, sets, name))
    return tuple(_validate_row(Method, row, name) for row in rows), entities


def _expand(entry: Mapping[str, Any], sets: Mapping[str, list[str]], where: str) -> Iterable[dict[str, Any]]:
    """One row per method of an entry."""
    shared = {key: value for key, value in entry.items() if key != "names"}
    if shared.get("classes") == ["R"]:
        shared.setdefault("idempotent", True)
    names = entry.get("names") or (entry.get("name"),)
    for column in ("critical", "params"):
        expanded: list[str] = []
        for item in entry.get(column, ()):
            if item.startswith("$") and item[1:] not in sets:
                msg = f"{where}: row {names[0]}: {column} names {item}, which is no set of this file"
                raise ValueError(msg)
            expanded.extend(sets[item[1:]] if item.startswith("$") else [item])
        shared[column] = expanded
    return [{**shared, "name": name} for name in names]


def _validate_row(model: type[_Model], row: Mapping[str, Any], where: str) -> _Model:
    try:
        return model.model_validate(row)
    except ValueError as error:
        msg = f"{where}: row {row.get('name', '?')}: {error}"
        raise ValueError(msg) from error
