"""The pages of the console, in the order of the navigation. A new page is one line here."""

from typing import Final

from bot.console.definitions.editor_page import show_editor, show_new
from bot.console.definitions.list_page import show_definitions
from bot.console.definitions.version_page import show_definition
from bot.console.page_spec import PageSpec
from bot.console.today.page import show_today

PAGES: Final = (
    PageSpec(name="today", path="/", show=show_today, icon="today"),
    PageSpec(name="definitions", path="/definitions", show=show_definitions, icon="account_tree"),
    PageSpec(name="definition-new", path="/definitions/{kind}/new", show=show_new, section="definitions"),
    PageSpec(name="definition", path="/definitions/{kind}/{key}", show=show_definition, section="definitions"),
    PageSpec(name="definition-edit", path="/definitions/{kind}/{key}/edit", show=show_editor, section="definitions"),
)
