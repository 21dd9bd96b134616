"""An administrator takes back in Telegram what was given there: a button on the message that somebody is in, asked twice. Ring 2."""

from orchestrator.messages import Actor
from orchestrator.people import screens
from orchestrator.people.desk import Desk
from orchestrator.people.leaving import dismiss
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import InboxRow


async def pressed(row: InboxRow, words: tuple[str, str, str], session: Session, tools: Tools, *, desk: Desk, admin: Actor) -> None:
    """Ask, do, or leave it, as was pressed ("revoke", "remove" or "keep"; the person; the screen). Raises StoreError.

    Those of the access file only the file removes.
    """
    word, person, screen = words
    entry = desk.registry(session)["people"].get(person)
    about, admins = (person, desk.staff.name_of(person)), [admin]
    if desk.staff.fixed(person):
        body = screens.sentence("people-only-file", about=about)
    elif entry is None:
        body = screens.sentence("people-is-out", id=screens.number_of(person))
    elif word == "revoke":
        body = screens.revoking(about, screen)
    elif word == "keep":
        body = screens.joined(about, entry, desk.accounts(entry["bitrix_user_id"], but=person), screen)
    else:
        await dismiss(person, "admin", session, tools, desk=desk, by=admin.key)
        body = screens.sentence("people-taken-back", about=about, id=screens.number_of(person), who=admin.name)
        admins = list(desk.staff.admins())
    rows = screens.request_card(admins, body, session.now, stranger=person, screen=screen)
    await desk.commit(session, actor=admin.key, outbox=rows, done=[row.id])
