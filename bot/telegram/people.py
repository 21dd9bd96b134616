"""Which language and clock a chat is spoken to in. Ring 3."""

from bot.access import Access
from bot.i18n.translate import Translator


class People:
    """Private chats speak the person's language, others the default."""

    def __init__(self, access: Access) -> None:
        """Keep the access list."""
        self.access = access

    def translator(self, session: str) -> Translator:
        """How to speak to the chat of `session`."""
        actor = self.access.actor(int(session.split(":")[1])) if session else None
        return Translator(actor.locale, actor.time_zone) if actor else Translator("ru")
