"""The kinds of reference data: how long each is kept, and which events and own calls outdate it. Ring 2, one table.

Events by the vendor's pages (…/events/index); statuses and funnels have none, so their life is short, and their own calls count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bitrix.names import CRM
from orchestrator.directory.shelf import Key


@dataclass(frozen=True, kw_only=True)
class ReferenceKind:
    """`events` and `methods` are patterns; what their group holds is the part that is outdated, such as the fields of deals."""

    life: timedelta
    events: str = "(?!)"
    methods: str = "(?!)"


_CRM: Final = "lead|deal|contact|company"
KINDS: Final = {
    "users": ReferenceKind(life=timedelta(minutes=5), events=r"onuser\w+", methods=r"user\.(?:add|update)"),
    "user": ReferenceKind(life=timedelta(minutes=5), events=r"onuser\w+", methods=r"user\.(?:add|update)"),
    "departments": ReferenceKind(life=timedelta(minutes=15), methods=r"department\.(?:add|update|delete)|humanresources\.\w[\w.]*"),
    "categories": ReferenceKind(
        life=timedelta(minutes=5),
        events=r"oncrm(?:deal)?category(?:add|update|delete)|oncrmtype(?:add|update|delete)",
        methods=r"crm\.(?:deal)?category\.(?:add|update|delete|default\.set)|crm\.type\.(?:add|update|delete)",
    ),
    "stages": ReferenceKind(
        life=timedelta(minutes=5),
        events=r"oncrmstatus\w+|oncrm(?:deal)?category(?:add|update|delete)|oncrmtype(?:add|update|delete)",
        methods=r"crm\.status\.(?:add|update|delete)|crm\.(?:deal)?category\.(?:add|update|delete)|crm\.type\.(?:add|update|delete)",
    ),
    "currencies": ReferenceKind(life=timedelta(hours=1), events=r"oncrmcurrency\w+", methods=r"crm\.currency\.(?!list|get|fields)\w[\w.]*"),
    "fields": ReferenceKind(
        life=timedelta(minutes=15),
        events=rf"oncrm({_CRM})userfield\w+|oncrmtype\w+",
        methods=rf"crm\.({_CRM})\.userfield\.(?:add|update|delete)|userfieldconfig\.(?:add|update|delete)|crm\.type\.(?:add|update|delete)",
    ),
    "types": ReferenceKind(
        life=timedelta(minutes=15), events=r"oncrmtype(?:add|update|delete)", methods=r"crm\.type\.(?:add|update|delete)"
    ),
    "zone": ReferenceKind(life=timedelta(hours=1)),
}


def find_outdated_by_event(name: str) -> tuple[Key, ...]:
    """What an event of the portal (ONCRMDEALUSERFIELDADD) outdates; nothing for events about records."""
    return tuple(_find_outdated(name, {kind: row.events for kind, row in KINDS.items()}))


def find_outdated_by_call(method: str) -> tuple[Key, ...]:
    """What a call that was made outdates: the bot's own changes need no event."""
    return tuple(_find_outdated(method, {kind: row.methods for kind, row in KINDS.items()}))


def _find_outdated(name: str, patterns: dict[str, str]) -> Iterator[Key]:
    for kind, pattern in patterns.items():
        found = re.fullmatch(pattern, name.strip().lower(), re.ASCII)
        if found:
            part = next((group for group in found.groups() if group), "")
            yield (kind, part) if part else (kind,)
            if part:  # the same fields in the universal family
                yield (kind, f"item:{_TYPE_NUMBERS[part]}")


_TYPE_NUMBERS: Final = {kind: number for number, kind in CRM.items()}
