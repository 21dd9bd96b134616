"""Builds the messages of the people feature: outbox rows of kind "people", which a front end in `bot` turns into text.

All functions are pure; the module contains codes of texts, but no texts.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from orchestrator.domain.actor import Actor, Mode, Role
from orchestrator.domain.message_views import PeopleBody, PeopleButton
from orchestrator.features.people.staff import Employee
from orchestrator.replies.code_notes import list_examples
from orchestrator.sessions import outbox
from state.clock import generate_id
from state.journal.store import OutboxRow

KIND: Final = "people"
PAGE: Final = 8
"""The number of employees on one screen."""
REQUEST: Final = "0"
"""The name of the screen of an access request; other screens have generated names, which tell their messages apart."""
ROLE_OF: Final[Mapping[str, Role]] = {"m": "manager", "l": "lead"}
"""The roles that an administrator can grant with a button, by their letter in it; only `sdelka invite` makes administrators."""
SWITCHES: Final = ("digest", "evening", "alerts")
DEFAULTS: Final[Mapping[str, str]] = {"digest": "off", "evening": "off", "alerts": "on"}
Chosen = Mapping[str, str]


def build_row(session: str, body: PeopleBody, now: datetime, *, key: str = "") -> OutboxRow:
    """Return an outbox row of kind "people" with the content `body`. With a `key`, it replaces the earlier message that has this key."""
    return outbox.build_row(session, KIND, body.to_json(), now, key)


def build_message(code: str, *buttons: Sequence[PeopleButton], about: tuple[str, str] | None = None, **args: object) -> PeopleBody:
    """Return the body of a message with rows of buttons; `code` is the code of its text, and `args` are the arguments of the text.

    `about` is the (key, name) of the person whom the message is about.
    """
    named = {"about": Actor(key=about[0], name=about[1])} if about else {}
    return PeopleBody(code=code, args=args, **named, buttons=buttons)


def build_welcome(actor: Actor, mode: Mode, chosen: Chosen, now: datetime, *, screen: str = "w") -> OutboxRow:
    """Return the outbox row of the welcome screen: role, mode, example requests for the mode, and a switch for the morning digest.

    `chosen` are the person's preferences. If `screen` begins with "h", the row is the screen of /help instead. If `screen` is a single
    letter, the row is a new message, which gets a new id beginning with this letter. A longer `screen` is the id of a message, which the
    row replaces.
    """
    screen = screen if len(screen) > 1 else f"{screen}{generate_id()[-8:]}"
    code = "people-help" if screen[0] == "h" else "people-welcome"
    buttons = [*([PeopleButton(code=one, example=one)] for one in list_examples(mode)), [_build_switch("digest", chosen, screen)]]
    body = build_message(code, *buttons, about=(actor.key, actor.name), role=actor.role, mode=mode, private=True)
    return build_row(actor.key, body, now, key=f"screen:{screen}")


def build_settings(actor: Actor, chosen: Chosen, now: datetime, *, screen: str = "") -> OutboxRow:
    """Return the outbox row of the screen with all preferences, each of which the person changes with one click.

    If `screen` is the id of an earlier screen, the row replaces that message; if it is "", the row is a new message.
    """
    screen = screen or f"s{generate_id()[-8:]}"
    switches = ([_build_switch(name, chosen, screen)] for name in SWITCHES)
    body = build_message("people-settings", *switches, _build_language_buttons(actor, screen))
    return build_row(actor.key, body, now, key=f"screen:{screen}")


def build_language(actor: Actor, now: datetime, *, screen: str = "") -> OutboxRow:
    """Return the outbox row of the screen with the choice of language.

    If `screen` is the id of an earlier screen, the row replaces that message; if it is "", the row is a new message.
    """
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
    """Return the card with the content `body` about a person who asked for access or has joined, one row for each of `admins`.

    `stranger` is that person's key. `screen` is `REQUEST` for a person who asked, or the card's generated id for a person who joined by an
    invitation link. A row replaces an earlier card with the same `stranger` and `screen`.
    """
    key = f"knock:{stranger}" if screen == REQUEST else f"joined:{stranger}:{screen}"
    return [build_row(admin.key, body, now, key=key) for admin in admins]


def build_joined_message(about: tuple[str, str], entry: Mapping[str, object], others: Sequence[str], screen: str) -> PeopleBody:
    """Return the message to administrators that a person has joined, with a button to end the access.

    `about` is the (key, name) of the person, `entry` the person's entry in the registry; `others` are the accounts that the employee
    already had. `screen` is the id of the message, which the button contains.
    """
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
    """Return the message that asks an administrator whether to end the access of a person.

    `about` is the (key, name) of the person; `screen` is the id of the message, which its buttons contain.
    """
    number = to_telegram_number(about[0])
    return build_message(
        "people-revoke",
        [PeopleButton(code="button-people-remove", press=["remove", number, screen])],
        [PeopleButton(code="button-people-keep", press=["keep", number, screen])],
        about=about,
        id=number,
    )


def to_telegram_number(person: str) -> str:
    """Return the Telegram number in a person's key: "tg:7" → "7"."""
    return person.partition(":")[2]


def format_telegram_numbers(people: Iterable[str]) -> str:
    """Return the Telegram numbers in the keys `people`, separated by commas."""
    return ", ".join(map(to_telegram_number, people))


def build_access_question(stranger: str, name: str) -> PeopleBody:
    """Return the message that asks an administrator whether to admit a stranger, and in which role."""
    number = to_telegram_number(stranger)
    roles = ([PeopleButton(code=f"button-people-as-{role}", press=["who", number, letter, "0"])] for letter, role in ROLE_OF.items())
    decline = [PeopleButton(code="button-people-decline", press=["deny", number])]
    return build_message("people-asks", *roles, decline, about=(stranger, name), id=number, named="@" in name)


def build_employee_choice(
    stranger: tuple[str, str], letter: str, found: Sequence[Employee], page: int, taken: Mapping[int, str]
) -> PeopleBody:
    """Return one page of the list of employees, from which the administrator chooses the one who is the stranger.

    `stranger` is (key, name), `letter` the role to grant ("m" manager, "l" lead). `found` are all employees, `page` counts from 0. `taken`
    maps the user ids of employees who already have access to their Telegram numbers.
    """
    number = to_telegram_number(stranger[0])
    pages = max(1, -(-len(found) // PAGE))
    page %= pages
    people = (
        [_build_employee_button(item, taken.get(item.user_id, ""), ["admit", number, letter, str(item.user_id)])]
        for item in found[page * PAGE : (page + 1) * PAGE]
    )
    turn = [PeopleButton(code="button-people-more", press=["who", number, letter, str((page + 1) % pages)])] if pages > 1 else []
    back = PeopleButton(code="button-people-back", press=["back", number])
    return build_message(
        "people-which", *people, [*turn, back], about=stranger, id=number, role=ROLE_OF[letter], page=page + 1, pages=pages
    )


def _build_employee_button(item: Employee, taken: str, press: Sequence[str]) -> PeopleButton:
    label = f"{item.name} · №{item.user_id}"
    if taken:
        return PeopleButton(code="button-people-taken", args={"label": label, "telegram": taken}, press=press)
    return PeopleButton(label=label, press=press)


def build_second_account_question(stranger: tuple[str, str], letter: str, employee: tuple[int, str], others: Sequence[str]) -> PeopleBody:
    """Return the message that asks an administrator to confirm that the stranger is an employee who already has an account.

    `stranger` is (key, name), `letter` the role to grant ("m" manager, "l" lead), `employee` (portal user id, name), and `others` are the
    keys of the employee's accounts.
    """
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
