"""The pages of the console, in the order of the navigation. A new page is one line here."""

from typing import Final

from bot.console.approvals.page import show_approval, show_approvals
from bot.console.page_spec import PageSpec
from bot.console.runs.list_page import show_runs
from bot.console.runs.run_page import show_run
from bot.console.today.page import show_today

PAGES: Final = (
    PageSpec(name="today", path="/", show=show_today, icon="today"),
    PageSpec(name="runs", path="/runs", show=show_runs, icon="account_tree"),
    PageSpec(name="run", path="/runs/{run}", show=show_run, section="runs"),
    PageSpec(name="approvals", path="/approvals", show=show_approvals, icon="fact_check"),
    PageSpec(name="approval", path="/approvals/{confirmation_id}", show=show_approval, section="approvals"),
)
