"""Reads from the portal what a check needs. Never writes."""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError, Refused
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference import Reference, is_employed
from orchestrator.directory.reference_cache import ReadTimedOut
from orchestrator.directory.reference_reads import MOST_USERS
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BULK
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields, fields, held_parts, replaced_lists
from orchestrator.gate.call.effect import Call, Facts, Part, Refuse, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.kinds.bulk_methods import DIGEST
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.permissions import find_needed_records
from orchestrator.gate.call.ports import ReadsBefore, Rejected
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.targets import PRODUCT_ROW, find_row_owner
from orchestrator.gate.decide import field_checks, value_kinds
from orchestrator.gate.decide.addressees import load_addressees
from orchestrator.gate.decide.calendar_sections import load_sections
from orchestrator.gate.decide.call_partners import load_call_partners
from orchestrator.gate.decide.linked_customers import find_linked_customers, load_staff
from orchestrator.gate.decide.part_owners import load_places, load_wholes
from orchestrator.gate.decide.signatures import load_sender
from orchestrator.language.person_mentions import is_of_namesakes
from orchestrator.language.title_matching import is_mentioned
from state.stored import JsonObject

_LONGEST_ID = 9
NOTHING_MADE: Final[Mapping[Target, JsonObject]] = {}


async def fetch_facts(
    call: Call, actor: Actor, deps: GateDeps, *, made: Mapping[Target, JsonObject] = NOTHING_MADE, is_part: bool = False
) -> Facts:
    """`made` are records that are not there yet, as they will be, or that were read just now.

    `is_part`: of an approved file, whose people were looked up when it was frozen. Raises BitrixError if a record cannot be read.
    """
    if call.kind != "bitrix":
        return await _fetch_other_facts(call, actor, deps)
    needed = tuple(target for target in find_needed_records(call, actor) if target not in made)
    known_records = await load_lists(call, await deps.records.load_records(needed) if needed else {}, deps.records, deps.catalogue)
    records = {**known_records, **made} if made else known_records
    wholes = await load_wholes(call, records, actor, deps)
    staff = await load_staff(call, actor, deps)
    known = Facts(
        records=records, wholes=wholes, staff=staff, field_lists=await field_checks.load_field_lists(call, deps.records.reference)
    )
    return Facts(
        records=records,
        parts=await _load_parts(call, deps.records),
        first_stages=await _load_first_stages(call, deps.records),
        wholes=wholes,
        places={} if call.commands or made or is_part else await load_places(call, records, actor, deps),
        call_partners=await load_call_partners(call, records, actor, deps),
        addressees=await load_addressees(call, records, actor, deps),
        sections=await load_sections(call, deps),
        sender=await load_sender(call, actor, deps),
        linked=await find_linked_customers(call, known, actor, deps),
        staff=staff,
        field_lists=known.field_lists,
        by_webhook=deps.is_by_webhook(call),
        value_lists=await value_kinds.load_value_lists(call, known, deps.records.reference),
        dismissed_users=await _find_dismissed(_find_new_people(call, actor, known), deps.records.reference, fresh=not is_part),
    )


async def _fetch_other_facts(call: Call, actor: Actor, deps: GateDeps) -> Facts:
    """What the call would change, and the policy's titles for it; nothing for a call that the policy refuses."""
    performer: object = deps.performers.get(call.kind)
    if KINDS[call.kind].find_refusal(call, deps.policy) is not None:
        return Facts()
    if call.kind == BULK:
        return await _load_bulk_file(str(call.params.get(DIGEST) or ""), deps)
    titles = KINDS[call.kind].list_titles(call, deps.policy)
    if call.reads_only or not isinstance(performer, ReadsBefore):
        needed_records = find_needed_records(call, actor)
        return Facts(titles=titles, records=await deps.records.load_records(needed_records) if needed_records else {})
    before = await performer.read_before(call)
    if isinstance(before, Rejected):
        return Facts(
            unread=Refuse(
                reason=Notice(code=before.code, args={"text": before.detail}), detail=before.detail, foreign_text=before.foreign_text
            )
        )
    return Facts(images=before, titles=titles)


async def _load_bulk_file(digest: str, deps: GateDeps) -> Facts:
    """What was frozen for the card: records that came to fit the filter since are no part of it."""
    file = await deps.bulk.load(digest) if digest else None
    if file is None:
        return Facts(unread=refuse("gate-bulk-gone")) if digest else Facts()
    return Facts(bulk=file, images={BULK: {DIGEST: digest, "count": len(file.items)}})


