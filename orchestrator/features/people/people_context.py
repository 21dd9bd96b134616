"""The services that every handler of the people feature receives, and the method that commits changes to the registry of people.

The registry lists who joined, who is invited and who asked for access. It changes only in the session `access`, one input after the other,
so that two people cannot use the same invitation.
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
    """The services that the handlers of the people feature share: the access list, the portal's employees, and a method to commit."""

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
        """Commit one change of the registry of people, and update the access list of this process from it. Raises StoreError.

        `actor` is the person whom the change is about ("tg:7"), because the events are encrypted with the encryption key of that person.
        `done` are the ids of handled inputs, `new` are inputs to submit. Other processes read the change after a few seconds.
        """
        await session.commit(*events, actor=actor, outbox=outbox, timers=timers, inbox_done=done, inbox_new=new)
        if events:
            self.staff.apply_registry(self.get_registry(session), session.seq)

    def get_registry(self, session: Session) -> Registry:
        """Return the present registry: who joined, who is invited, who asked for access."""
        return extract_registry(session.state)

    def get_requested_name(self, stranger: str, session: Session) -> str:
        """Return the name with which a stranger asked for access; "" if they did not ask."""
        asked = self.get_registry(session).asked.get(stranger)
        return asked.name if asked is not None else ""

    def may_manage(self, by: str) -> bool:
        """Return whether `by` may invite and remove people: operations staff, or a person who is an administrator now."""
        actor = self.staff.find_actor_by_key(by)
        return actor.role == "admin" if actor is not None else not Address.parse(by).is_messenger

    def list_accounts(self, employee: int, *, but: str) -> list[str]:
        """Return the keys of all accounts of the employee with the portal user id `employee`, except the account `but`."""
        return [key for key, number in self.staff.map_employees().items() if number == employee and key != but]

    def tell_admins(self, code: str, session: Session, *, about: tuple[str, str], **args: object) -> list[OutboxRow]:
        """Return one message for each administrator, about the person `about`, who is given as (key, name).

        `code` is the code of the message's text. If the person is an administrator, they get no message about themselves.
        """
        body = screens.build_message(code, about=about, **args)
        return [screens.build_row(admin.key, body, session.now) for admin in self.staff.list_admins() if admin.key != about[0]]
