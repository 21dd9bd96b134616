"""Finds contacts and companies of others that a person may read, because an open deal or lead of theirs is linked to them.

The links are read from the portal at each call; nothing that the model says counts. The right is one to read: no write asks for it. A list
stays restricted to the records of the person, except a list by ids alone, which then asks for exactly those ids that the person may read.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts, Target, Whole
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
"""The fields of a deal or lead that name its contacts and its company."""
_OPEN: Final[Mapping[str, tuple[str, str]]] = {"deal": ("CLOSED", "N"), "lead": ("STATUS_SEMANTIC_ID", "P")}
"""The field of a deal or lead that says whether it is open, and the value that says so."""
_DEAL: Final = 2
_OWNER: Final = "ASSIGNED_BY_ID"
_MOST: Final = 50
_PREFIXES: Final = "=@"


@dataclass(frozen=True, kw_only=True)
class _IdList:
    """A list of contacts or companies that is asked for by ids alone. `is_narrowed` says whether its filter names the owner too."""

    targets: tuple[Target, ...]
    is_narrowed: bool


async def find_linked_customers(
    call: Call, records: Mapping[Target, JsonObject | None], wholes: Mapping[Target, Whole], actor: Actor, deps: GateDeps
) -> frozenset[Target]:
    """Return the contacts and companies that `call` reads, belong to others and are linked to an open deal or lead of the actor's users.

    For a list by ids, those of the actor itself are among them. `records` and `wholes` are what the call is about. Returns an empty set
    without reading if the policy does not allow such reads, or the actor may touch all records. May raise BitrixError.
    """
    users = find_visible_users(actor)
    if users is None or not users or not deps.policy.read_linked_customers:
        return frozenset()
    reads = [leaf for leaf in call.leaves if leaf.reads_only and leaf.spec.linked]
    listed = {target for leaf in reads if (ids := _parse_id_list(leaf)) is not None for target in ids.targets}
    read = {**records, **(await deps.records.load_records(sorted(listed)) if listed else {})}
    about = {target for leaf in reads if leaf.spec.owner == "record" for target in leaf.targets}
    about |= {whole.target for leaf in reads for part in leaf.targets if (whole := wholes.get(part)) is not None and not whole.is_visible}
    own = {target for target in about | listed if may_touch(actor, deps.catalogue.entities.get(target[0]), read.get(target))}
    foreign = sorted(target for target in (about | listed) - own if target[0] in _LINKS)
    return (await _find_linked(foreign, users, deps.records) if foreign else frozenset()) | (own & listed)


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
    """Return those contacts that are not the first of an open deal, by which the portal finds it; none if these cannot be read."""
    select = ["id", "assignedById", "closed", "contactIds"]
    wanted = {"entityTypeId": _DEAL, "filter": {"@assignedById": sorted(users), "=closed": "N"}, "select": select}
    try:
        (rows,) = await records.load_lists([("crm.item.list", wanted)])
    except BitrixError:
        return set()
    return {target for target in targets if _has_link("deal", rows, target, users)}


def _list_fields(kind: str) -> list[str]:
    return ["ID", _OWNER, _OPEN[kind][0], "CONTACT_ID", "COMPANY_ID"]


def _has_link(kind: str, rows: Sequence[object], target: Target, users: Collection[int]) -> bool:
    """Return whether a row is open, belongs to one of the users and names `target`; the filter that found it is not trusted."""
    name, value = _OPEN[kind]
    return any(
        str(find_value(row, name)) == value
        and as_id(find_value(row, _OWNER)) in users
        and any(str(target[1]) in parse_ids(find_value(row, link)) for link in _LINKS[target[0]])
        for row in rows
        if isinstance(row, Mapping)
    )


def open_lists(call: Call, facts: Facts, actor: Actor) -> Call:
    """Return `call` with its lists by ids asking for exactly the ids in `facts.linked`, instead of for records of the actor only.

    A list stays as it is if none of its ids is of somebody else and linked. Raises Refusal for a list by ids that is not restricted to the
    actor's records, and names an id that they may not read any more.
    """
    if find_visible_users(actor) is None or not any(_parse_id_list(leaf) for leaf in call.leaves):
        return call
    leaves = tuple(_open_list(leaf, facts) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def _open_list(leaf: Call, facts: Facts) -> Call:
    id_list = _parse_id_list(leaf)
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


def _parse_id_list(leaf: Call) -> _IdList | None:
    """Return the ids of a list of contacts or companies that names nothing but ids; None for any other call."""
    if leaf.spec.owner != "filter" or not leaf.spec.linked or not isinstance(leaf.params.get("filter"), Mapping):
        return None
    given = dict(leaf.params["filter"])
    owner = leaf.spec.owner_filter.lstrip(_PREFIXES)
    narrowed = [name for name in given if to_field_key(name.lstrip(_PREFIXES)) == to_field_key(owner)]
    ids = [value for name, value in given.items() if name.lstrip(_PREFIXES).upper() == "ID" and name[:1] not in "!<>"]
    if len(ids) != 1 or len(given) != 1 + len(narrowed):
        return None
    numbers = list(_parse_numbers(ids[0]))
    if not numbers or None in numbers or len(numbers) > _MOST:
        return None
    targets = tuple(dict.fromkeys((leaf.entity, number) for number in numbers if number is not None))
    return _IdList(targets=targets, is_narrowed=bool(narrowed))


def _parse_numbers(value: object) -> Iterator[int | None]:
    for item in value if isinstance(value, list) else [value]:
        yield as_id(item)
