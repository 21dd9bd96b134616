"""An administrator takes back in Telegram what was given there: a button on the message that somebody is in, asked twice. Ring 2."""

from orchestrator.messages import Actor
from orchestrator.people import screens
from orchestrator.people.desk import PeopleContext
from orchestrator.people.leaving import revoke_access
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import InboxRow


async def revoke_by_click(
    row: InboxRow, words: tuple[str, str, str], session: Session, tools: Tools, *, desk: PeopleContext, admin: Actor
) -> None:
    """Ask, do, or leave it, as was pressed ("revoke", "remove" or "keep"; the person; the screen). Raises StoreError.

    Those of the access file only the file removes.
    """
    word, person, screen = words
    entry = desk.get_registry(session)["people"].get(person)
    about, admins = (person, desk.staff.find_name(person)), [admin]
    if desk.staff.is_fixed(person):
        body = screens.build_message("people-only-file", about=about)
    elif entry is None:
        body = screens.build_message("people-is-out", id=screens.to_telegram_number(person))
    elif word == "revoke":
        body = screens.build_revoke_question(about, screen)
    elif word == "keep":
        body = screens.build_joined_message(about, entry, desk.list_accounts(entry["bitrix_user_id"], but=person), screen)
    else:
        await revoke_access(person, "admin", session, tools, desk=desk, by=admin.key)
        body = screens.build_message("people-taken-back", about=about, id=screens.to_telegram_number(person), who=admin.name)
        admins = list(desk.staff.list_admins())
    rows = screens.build_request_cards(admins, body, session.now, stranger=person, screen=screen)
    await desk.commit(session, actor=admin.key, outbox=rows, done=[row.id])
