"""What the registry says to people: outbox rows of kind "people", which the doors render. Ring 2, pure; knows no wire and no language.

A body is {code, args, about?, buttons}. `about` is whom it is about ({key, name}), so that an erasure finds the name. A button is
{code | label, args?, press | example}; `press` are the words that come back when it is pressed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from orchestrator.messages import Actor, Mode, Role
from orchestrator.outgoing import channel_of
from orchestrator.people.staff import Employee
from state.clock import new_id
from state.store import OutboxRow

KIND: Final = "people"
PAGE: Final = 8
"""Employees on one screen."""
ROLE_OF: Final[Mapping[str, Role]] = {"m": "manager", "l": "lead"}
"""What an administrator may give with a button; other administrators are made by `sdelka invite`."""
SWITCHES: Final = ("digest", "evening", "alerts")
DEFAULTS: Final[Mapping[str, str]] = {"digest": "off", "evening": "off", "alerts": "on"}
EXAMPLES: Final = ("example-deals", "example-task", "example-sum")
Button = dict[str, Any]
Chosen = Mapping[str, str]


def row(session: str, body: Mapping[str, Any], now: datetime, *, key: str = "") -> OutboxRow:
    """A message of the registry; with a key it takes the place of the message that had it."""
    return OutboxRow(
        id=new_id(), session=session, channel=channel_of(session), kind=KIND, body=dict(body), key=key, created_at=now, due_at=now
    )


def sentence(code: str, *, about: tuple[str, str] | None = None, **args: Any) -> dict[str, Any]:
    """A message without buttons; `about` is (key, name)."""
    named = {"about": {"key": about[0], "name": about[1]}} if about else {}
    return {"code": code, "args": args, **named, "buttons": []}


def welcome(actor: Actor, mode: Mode, chosen: Chosen, now: datetime, *, screen: str = "w") -> OutboxRow:
    """The first contact: role, mode, three examples, and the switch of the morning digest; `chosen` are the person's preferences.

    A `screen` that begins with "h" is that of /help; the letter alone makes a new message.
    """
    screen = screen if len(screen) > 1 else f"{screen}{new_id()[-8:]}"
    body = sentence("people-help" if screen[0] == "h" else "people-welcome", about=(actor.key, actor.name), role=actor.role, mode=mode)
    body["buttons"] = [[{"code": code, "example": code}] for code in EXAMPLES]
    body["buttons"].append([_switch("digest", chosen, screen)])
    return row(actor.key, body, now, key=f"screen:{screen}")


def settings(actor: Actor, chosen: Chosen, now: datetime, *, screen: str = "") -> OutboxRow:
    """Everything that a person may set, each with one press."""
    screen = screen or f"s{new_id()[-8:]}"
    body = sentence("people-settings")
    body["buttons"] = [[_switch(name, chosen, screen)] for name in SWITCHES]
    body["buttons"].append(_languages(actor, screen))
    return row(actor.key, body, now, key=f"screen:{screen}")


def language(actor: Actor, now: datetime, *, screen: str = "") -> OutboxRow:
    """The choice of the language."""
    screen = screen or f"l{new_id()[-8:]}"
    body = sentence("people-language")
    body["buttons"] = [_languages(actor, screen)]
    return row(actor.key, body, now, key=f"screen:{screen}")


def _switch(name: str, chosen: Chosen, screen: str) -> Button:
    value = chosen.get(name, DEFAULTS[name])
    other = "off" if value == "on" else "on"
    return {"code": f"button-people-{name}", "args": {"state": value}, "press": ["pref", name, other, screen]}


def _languages(actor: Actor, screen: str) -> list[Button]:
    return [
        {"code": f"button-people-{locale}", "args": {"chosen": locale == actor.locale}, "press": ["pref", "locale", locale, screen]}
        for locale in ("ru", "en")
    ]


def request_card(admins: Iterable[Actor], body: Mapping[str, Any], now: datetime, *, stranger: str) -> list[OutboxRow]:
    """The card about a stranger as every administrator sees it now."""
    return [row(admin.key, body, now, key=f"knock:{stranger}") for admin in admins]


def asks(stranger: str, name: str) -> dict[str, Any]:
    """Somebody asks to be let in: as what?"""
    number = stranger.partition(":")[2]
    body = sentence("people-asks", about=(stranger, name), id=number)
    body["buttons"] = [[{"code": f"button-people-as-{role}", "press": ["who", number, letter, "0"]}] for letter, role in ROLE_OF.items()]
    body["buttons"].append([{"code": "button-people-decline", "press": ["deny", number]}])
    return body


def which_employee(stranger: str, name: str, letter: str, found: Sequence[Employee], page: int) -> dict[str, Any]:
    """Which employee is it? One page of them."""
    number = stranger.partition(":")[2]
    pages = max(1, -(-len(found) // PAGE))
    page %= pages
    body = sentence("people-which", about=(stranger, name), id=number, role=ROLE_OF[letter], page=page + 1, pages=pages)
    body["buttons"] = [
        [{"label": f"{item.name} · №{item.user_id}", "press": ["admit", number, letter, str(item.user_id)]}]
        for item in found[page * PAGE : (page + 1) * PAGE]
    ]
    turn = [{"code": "button-people-more", "press": ["who", number, letter, str((page + 1) % pages)]}] if pages > 1 else []
    body["buttons"].append([*turn, {"code": "button-people-back", "press": ["back", number]}])
    return body
