"""Builds the Bot API's Contact objects: the own contact of a person, that of another person of the sandbox, and any other one."""

from sandbox.telegram.storage.people import Person
from sandbox.telegram.wire import JsonObject
from sandbox.telegram.wording import load_texts

_AREA = "7900"


def phone_of(person: Person) -> str:
    """Return the phone number of a person's account in the form in which Telegram sends it: digits without a plus."""
    return f"{_AREA}{person.id:07d}"


def contact_of(person: Person) -> JsonObject:
    """Return the Contact object of somebody who has an account; it names the account."""
    return {"phone_number": phone_of(person), "first_name": person.first_name, "user_id": person.id}


def contact_without_account(phone: str, first_name: str, *, last_name: str = "", vcard: str = "") -> JsonObject:
    """Return the Contact object of somebody out of the sender's address book, of whom Telegram knows no account."""
    more = {"last_name": last_name, "vcard": vcard}
    return {"phone_number": phone, "first_name": first_name, **{name: value for name, value in more.items() if value}}


def load_address_book(language: str) -> list[JsonObject]:
    """Return the ready contacts that the page offers to send, in a language of the page."""
    return [contact_without_account(**row) for row in load_texts(language)["contacts"]["samples"]]
