"""Navigation, who is logged in, light or dark, and the way out."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from nicegui import ui

from bot.console.static_files import STATIC, build_script_link, build_style_link
from bot.console.visit import Visit
from bot.settings.settings import CONSOLE_PATH as ROOT
from orchestrator.domain.actor import Role


@dataclass(frozen=True, kw_only=True)
class PageSpec:
    """Its title is the text `console-<name>`."""

    name: str
    path: str
    """Below /console; a part in braces goes to `Visit.params`."""
    show: Callable[[Visit], Awaitable[None]]
    """It may raise ApiError and StoreError."""
    icon: str = ""
    """In the navigation; "" for a page that other pages lead to."""
    section: str = ""
    """The page whose line is marked; its own by default."""
    roles: tuple[Role, ...] = ()
    """Empty for everybody who may use the bot."""


@contextlib.contextmanager
def build_frame(visit: Visit, spec: PageSpec) -> Iterator[None]:
    """What is drawn within the block is the page."""
    from bot.console.page_list import PAGES  # noqa: PLC0415 - the pages are drawn in this frame

    for name in ("console", spec.section or spec.name):
        if (STATIC / f"{name}.css").exists():
            ui.add_head_html(build_style_link(f"{name}.css"))
    ui.add_head_html(build_script_link("console.js"))
    drawer = ui.left_drawer(value=False, fixed=True, bordered=False).classes("nav").props("width=232 breakpoint=900 show-if-above")
    with ui.header(elevated=False).classes("bar"):
        ui.button(icon="menu", on_click=drawer.toggle).props(f'flat round aria-label="{visit.say("console-menu")}"').classes("bar-menu")
        ui.label(visit.say(f"console-{spec.name}")).classes("bar-title").props("role=heading aria-level=1")
        ui.space()
        ui.label(visit.opened_as.name).classes("bar-person")
        with (
            ui.button(icon="account_circle").props(f'flat round aria-label="{visit.say("console-account")}"'),
            ui.menu(),
            ui.column().classes("account"),
        ):
            _show_account(visit)
    with drawer, ui.element("nav").props(f'aria-label="{visit.say("console-menu")}"'):
        ui.label("Sdelka").classes("nav-brand")
        for other in PAGES:
            if other.icon and (not other.roles or visit.opened_as.role in other.roles):
                _show_line(visit, other, is_here=other.name == (spec.section or spec.name))
    with visit.page.layout:  # before the header, so that it is what Tab comes to first
        ui.link(visit.say("console-skip"), "#content").classes("skip-link").move(target_index=0)
    with ui.element("div").classes("content").props("id=content tabindex=-1"):  # it stands in the `main` of NiceGUI
        yield


def _show_line(visit: Visit, spec: PageSpec, *, is_here: bool) -> None:
    with ui.link(target=spec.path).classes("nav-line" + (" nav-here" if is_here else "")) as line:
        if is_here:
            line.props("aria-current=page")
        ui.icon(spec.icon).props("aria-hidden=true")
        ui.label(visit.say(f"console-{spec.name}"))


def _show_account(visit: Visit) -> None:
    ui.label(visit.opened_as.name).classes("strong")
    ui.label(visit.say("console-role", role=visit.opened_as.role)).classes("muted")
    ui.button(visit.say("console-theme"), icon="contrast").props("flat no-caps").on("click", js_handler="() => switchTheme()")
    form = ui.element("form").props(f'method=post action="{ROOT}/logout"')
    form.props["data-person"], form.props["data-question"] = visit.opened_as.key, visit.say("console-kept-forget")
    form.props["data-stay"], form.props["data-leave"] = visit.say("console-kept-stay"), visit.say("console-logout")
    with form:
        ui.button(visit.say("console-logout"), icon="logout").props("flat no-caps type=submit")


def show_problem(visit: Visit, code: str) -> None:
    """Says why there is nothing to see, in place of a page."""
    with ui.element("div").classes("empty"):
        ui.icon("info").props("aria-hidden=true")
        ui.label(visit.say(code))
        ui.link(visit.say("console-back"), "/")
