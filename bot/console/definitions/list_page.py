"""What there is, in force and drafted, and who changed it last."""

from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.console.definitions.templates import draw_templates
from bot.console.definitions.work import ROOT, build_editor, build_path, find_title, name_account, reading
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_empty
from bot.settings.settings import CONSOLE_PATH
from state.model.definitions import DefinitionKey

_MOST: Final = 2_000
_SHOWN: Final = 100
"""Lines that are drawn at once; a search finds the others."""
_PAGE: Final = 500
_LINE: Final = """
<a class="line def-line" :href="props.row.href">
  <div class="def-name">
    <div class="strong text" dir="auto">{{ props.row.title }}</div>
    <div class="def-under"><span class="muted small">{{ props.row.kind }}</span><span class="muted mono">{{ props.row.key }}</span></div>
  </div>
  <div class="def-state"><span v-for="one in props.row.states" :class="'badge badge-' + one.tone">{{ one.word }}</span></div>
  <div class="def-when small muted"><div>{{ props.row.moment }}</div><div>{{ props.row.who }}</div></div>
</a>
"""
"""Braces insert texts as texts. Elements of the server would take half a millisecond each."""


@dataclass(frozen=True, kw_only=True)
class ListView:
    found: tuple[DefinitionKey, ...]
    kinds: tuple[str, ...]
    editable: tuple[str, ...]
    absent: tuple[str, ...] = ()
    """Kinds of stored definitions whose engines are not installed."""


class _List:
    """The search is kept while what there is changes."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._view = ListView(found=(), kinds=(), editable=())
        self._kind, self._words, self._state = "", "", ""
        self._place: ui.element | None = None

    def draw_search(self, view: ListView) -> None:
        """Nothing of it is drawn again."""
        visit = self._visit
        with ui.element("div").classes("def-search"):
            words = ui.input(visit.say("console-definitions-search")).props("outlined dense clearable debounce=200").classes("def-words")
            words.on_value_change(lambda event: self._choose(words=str(event.value or "")))
            kinds = {"": visit.say("console-definitions-all")}
            kinds |= {one: visit.say("console-definition-kinds", kind=one) for one in view.kinds}
            kind = ui.select(kinds, value="", label=visit.say("console-definitions-kind")).props("outlined dense")
            kind.on_value_change(lambda event: self._choose(kind=str(event.value or "")))
            states = {one: visit.say("console-definitions-state", state=one or "all") for one in ("", "published", "draft", "off")}
            state = ui.select(states, value="", label=visit.say("console-definitions-states")).props("outlined dense")
            state.on_value_change(lambda event: self._choose(state=str(event.value or "")))
            ui.space()
            if view.editable:
                self._draw_new(view)

    def _draw_new(self, view: ListView) -> None:
        templates = draw_templates(self._visit, view.editable)
        with (
            ui.button(self._visit.say("console-definitions-new"), icon="add").props("unelevated no-caps color=primary"),
            ui.menu().props("auto-close"),
        ):
            for kind in view.editable:
                ui.menu_item(
                    self._visit.say("console-definition-kind", kind=kind), on_click=lambda kind=kind: ui.navigate.to(f"{ROOT}/{kind}/new")
                )
            if templates is not None:
                ui.separator()
                ui.menu_item(self._visit.say("console-templates-open"), on_click=templates.open)

    def draw(self, view: ListView) -> None:
        self._view = view
        self._place = ui.element("div").classes("def-list")
        self._fill()

    def _choose(self, *, words: str | None = None, kind: str | None = None, state: str | None = None) -> None:
        self._words = self._words if words is None else words.casefold().strip()
        self._kind = self._kind if kind is None else kind
        self._state = self._state if state is None else state
        self._fill()

    def _fill(self) -> None:
        if self._place is None:
            return
        fitting = [definition_key for definition_key in self._view.found if self._fits(definition_key)]
        self._place.clear()
        with self._place:
            if fitting:
                rows = [self._describe(head) for head in fitting[:_SHOWN]]
                table = ui.table(rows=rows, columns=[], row_key="place").props("grid hide-header hide-pagination flat")
                table.props["pagination"] = {"rowsPerPage": 0}
                table.add_slot("item", _LINE)
            else:
                show_empty(self._visit.say("console-definitions-none" if self._view.kinds else "console-definitions-not-yours"))
            if len(fitting) > _SHOWN:
                show_empty(self._visit.say("console-definitions-more", count=len(fitting) - _SHOWN))
            if self._view.absent:
                show_empty(self._visit.say("console-definitions-absent", kinds=", ".join(self._view.absent)))

    def _fits(self, head: DefinitionKey) -> bool:
        is_in_state = {
            "": True,
            "published": head.enabled and bool(head.active_version),
            "draft": head.has_draft,
            "off": not head.enabled,
        }[self._state]
        return is_in_state and self._kind in {"", head.kind} and self._words in f"{head.title}\n{head.key}".casefold()

    def _describe(self, head: DefinitionKey) -> dict[str, object]:
        """As `_LINE` shows it."""
        visit = self._visit
        return {
            "place": head.place,
            "href": f"{CONSOLE_PATH}{build_path(head.kind, head.key)}",  # of an element a, not of ui.link, which begins so by itself
            "title": cut_text(find_title(head), limit=200),
            "kind": visit.say("console-definition-kind", kind=head.kind),
            "key": head.key,
            "states": [{"word": word, "tone": tone} for word, tone in list_states(visit, head)],
            "moment": visit.tr.format_time(head.updated_at),
            "who": name_account(visit, head.updated_by),
        }


def list_states(visit: Visit, head: DefinitionKey) -> list[tuple[str, str]]:
    """In words with their tones."""
    states = [] if head.enabled else [(visit.say("console-definition-off"), "bad")]
    if head.active_version:
        states.append((visit.say("console-definition-active", number=head.active_version), "good" if head.enabled else "plain"))
    else:
        states.append((visit.say("console-definition-unpublished"), "plain"))
    if head.has_draft:
        states.append((visit.say("console-definition-draft", number=head.last_version), "warn"))
    return states


async def show_definitions(visit: Visit) -> None:
    listing = _List(visit)
    with reading():
        view = await _load(visit)
        if view.kinds:
            listing.draw_search(view)
        await visit.keep_current(lambda: _load(visit), listing.draw)


async def _load(visit: Visit) -> ListView:
    service, editor = visit.services.definitions, build_editor(visit)
    keys: list[DefinitionKey] = []
    while len(keys) < _MOST and (page := await service.list_keys(editor, after=keys[-1].place if keys else "", limit=_PAGE)):
        keys += page
    kinds = service.list_kinds(editor)
    editable = tuple(one for one in kinds if service.may(editor, one, "edit"))
    absent = tuple(await service.list_absent_kinds(editor))
    return ListView(found=tuple(keys), kinds=tuple(kinds), editable=editable, absent=absent)
