"""Others' customers that a person may read, by an open deal or lead of theirs, read from the portal at each call.

A list by ids alone, or of the contacts of one company, asks for those that they may read; any other stays restricted to the person's
records.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.fields import find_value, parse_ids, to_field_key
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize import batch
from state.stored import JsonObject

_LINKS: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("CONTACT_ID", "CONTACT_IDS"), "company": ("COMPANY_ID",)}
_OPEN: Final[Mapping[str, tuple[str, str]]] = {"deal": ("CLOSED", "N"), "lead": ("STATUS_SEMANTIC_ID", "P")}
_DEAL: Final = 2
_OWNER: Final = "ASSIGNED_BY_ID"
_MOST: Final = 50
_COMPANY: Final = "COMPANY_ID"
_PREFIXES: Final = "=@"


@dataclass(frozen=True, kw_only=True)
class _IdList:
    targets: tuple[Target, ...]
    is_narrowed: bool


async def load_staff(call: Call, actor: Actor, deps: GateDeps) -> Mapping[int, tuple[int, ...]]:
    """By company whose contacts are listed: their ids. Without one that has too many of them or cannot be read."""
    if not find_visible_users(actor) or not deps.policy.read_linked_customers:
        return {}
    companies = sorted({number for leaf in call.leaves if leaf.reads_only and (number := _parse_company(leaf)) is not None})
    reads = [("crm.contact.list", {"filter": {_COMPANY: number}, "select": ["ID"]}) for number in companies]
    try:
        lists = await deps.records.load_lists(reads) if reads else []
    except BitrixError:
        return {}
    numbers = [[as_id(find_value(row, "ID")) for row in rows if isinstance(row, Mapping)] for rows in lists]
    staff = zip(companies, numbers, strict=True)
    return {company: tuple(number for number in ids if number is not None) for company, ids in staff if len(ids) <= _MOST}


async def find_linked_customers(call: Call, known: Facts, actor: Actor, deps: GateDeps) -> frozenset[Target]:
    """Linked to an open deal or lead of the actor's users; for lists by ids the actor's own, too.

    Empty without reading if the policy forbids it or the actor may touch all. May raise BitrixError.
    """
    records, wholes, staff = known.records, known.wholes, known.staff
    users = find_visible_users(actor)
    if users is None or not users or not deps.policy.read_linked_customers:
        return frozenset()
    reads = [leaf for leaf in call.leaves if leaf.reads_only and leaf.spec.linked]
    listed_targets = {target for leaf in reads if (ids := _parse_id_list(leaf, staff)) is not None for target in ids.targets}
    read = {**records, **(await deps.records.load_records(sorted(listed_targets)) if listed_targets else {})}
    about = {target for leaf in reads if leaf.spec.owner == "record" for target in leaf.targets}
    about |= {whole.target for leaf in reads for part in leaf.targets if (whole := wholes.get(part)) is not None and not whole.is_visible}
    own = {target for target in about | listed_targets if may_touch(actor, deps.catalogue.entities.get(target[0]), read.get(target))}
    foreign = sorted(target for target in (about | listed_targets) - own if target[0] in _LINKS)
    return (await _find_linked(foreign, users, deps.records) if foreign else frozenset()) | (own & listed_targets)


async def _find_linked(targets: Sequence[Target], users: frozenset[int], records: PortalReader) -> frozenset[Target]:
    places = [
        (kind, {f"@{_OWNER}": sorted(users), name: value, f"@{_LINKS[entity][0]}": ids})
        for kind, (name, value) in _OPEN.items()
        for entity in _LINKS
        if (ids := [number for one, number in targets if one == entity])
    ]
    lists = await records.load_lists([(f"crm.{kind}.list", {"filter": wanted, "select": _list_fields(kind)}) for kind, wanted in places])
    linked = {target for (kind, _), rows in zip(places, lists, strict=True) for target in targets if _has_link(kind, rows, target, users)}
    missing = [target for target in targets if target not in linked and target[0] == "contact"]
    return frozenset(linked | (await _find_further_contacts(missing, users, records) if missing else set()))


async def _find_further_contacts(targets: Sequence[Target], users: frozenset[int], records: PortalReader) -> set[Target]:
    """The portal finds deals by their first contact only; none if these cannot be read."""
    select = ["id", "assignedById", "closed", "contactIds"]
    query = {"entityTypeId": _DEAL, "filter": {"@assignedById": sorted(users), "=closed": "N"}, "select": select}
    try:
        (rows,) = await records.load_lists([("crm.item.list", query)])
    except BitrixError:
        return set()
    return {target for target in targets if _has_link("deal", rows, target, users)}


def _list_fields(kind: str) -> list[str]:
    return ["ID", _OWNER, _OPEN[kind][0], "CONTACT_ID", "COMPANY_ID"]


def _has_link(kind: str, rows: Sequence[object], target: Target, users: Collection[int]) -> bool:
    """The filter that found the rows is not trusted."""
    name, value = _OPEN[kind]
    return any(
        str(find_value(row, name)) == value
        and as_id(find_value(row, _OWNER)) in users
        and any(str(target[1]) in parse_ids(find_value(row, link)) for link in _LINKS[target[0]])
        for row in rows
        if isinstance(row, Mapping)
    )


def open_lists(call: Call, facts: Facts, actor: Actor) -> Call:
    """Lists by ids ask for the ids in `facts.linked`.

    Raises Refusal for an unrestricted list that names an id which the actor may not read.
    """
    if find_visible_users(actor) is None or not any(_parse_id_list(leaf, facts.staff) for leaf in call.leaves):
        return call
    leaves = tuple(_open_list(leaf, facts) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def _open_list(leaf: Call, facts: Facts) -> Call:
    id_list = _parse_id_list(leaf, facts.staff)
    if id_list is None:
        return leaf
    allowed = [number for entity, number in id_list.targets if (entity, number) in facts.linked]
    if not id_list.is_narrowed:
        if len(allowed) == len(id_list.targets):
            return leaf
        raise Refusal(refuse("gate-filter-foreign", field=_OWNER, allowed="the person's own records"))
    if not allowed or leaf.names_owner:
        return leaf
    return replace(leaf, params={**leaf.params, "filter": {"@ID": allowed}}, system_fields=leaf.system_fields - {f"filter.{_OWNER}"})


def _parse_id_list(leaf: Call, staff: Mapping[int, Sequence[int]]) -> _IdList | None:
    conditions = _list_conditions(leaf)
    if (company := _parse_company(leaf)) is not None:
        return _IdList(targets=tuple((leaf.entity, number) for number in staff[company]), is_narrowed=True) if company in staff else None
    ids = [value for name, value in conditions.items() if name.lstrip(_PREFIXES).upper() == "ID" and name[:1] not in "!<>"]
    if len(ids) != 1 or len(conditions) != 1:
        return None
    numbers = list(_parse_numbers(ids[0]))
    if not numbers or None in numbers or len(numbers) > _MOST:
        return None
    targets = tuple(dict.fromkeys((leaf.entity, number) for number in numbers if number is not None))
    return _IdList(targets=targets, is_narrowed=_is_narrowed(leaf))


def _parse_company(leaf: Call) -> int | None:
    """The one whose contacts a limited list asks for, and nothing else."""
    conditions = _list_conditions(leaf)
    if leaf.entity != "contact" or not _is_narrowed(leaf) or len(conditions) != 1:
        return None
    ((name, number),) = conditions.items()
    return as_id(number) if name.lstrip("=").upper() == _COMPANY else None


def _list_conditions(leaf: Call) -> JsonObject:
    """Without that on the owner; {} for what is no list of customers."""
    if leaf.spec.owner != "filter" or not leaf.spec.linked or not isinstance(leaf.params.get("filter"), Mapping):
        return {}
    return {name: value for name, value in leaf.params["filter"].items() if not _is_about_owner(leaf, name)}


def _is_narrowed(leaf: Call) -> bool:
    return any(_is_about_owner(leaf, name) for name in leaf.params.get("filter") or ())


def _is_about_owner(leaf: Call, name: str) -> bool:
    return to_field_key(name.lstrip(_PREFIXES)) == to_field_key(leaf.spec.owner_filter.lstrip(_PREFIXES))


def _parse_numbers(value: object) -> Iterator[int | None]:
    for item in value if isinstance(value, list) else [value]:
        yield as_id(item)
