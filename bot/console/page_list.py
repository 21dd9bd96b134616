"""The pages of the console, in the order of the navigation. A new page is one line here."""

from typing import Final

from bot.console.audit.page import show_audit
from bot.console.audit.why_page import show_why
from bot.console.conversations.page import show_conversations
from bot.console.conversations.talk_page import show_conversation
from bot.console.page_spec import PageSpec
from bot.console.today.page import show_today

PAGES: Final = (
    PageSpec(name="today", path="/", show=show_today, icon="today"),
    PageSpec(name="conversations", path="/conversations", show=show_conversations, icon="forum"),
    PageSpec(name="conversation", path="/conversations/{session}", show=show_conversation, section="conversations"),
    PageSpec(name="audit", path="/audit", show=show_audit, icon="manage_search"),
    PageSpec(name="why", path="/audit/{effect_id}", show=show_why, section="audit"),
)
