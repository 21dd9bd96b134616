"""Events of the console: in the private chat of a person that they came in with a link, and in a stream of its own who saved the policy."""

from state.events.base import Event
from state.events.personal import Personal


class ConsoleEntered(Event):
    """A browser was let into the console as this person, with a link that the bot had sent to them."""

    person: str
    login_id: str
    """The id of the link, which works once, and of the session that it opened."""


class PolicySaved(Event):
    """Somebody has saved the owner's policy file in the console."""

    person: str
    name: Personal[str]
    digest: str
    """Identifies the text of the file; another one there was not saved in the console."""
