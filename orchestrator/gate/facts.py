"""What is looked up before a call is judged: records, first stages, lists of fields, people. Ring 2; reads, and no more than is needed."""

from collections.abc import Iterator, Mapping
from typing import Any

from bitrix.errors import BitrixError, Refused
from orchestrator.directory.reference import is_employed
from orchestrator.directory.reference_patience import ReadTimedOut
from orchestrator.directory.reference_reads import MOST_USERS
from orchestrator.gate import criticals, field_lists, fields
from orchestrator.gate.effects import Call, Facts
from orchestrator.gate.means import GateDeps
from orchestrator.gate.ports import People, Records
from orchestrator.gate.rights import find_needed_records
from orchestrator.messages import Actor

_LONGEST_ID = 9


async def fetch_facts(call: Call, actor: Actor, means: GateDeps) -> Facts:
    """What `call` is judged by, records, stages and people as they are now; raises BitrixError when a record cannot be read."""
    wanted = find_needed_records(call, actor)
    records = await means.records.load_records(wanted) if wanted else {}
    return Facts(
        records=records,
        first_stages=await _load_first_stages(call, means.records),
        field_lists=await field_lists.load_field_lists(call, means.records.reference),
        dismissed_users=await _find_dismissed(_find_new_responsible(call, actor, records), means.records.reference),
        by_webhook=means.is_by_webhook(call),
    )


async def _load_first_stages(call: Call, records: Records) -> Mapping[str, str]:
    """Those of the funnels that new records name a stage of; a refusal or a hang leaves them unknown, and what is unknown asks."""
    wanted = tuple(dict.fromkeys(key for leaf in call.leaves if (key := criticals.find_required_funnel(leaf))))
    try:
        return await records.load_first_stages(wanted) if wanted else {}
    except (Refused, ReadTimedOut):  # a smart process may be without funnels
        return {}


async def _find_dismissed(people: frozenset[int], known: People) -> frozenset[int]:
    """Those of `people` who were dismissed or whom nobody knows; nobody where the portal cannot say."""
    try:
        match sorted(people):
            case []:
                return frozenset()
            case [one]:
                return frozenset() if await known.is_active(one) else people
            case several:  # all at once: a batch may name fifty
                rows = await known.load_users(fresh=True)
                cut = len(rows) >= MOST_USERS
                here = [is_employed(rows[number]) if number in rows else cut and await known.is_active(number) for number in several]
                return frozenset(number for number, works in zip(several, here, strict=True) if not works)
    except BitrixError:
        return frozenset()


def _find_new_responsible(call: Call, actor: Actor, records: Mapping[Any, Mapping[str, Any] | None]) -> frozenset[int]:
    """The people that the call makes responsible, without the speaker and without those who are it already."""
    facts = Facts(records=records)
    return frozenset(number for leaf in call.leaves for number in _list_responsible_ids(leaf, facts)) - {actor.bitrix_user_id}


def _list_responsible_ids(leaf: Call, facts: Facts) -> Iterator[int]:
    for _, value in criticals.find_responsible_fields(leaf, facts):
        yield from (int(item) for item in fields.parse_ids(value) if item.isascii() and item.isdecimal() and len(item) <= _LONGEST_ID)
