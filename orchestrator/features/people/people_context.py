"""What the handlers of people share.

The registry changes only in the session `access`, so two people cannot use one invitation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.address import Address
from orchestrator.features.people import screens
from orchestrator.features.people.registry import extract_registry
from orchestrator.features.people.staff import Employees, Staff
from orchestrator.sessions.session import Session
from state.events.base import Event
from state.journal.store import InboxRow, OutboxRow, Timer
from state.model.registry import Registry


@dataclass(frozen=True, kw_only=True)
class PeopleContext:
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
        """Other processes follow in seconds. Raises StoreError.

        `actor` is the person it is about, whose key encrypts the events.
        """
        await session.commit(*events, actor=actor, outbox=outbox, timers=timers, inbox_done=done, inbox_new=new)
        if events:
            self.staff.apply_registry(self.get_registry(session), session.seq)

    def get_registry(self, session: Session) -> Registry:
        return extract_registry(session.state)

    def get_requested_name(self, stranger: str, session: Session) -> str:
        request = self.get_registry(session).asked.get(stranger)
        return request.name if request is not None else ""

    def may_manage(self, by: str) -> bool:
        """Operations staff, or an administrator."""
        actor = self.staff.find_actor_by_key(by)
        return actor.role == "admin" if actor is not None else not Address.parse(by).is_messenger

    def list_accounts(self, employee: int, *, but: str) -> list[str]:
        return [key for key, number in self.staff.map_employees().items() if number == employee and key != but]

    def tell_admins(self, code: str, session: Session, *, about: tuple[str, str], **args: object) -> list[OutboxRow]:
        """Nobody gets a message about themselves; `about` is (key, name)."""
        body = screens.build_message(code, about=about, **args)
        return [screens.build_row(admin.key, body, session.now) for admin in self.staff.list_admins() if admin.key != about[0]]