async def load_lists(
    call: Call, records_by_target: Mapping[Target, JsonObject | None], records: PortalReader, catalogue: Catalogue
) -> Mapping[Target, JsonObject | None]:
    """Raises BitrixError for a list that cannot be read as a whole: nobody could see what the call would remove."""
    whole = dict(records_by_target)
    reads = [read for read in replaced_lists.build_list_reads(call, catalogue) if whole.get(read.target) is not None]
    rows = await records.load_lists([(read.method, read.params) for read in reads]) if reads else ()
    for read, row in zip(reads, rows, strict=True):
        whole[read.target] = {**(whole[read.target] or {}), read.name: replaced_lists.to_stored_rows(row, read.kind)}
    missing = list(replaced_lists.list_missing_fields(call, whole))
    # ("item:2", 481) for ("deal", 481): crm.item.get also returns lists that the classic methods leave out
    twins = {target: (f"item:{catalogue.entities[target[0]].type_id}", target[1]) for target, _ in missing}
    read_again = await records.load_records(list(dict.fromkeys(twins.values()))) if twins else {}
    for target, name in missing:
        value = fields.find_value(read_again.get(twins[target]) or {}, name, target[0])
        if isinstance(value, list):
            whole[target] = {**(whole[target] or {}), name: value}
    return {**whole, **await _load_related(call, whole, records, catalogue)}


async def _load_related(
    call: Call, whole: Mapping[Target, JsonObject | None], records: PortalReader, catalogue: Catalogue
) -> Mapping[Target, JsonObject | None]:
    guests = {place: name for leaf in call.leaves for place in replaced_lists.find_guests_place(leaf) for name in leaf.spec.replaces}
    rows = {
        target: row
        for leaf in call.leaves
        if not leaf.reads_only
        for target in leaf.targets[:1]
        if target[0] == PRODUCT_ROW and (row := whole.get(target)) is not None
    }
    if not guests and not rows:
        return {}
    owners = {target: owner for target, row in rows.items() if (owner := find_row_owner(target, row, catalogue)) is not None}
    more_targets = list(dict.fromkeys([*guests, *owners.values()]))
    read = await records.load_records(more_targets) if more_targets else {}
    guest_lists = {place: replaced_lists.to_guests(event) for place in guests if (event := read[place]) is not None}
    events = {place: {guests[place]: people} for place, people in guest_lists.items() if people is not None}
    return {**events, **{target: replaced_lists.add_owner(rows[target], read[owner]) for target, owner in owners.items()}}


async def _load_parts(call: Call, records: PortalReader) -> dict[Part, JsonObject]:
    parts: dict[Part, JsonObject] = {}
    for read in held_parts.list_part_reads(call):
        try:
            row = await records.load_part(read.method, read.params, read.number)
        except BitrixError:
            continue
        if row is not None:
            parts[read.part] = held_parts.to_part(row)
    return parts


async def _load_first_stages(call: Call, records: PortalReader) -> Mapping[str, str]:
    """{} if the portal refuses, and then the call asks."""
    funnels = tuple(dict.fromkeys(key for leaf in call.leaves if (key := critical_fields.find_required_funnel(leaf))))
    try:
        return await records.load_first_stages(funnels) if funnels else {}
    except (Refused, ReadTimedOut):  # a smart process may have no funnels
        return {}


async def _find_dismissed(people: frozenset[int], known: Reference, *, fresh: bool) -> frozenset[int]:
    try:
        match sorted(people):
            case []:
                return frozenset()
            case [one] if fresh:
                return frozenset() if await known.is_active(one) else people
            case several:  # one request for all: a batch may name fifty
                rows = await known.load_users(fresh=fresh)
                cut = len(rows) >= MOST_USERS
                here = [is_employed(rows[number]) if number in rows else cut and await known.is_active(number) for number in several]
                return frozenset(number for number, works in zip(several, here, strict=True) if not works)
    except BitrixError:
        return frozenset()


def _find_new_people(call: Call, actor: Actor, facts: Facts) -> frozenset[int]:
    new_ids = (number for leaf in call.leaves for _, ids in value_kinds.find_new_people(leaf, facts) for number in ids)
    return frozenset(int(number) for number in new_ids if len(number) <= _LONGEST_ID) - {actor.bitrix_user_id}


async def find_named_people(call: Call, provenance: Provenance, actor: Actor, deps: GateDeps) -> frozenset[int]:
    """Only if the call makes a record whose owner nobody named. Raises bitrix errors."""
    if provenance.message is None or not any(leaf.spec.responsible in leaf.system_fields for leaf in call.leaves):
        return frozenset()
    users = (await deps.records.reference.load_users()).items()
    text = provenance.person_text
    others = ((number, user) for number, user in users if number != actor.bitrix_user_id)
    return frozenset(
        number
        for number, user in others
        if any(name and is_mentioned(name, text) for name in (user.last_name, user.full_name))
        or (user.name and is_mentioned(user.name, text) and not is_of_namesakes(user.name, user.last_name, text))
    )
