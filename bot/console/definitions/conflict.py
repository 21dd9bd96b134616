"""Somebody else has saved what this page holds: the person sees where both changed one thing, and chooses place by place."""

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from nicegui import ui

from bot.console.definitions.merged_text import COMMENTS, GivenUp, Reconciled
from bot.console.definitions.work import name_account, write_text
from bot.console.diffing import compare_texts, draw_diff
from bot.console.visit import Visit
from bot.console.widgets import cut_text
from orchestrator.documents.changing import ABSENT
from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.merging import Conflict, Place
from state.model.definitions import DefinitionVersion

_LONGEST: Final = 600
_MOST_NAMED: Final = 5
Choose = Callable[[DefinitionVersion], Awaitable[None]]
Settle = Callable[[GivenUp], Awaitable[None]]


async def open_conflict(
    visit: Visit, present: DefinitionVersion, mine: str, form: DocumentFormat, *, code: str, take_theirs: Choose
) -> None:
    """Two texts that cannot be brought together; `code` says why."""
    lines = await compare_texts(await write_text(present, form), mine)
    with visit.page, ui.dialog().props("persistent") as dialog, ui.card().classes("def-dialog"):
        with ui.element("div").classes("def-dialog-body"):
            _draw_head(visit, "console-conflict-title", code, present)
            draw_diff(visit, lines, before=visit.say("console-conflict-theirs"), after=visit.say("console-conflict-mine"))
        with ui.element("div").classes("def-actions"):
            _draw_ways_out(visit, dialog, present, take_theirs)
    dialog.open()


def open_choices(
    visit: Visit, present: DefinitionVersion, choices: Sequence[Conflict], *, label: str, settle: Settle, take_theirs: Choose
) -> None:
    """`label` is that of the button that calls `settle`."""
    with visit.page, ui.dialog().props("persistent") as dialog, ui.card().classes("def-dialog"):
        with ui.element("div").classes("def-dialog-body"):
            _draw_head(visit, "console-merge-title", "console-merge-told", present)
            all_of_one = ui.element("div").classes("def-actions")
            radios = [_draw_choice(visit, choice) for choice in choices]
            with all_of_one:
                for whose, is_theirs in (("mine", False), ("theirs", True)):
                    every = ui.button(visit.say("console-merge-all", whose=whose), on_click=partial(_choose_all, radios, is_theirs))
                    every.props("flat dense no-caps")
        with ui.element("div").classes("def-actions"):

            async def go_on() -> None:
                if any(radio.value is None for radio in radios):
                    return
                dialog.close()
                pairs = zip(choices, radios, strict=True)
                await settle(frozenset((choice.place, choice.is_order) for choice, radio in pairs if radio.value))

            _draw_ways_out(visit, dialog, present, take_theirs)
            button = ui.button(label, on_click=go_on).props("unelevated no-caps color=primary")
    button.set_enabled(False)
    for radio in radios:
        radio.on_value_change(lambda: button.set_enabled(all(one.value is not None for one in radios)))
    dialog.open()


def _choose_all(radios: Sequence[ui.radio], is_theirs: bool) -> None:  # noqa: FBT001 - the value of each
    for radio in radios:
        radio.set_value(is_theirs)


def _draw_choice(visit: Visit, choice: Conflict) -> ui.radio:
    with ui.element("div").classes("def-choice"):
        ui.label(_name_choice(visit, choice)).classes("strong text").props("dir=auto")
        words = {is_theirs: _describe(visit, choice, is_theirs=is_theirs) for is_theirs in (False, True)}
        radio = ui.radio(words).props("dense")
        radio.props["aria-label"] = _name_choice(visit, choice)
        return radio


def _name_choice(visit: Visit, choice: Conflict) -> str:
    if choice.place == COMMENTS:
        return visit.say("console-merge-comments")
    name = cut_text(write_place(choice.place), limit=_LONGEST)
    return visit.say("console-merge-order", place=name) if choice.is_order else name


def _describe(visit: Visit, choice: Conflict, *, is_theirs: bool) -> str:
    value = choice.theirs if is_theirs else choice.mine
    match value:
        case _ if value is ABSENT:
            text = visit.say("console-merge-removed")
        case str():
            text = value
        case list() if choice.is_order:
            text = ", ".join(map(str, value))
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return visit.say("console-merge-theirs" if is_theirs else "console-merge-mine", value=cut_text(text, limit=_LONGEST))


def write_place(place: Place) -> str:
    """Names of steps stand in it as they are."""
    return ".".join(map(str, place))


def describe_merged(visit: Visit, present: DefinitionVersion, reconciled: Reconciled, given_up: GivenUp, *, number_field: str) -> str:
    """What came from whom; "" if nobody else changed anything."""
    merged, chosen = reconciled.merged, {choice.place: (choice.place, choice.is_order) in given_up for choice in reconciled.choices}
    theirs = [place for place in (*merged.theirs, *(place for place, is_theirs in chosen.items() if is_theirs)) if place != (number_field,)]
    mine = [*merged.mine, *(place for place, is_theirs in chosen.items() if not is_theirs)]
    if not theirs and not mine and reconciled.text == reconciled.theirs:  # only comments differ
        theirs = [COMMENTS]
    if not theirs and not chosen:
        return ""
    code = "console-merge-done" if mine else "console-merge-taken"
    return visit.say(code, who=name_writer(visit, present), theirs=_list_places(visit, theirs), mine=_list_places(visit, mine))


def _list_places(visit: Visit, places: Sequence[Place]) -> str:
    names = [visit.say("console-merge-comments") if place == COMMENTS else write_place(place) or "…" for place in places]
    return (
        ", ".join([cut_text(name, limit=_LONGEST // _MOST_NAMED) for name in names[:_MOST_NAMED]] + ["…"] * (len(names) > _MOST_NAMED))
        or "—"
    )


def name_writer(visit: Visit, version: DefinitionVersion) -> str:
    return name_account(visit, version.updated_by or version.author, "" if version.updated_by else version.author_name)


def _draw_head(visit: Visit, title: str, code: str, present: DefinitionVersion) -> None:
    ui.label(visit.say(title)).classes("heading").props("role=heading aria-level=2")
    moment = visit.tr.format_time(present.updated_at)
    ui.label(visit.say(code, who=name_writer(visit, present), number=present.version, moment=moment)).props("role=alert")


def _draw_ways_out(visit: Visit, dialog: ui.dialog, present: DefinitionVersion, take_theirs: Choose) -> None:
    async def take() -> None:
        dialog.close()
        await take_theirs(present)

    ui.button(visit.say("console-conflict-later"), on_click=dialog.close).props("flat no-caps")
    ui.button(visit.say("console-conflict-take"), on_click=take).props("flat no-caps")
