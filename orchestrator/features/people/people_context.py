"""Where the registry of people is worked on: what every handler is given, and the one way to commit. Ring 2.

All of it happens in session `access`, one input after the other, so that a link is used once whoever presses it where.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.actor import Actor, Role
from orchestrator.features.people import screens
from orchestrator.features.people.registry import Registry, extract_registry
from orchestrator.features.people.staff import Employees, Staff
from orchestrator.runtime.session import Session
from state.events.core import Event
from state.journal.store import InboxRow, OutboxRow, Timer

SYSTEM = {"key": "system", "name": "system"}


@dataclass(frozen=True, kw_only=True)
class PeopleContext:
    """See the module docstring."""

    staff: Staff
    employees: Employees

    async def commit(
        self,
        session: Session,
        *events: Event,
        actor: str,
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
        done: Sequence[str] = (),
        new: Sequence[InboxRow] = (),
    ) -> None:
        """One step of the registry; `actor` is the person it is about, for under their key it is sealed. Raises StoreError.

        The doors of this process know of it before anything else happens; those of others look at the stream every few seconds.
        """
        await session.commit(*events, actor=actor, outbox=outbox, timers=timers, inbox_done=done, inbox_new=new)
        if events:
            self.staff.apply_registry(self.get_registry(session), session.seq)

    def get_registry(self, session: Session) -> Registry:
        """The registry as it stands now."""
        return extract_registry(session.state)

    def list_accounts(self, employee: int, *, but: str) -> list[str]:
        """The keys of all who are this employee already, except one."""
        return [key for key, number in self.staff.map_employees().items() if number == employee and key != but]

    def tell_admins(self, code: str, session: Session, *, about: tuple[str, str], **args: object) -> list[OutboxRow]:
        """A sentence for every administrator but the one whom it is about."""
        body = screens.build_message(code, about=about, **args)
        return [screens.build_row(admin.key, body, session.now) for admin in self.staff.list_admins() if admin.key != about[0]]


def build_newcomer(person: str, name: str, role: Role, locale: str) -> Actor:
    """Somebody who has just joined, for their first message."""
    return Actor(key=person, name=name, role=role, locale="en" if locale == "en" else "ru")
