"""People, tokens and invitations, without any secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

from bot.access.access import Access
from bot.console.visit import Visit
from bot.http_api.server.tokens import Tokens, read_tokens
from orchestrator.domain.actor import Actor, Mode, Role
from orchestrator.features.people.registry import STREAM, extract_registry
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.clock import parse_iso
from state.events.people import build_invitation_key
from state.journal.journal import load_state
from state.journal.store import Store
from state.model.registry import Registry

_MOST_LOOKED_UP: Final = 300
"""The others are shown without their last event."""

Sees = Literal["own", "all"] | tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PersonRow:
    """May use the bot, or could until the portal dismissed its employee."""

    key: str
    name: str
    role: Role
    employee: int | None
    sees: Sees
    mode: Mode
    locale: str
    zone: str
    lead: str
    """The lead for what is above the limit; "" if none is named."""
    deputy: str
    away: date | None
    last_at: str
    """In the person's own chat; "" if nothing was recorded."""
    accounts: tuple[str, ...]
    is_fixed: bool
    """Only the access file can remove the person."""
    out_since: str
    """Dismissed in the portal since, "?" if not known; "" for those who may use the bot."""

    @property
    def is_present(self) -> bool:
        return not self.out_since


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    """Name and rights."""

    name: str
    role: Role
    mode: Mode
    sees: Sees
    employee: int | None
    may_approve: bool
    for_customers: bool


@dataclass(frozen=True, kw_only=True)
class InvitationRow:
    """Made and not used."""

    key: str
    role: Role
    employee: int
    by: str
    expires_at: str
    is_expired: bool


@dataclass(frozen=True, kw_only=True)
class PeopleView:
    people: tuple[PersonRow, ...]
    tokens: tuple[TokenRow, ...]
    invitations: tuple[InvitationRow, ...]


async def load_people(visit: Visit) -> PeopleView:
    """Raises StoreError."""
    services = visit.services
    access = services.access
    keys = tuple(access.map_listed())
    registry, last = await services.store.read(_read_registry, keys[:_MOST_LOOKED_UP])
    present = {actor.key: actor for actor in access.list_people()}
    people = (_build_person(key, access, present.get(key), last.get(key, "")) for key in keys)
    return PeopleView(
        people=tuple(sorted(people, key=lambda row: (not row.is_present, row.name.casefold(), row.key))),
        tokens=_list_tokens(visit),
        invitations=_list_invitations(registry, access, services.clock.now()),
    )


def _read_registry(store: Store, keys: Sequence[str]) -> tuple[Registry, dict[str, str]]:
    """And by person the time of the last event in their own chat."""
    last: dict[str, str] = {}
    for key in keys:
        seq, _ = store.read_head(f"session:{key}")
        if seq and (events := DamageTolerantStore(store).read_events(f"session:{key}", seq - 1, 1)):
            last[key] = events[-1].ts
    return extract_registry(load_state(store, STREAM)[0]), last


def _build_person(key: str, access: Access, actor: Actor | None, last_at: str) -> PersonRow:
    person = access.map_listed()[key]
    now = actor or person.to_actor()
    employees = access.map_employees()
    others = [other for other, number in employees.items() if number == now.bitrix_user_id and other != key]
    return PersonRow(
        key=key,
        name=now.name,
        role=now.role,
        employee=now.bitrix_user_id,
        sees=now.sees,
        mode=now.max_mode,
        locale=now.locale,
        zone=now.time_zone,
        lead=access.find_name(access.find_lead(key)),
        deputy=access.find_name(absence.deputy) if (absence := access.find_absence(key)) is not None else "",
        away=person.away,
        last_at=last_at,
        accounts=tuple(sorted(others)),
        is_fixed=access.is_fixed(key),
        out_since="" if actor is not None else access.find_dismissal(key) or "?",
    )


def _list_tokens(visit: Visit) -> tuple[TokenRow, ...]:
    settings = visit.services.settings
    clients = read_tokens(settings.http_api_tokens, settings.agent_mode)
    known = Tokens(clients, visit.services.access.find_grant)
    current = [known.find_by_name(client.name) for client in clients]
    return tuple(
        TokenRow(
            name=client.name,
            role=client.actor.role,
            mode=client.actor.max_mode,
            sees=client.actor.sees,
            employee=client.actor.bitrix_user_id,
            may_approve=client.actor.may_approve,
            for_customers=client.customers,
        )
        for client in current
        if client is not None
    )


def _list_invitations(registry: Registry, access: Access, now: datetime) -> tuple[InvitationRow, ...]:
    invitation_rows = (
        InvitationRow(
            key=build_invitation_key(mark),
            role=item.role,
            employee=item.bitrix_user_id,
            by=access.find_name(item.by) or item.by,
            expires_at=item.expires_at,
            is_expired=now >= parse_iso(item.expires_at),
        )
        for mark, item in registry.invited.items()
    )
    return tuple(sorted(invitation_rows, key=lambda row: row.expires_at, reverse=True))
