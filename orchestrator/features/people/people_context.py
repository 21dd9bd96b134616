"""What every handler of the people feature is given, and the only way to commit a change of the registry of people.

All changes are made in the session `access`, one input after the other, so that a link is used once, whoever opens it and wherever.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.features.people import screens
from orchestrator.features.people.registry import extract_registry
from orchestrator.features.people.staff import Employees, Staff
from orchestrator.runtime.session import Session
from state.events.base import Event
from state.journal.store import InboxRow, OutboxRow, Timer
from state.registry import Registry


@dataclass(frozen=True, kw_only=True)
class PeopleContext:
    """The services that the handlers of the people feature use, and their way to commit."""

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
        """Commit one change of the registry of people. Raises StoreError.

        `actor` is the person whom it is about, because their key encrypts the events. The access list of this process is updated before
        anything else happens; other processes read the changes every few seconds.
        """
        await session.commit(*events, actor=actor, outbox=outbox, timers=timers, inbox_done=done, inbox_new=new)
        if events:
            self.staff.apply_registry(self.get_registry(session), session.seq)

    def get_registry(self, session: Session) -> Registry:
        """Return the present registry: who joined, who is invited, who asked for access."""
        return extract_registry(session.state)

    def get_requested_name(self, stranger: str, session: Session) -> str:
        """Return the name under which a stranger asked for access, "" for one who did not."""
        asked = self.get_registry(session).asked.get(stranger)
        return asked.name if asked is not None else ""

    def list_accounts(self, employee: int, *, but: str) -> list[str]:
        """Return the keys of all accounts of this employee, except `but`."""
        return [key for key, number in self.staff.map_employees().items() if number == employee and key != but]

    def tell_admins(self, code: str, session: Session, *, about: tuple[str, str], **args: object) -> list[OutboxRow]:
        """Return a message for every administrator except the person whom it is about; `about` is that person's (key, name)."""
        body = screens.build_message(code, about=about, **args)
        return [screens.build_row(admin.key, body, session.now) for admin in self.staff.list_admins() if admin.key != about[0]]
