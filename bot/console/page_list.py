"""In the order of the navigation. A new page is one line here."""

from typing import Final

from bot.console.approvals.page import show_approval, show_approvals
from bot.console.audit.page import show_audit
from bot.console.audit.why_page import show_why
from bot.console.conversations.page import show_conversations
from bot.console.conversations.talk_page import show_conversation
from bot.console.definitions.editor_page import show_editor, show_new
from bot.console.definitions.list_page import show_definitions
from bot.console.definitions.version_page import show_definition
from bot.console.frame import PageSpec
from bot.console.health.page import show_health
from bot.console.people.page import show_people
from bot.console.policy.page import show_policy
from bot.console.runs.list_page import show_runs
from bot.console.runs.run_page import show_run
from bot.console.today.page import show_today

PAGES: Final = (
    PageSpec(name="today", path="/", show=show_today, icon="today"),
    PageSpec(name="approvals", path="/approvals", show=show_approvals, icon="fact_check"),
    PageSpec(name="approval", path="/approvals/{confirmation_id}", show=show_approval, section="approvals"),
    PageSpec(name="conversations", path="/conversations", show=show_conversations, icon="forum"),
    PageSpec(name="conversation", path="/conversations/{session}", show=show_conversation, section="conversations"),
    PageSpec(name="runs", path="/runs", show=show_runs, icon="play_circle"),
    PageSpec(name="run", path="/runs/{run}", show=show_run, section="runs"),
    PageSpec(name="definitions", path="/definitions", show=show_definitions, icon="account_tree"),
    PageSpec(name="definition-new", path="/definitions/{kind}/new", show=show_new, section="definitions"),
    PageSpec(name="definition", path="/definitions/{kind}/{key}", show=show_definition, section="definitions"),
    PageSpec(name="definition-edit", path="/definitions/{kind}/{key}/edit", show=show_editor, section="definitions"),
    PageSpec(name="audit", path="/audit", show=show_audit, icon="manage_search"),
    PageSpec(name="why", path="/audit/{effect_id}", show=show_why, section="audit"),
    PageSpec(name="people", path="/people", show=show_people, icon="group", roles=("lead", "admin")),
    PageSpec(name="policy", path="/policy", show=show_policy, icon="policy", roles=("lead", "admin")),
    PageSpec(name="health", path="/health", show=show_health, icon="monitor_heart", roles=("admin",)),
)
