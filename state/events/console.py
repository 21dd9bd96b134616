"""Events of the console, in the private chat of the person: they came in with a link."""

from state.events.base import Event


class ConsoleEntered(Event):
    """A browser was let into the console as this person, with a link that the bot had sent to them."""

    person: str
    login_id: str
    """The id of the link, which works once, and of the session that it opened."""
