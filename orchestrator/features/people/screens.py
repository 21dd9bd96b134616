"""Messages of the people feature, without texts. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from orchestrator.domain.actor import Actor, Mode, Role
from orchestrator.domain.message_views import PeopleBody, PeopleButton
from orchestrator.features.people.registry import DEFAULTS
from orchestrator.features.people.staff import Employee
from orchestrator.replies.code_notes import list_examples
from orchestrator.sessions import outbox
from state.clock import generate_id
from state.journal.store import OutboxRow

KIND: Final = "people"
PAGE: Final = 8
REQUEST: Final = "0"
"""Other screens have generated names."""
ROLE_OF: Final[Mapping[str, Role]] = {"m": "manager", "l": "lead"}
"""Letters in buttons; only `sdelka invite` makes administrators."""
SWITCHES: Final = ("digest", "evening", "alerts", "dark")
Chosen = Mapping[str, str]


def build_row(session: str, body: PeopleBody, now: datetime, *, key: str = "") -> OutboxRow:
    """Replaces the earlier message with `key`."""
    return outbox.build_row(session, KIND, body.to_json(), now, key)


def build_message(code: str, *buttons: Sequence[PeopleButton], about: tuple[str, str] | None = None, **args: object) -> PeopleBody:
    """`about` is (key, name)."""
    person = {"about": Actor(key=about[0], name=about[1])} if about else {}
    return PeopleBody(code=code, args=args, **person, buttons=buttons)


def build_welcome(actor: Actor, mode: Mode, chosen: Chosen, now: datetime, *, screen: str = "w") -> OutboxRow:
    """`screen`: "h…" for /help; one letter for a new message, else the one to replace."""
    screen = screen if len(screen) > 1 else f"{screen}{generate_id()[-8:]}"
    code = "people-help" if screen[0] == "h" else "people-welcome"
    buttons = [*([PeopleButton(code=one, example=one)] for one in list_examples(mode)), [_build_switch("digest", chosen, screen)]]
    body = build_message(code, *buttons, about=(actor.key, actor.name), role=actor.role, mode=mode, private=True)
    return build_row(actor.key, body, now, key=f"screen:{screen}")


def build_settings(actor: Actor, chosen: Chosen, now: datetime, *, screen: str = "") -> OutboxRow:
    """`screen` is the message to replace."""
    screen = screen or f"s{generate_id()[-8:]}"
    switches = ([_build_switch(name, chosen, screen)] for name in SWITCHES)
    body = build_message("people-settings", *switches, _build_language_buttons(actor, screen))
    return build_row(actor.key, body, now, key=f"screen:{screen}")


def build_language(actor: Actor, now: datetime, *, screen: str = "") -> OutboxRow:
    """`screen` is the message to replace."""
    screen = screen or f"l{generate_id()[-8:]}"
    body = build_message("people-language", _build_language_buttons(actor, screen))
    return build_row(actor.key, body, now, key=f"screen:{screen}")


def _build_switch(name: str, chosen: Chosen, screen: str) -> PeopleButton:
    value = chosen.get(name, DEFAULTS[name])
    other = "off" if value == "on" else "on"
    return PeopleButton(code=f"button-people-{name}", args={"state": value}, press=["pref", name, other, screen])


def _build_language_buttons(actor: Actor, screen: str) -> list[PeopleButton]:
    return [
        PeopleButton(code=f"button-people-{locale}", args={"chosen": locale == actor.locale}, press=["pref", "locale", locale, screen])
        for locale in ("ru", "en")
    ]


def build_request_cards(
    admins: Iterable[Actor], body: PeopleBody, now: datetime, *, stranger: str, screen: str = REQUEST
) -> list[OutboxRow]:
    """Replaces the card of the same `stranger` and `screen`."""
    key = f"knock:{stranger}" if screen == REQUEST else f"joined:{stranger}:{screen}"
    return [build_row(admin.key, body, now, key=key) for admin in admins]


def build_joined_message(about: tuple[str, str], entry: Mapping[str, object], others: Sequence[str], screen: str) -> PeopleBody:
    number = to_telegram_number(about[0])
    return build_message(
        "people-joined",
        [PeopleButton(code="button-people-revoke", press=["revoke", number, screen])],
        about=about,
        id=number,
        role=entry["role"],
        employee=str(entry["bitrix_user_id"]),
        others=format_telegram_numbers(others),
        second=bool(others),
    )


def build_revoke_question(about: tuple[str, str], screen: str) -> PeopleBody:
    number = to_telegram_number(about[0])
    return build_message(
        "people-revoke",
        [PeopleButton(code="button-people-remove", press=["remove", number, screen])],
        [PeopleButton(code="button-people-keep", press=["keep", number, screen])],
        about=about,
        id=number,
    )


def to_telegram_number(person: str) -> str:
    return person.partition(":")[2]


def format_telegram_numbers(people: Iterable[str]) -> str:
    return ", ".join(map(to_telegram_number, people))


def build_access_question(stranger: str, name: str) -> PeopleBody:
    number = to_telegram_number(stranger)
    roles = ([PeopleButton(code=f"button-people-as-{role}", press=["who", number, letter, "0"])] for letter, role in ROLE_OF.items())
    decline = [PeopleButton(code="button-people-decline", press=["deny", number])]
    return build_message("people-asks", *roles, decline, about=(stranger, name), id=number, named="@" in name)


def build_employee_choice(
    stranger: tuple[str, str], letter: str, employees: Sequence[Employee], page: int, numbers: Mapping[int, str]
) -> PeopleBody:
    """`letter` is "m" or "l"; `numbers` are Telegram numbers of employees with access."""
    number = to_telegram_number(stranger[0])
    pages = max(1, -(-len(employees) // PAGE))
    page %= pages
    people = (
        [_build_employee_button(item, numbers.get(item.user_id, ""), ["admit", number, letter, str(item.user_id)])]
        for item in employees[page * PAGE : (page + 1) * PAGE]
    )
    turn = [PeopleButton(code="button-people-more", press=["who", number, letter, str((page + 1) % pages)])] if pages > 1 else []
    back = PeopleButton(code="button-people-back", press=["back", number])
    return build_message(
        "people-which", *people, [*turn, back], about=stranger, id=number, role=ROLE_OF[letter], page=page + 1, pages=pages
    )


def _build_employee_button(item: Employee, telegram_number: str, press: Sequence[str]) -> PeopleButton:
    label = f"{item.name} · №{item.user_id}"
    if telegram_number:
        return PeopleButton(code="button-people-taken", args={"label": label, "telegram": telegram_number}, press=press)
    return PeopleButton(label=label, press=press)


def build_second_account_question(stranger: tuple[str, str], letter: str, employee: tuple[int, str], others: Sequence[str]) -> PeopleBody:
    """`employee` is (portal user id, name)."""
    number = to_telegram_number(stranger[0])
    return build_message(
        "people-second",
        [PeopleButton(code="button-people-second", press=["second", number, letter, str(employee[0])])],
        [PeopleButton(code="button-people-back", press=["who", number, letter, "0"])],
        about=stranger,
        id=number,
        role=ROLE_OF[letter],
        employee=str(employee[0]),
        who=employee[1],
        others=format_telegram_numbers(others),
    )
