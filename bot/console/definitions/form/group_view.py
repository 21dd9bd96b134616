"""Groups and lists of the form. What is folded is drawn when it is opened, so that 500 steps are small."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from nicegui import background_tasks, ui

from bot.console.definitions.form.field_view import Enter, FieldView, LookAt, Refused
from bot.console.definitions.form.fields import Field, Group, Listing, Node
from bot.console.definitions.form.places import list_within
from bot.console.visit import Visit
from bot.console.widgets import cut_text
from orchestrator.domain.finding import Finding, Path

_LONGEST_TITLE: Final = 120
_AT_ONCE: Final = 10
"""Elements drawn without a pause: nobody else is served meanwhile."""
Deed = Literal["add", "remove", "up", "down"]
Assigned = Mapping[Path, Sequence[Finding]]


@dataclass(slots=True)
class Hands:
    """What the parts of the form call, and have in common."""

    enter: Enter
    rearrange: Callable[[Deed, Path, int], Awaitable[None]]
    """Adds, removes or moves an element."""
    look: Callable[[], None]
    """Shows the findings again, after something was drawn."""
    opened: set[Path] = field(default_factory=set)
    """They stay open when they are drawn anew."""
    look_at: LookAt = lambda _view: None
    refused: Refused = field(default_factory=dict)
    moved: Path | None = None
    """The list whose elements are others now: drawn anew, whatever is typed into them."""

    def follow(self, opened: set[Path], moved: Path | None) -> None:
        self.opened, self.moved = set(opened), moved


class NodesView:
    def __init__(self, visit: Visit, nodes: Sequence[Node], hands: Hands) -> None:
        self._visit, self._hands = visit, hands
        self._place = ui.element("div").classes("form-nodes")
        self._views: list[FieldView | GroupView | ListView] = []
        self._draw(nodes)

    def _draw(self, nodes: Sequence[Node]) -> None:
        self._place.clear()
        with self._place:
            self._views = [self._draw_one(node) for node in nodes]

    def _draw_one(self, node: Node) -> "FieldView | GroupView | ListView":
        match node:
            case Field():
                return FieldView(self._visit, node, self._hands.enter, self._hands.refused, self._hands.look_at)
            case Group():
                return GroupView(self._visit, node, self._hands)
        return ListView(self._visit, node, self._hands)

    def update(self, nodes: Sequence[Node]) -> None:
        """What is the same stays as it is."""
        if len(nodes) != len(self._views) or not all(_matches(view, node) for view, node in zip(self._views, nodes, strict=True)):
            self._draw(nodes)
            return
        for view, node in zip(self._views, nodes, strict=True):
            view.update(node)  # type: ignore[arg-type]  # they match

    def show_findings(self, assigned: Assigned) -> None:
        for view in self._views:
            if isinstance(view, FieldView):
                view.show_findings(assigned.get(view.field.path, ()))
            else:
                view.show_findings(assigned)


def _matches(view: "FieldView | GroupView | ListView", node: Node) -> bool:
    match view, node:
        case (FieldView(), Field()):
            return view.matches(node)
        case (GroupView(), Group()):
            return view.group.path == node.path and view.group.is_folded == node.is_folded and bool(view.group.label) == bool(node.label)
        case (ListView(), Listing()):
            return view.listing.path == node.path
    return False


class GroupView:
    """Its title opens it if it is folded."""

    def __init__(self, visit: Visit, group: Group, hands: Hands, *, actions: Callable[[], None] | None = None, number: int = 0) -> None:
        """`actions` draws buttons beside its title, `number` is that of an element."""
        self._visit, self._hands, self._number = visit, hands, number
        self.group = group
        self._nodes: NodesView | None = None
        self._is_item = actions is not None
        with ui.element("div").classes("form-item" if self._is_item else "form-group" if self.group.label else "form-inline"):
            if group.is_folded or self._is_item:
                with ui.element("div").classes("form-head"):
                    self._draw_head()
                    if actions is not None:
                        actions()
            elif group.label:
                ui.label(group.label).classes("form-label")
            self._message = ui.label().classes("form-message form-bad").props("aria-live=polite dir=auto")
            self._message.set_visibility(False)
            self._body = ui.element("div").classes("form-body")
        self._show()

    def _draw_head(self) -> None:
        if not self.group.is_folded:
            self._title = ui.label().classes("form-label text").props("dir=auto")
            self._badge = ui.label().classes("badge badge-bad")
            return
        self._button = ui.button(on_click=self._toggle).props("flat dense no-caps align=left").classes("form-open")
        with self._button:
            self._icon = ui.icon("expand_more")
            self._title = ui.label().classes("form-title").props("dir=auto")
            self._kind = ui.label().classes("form-kind").props("dir=auto")
            self._badge = ui.label().classes("badge badge-bad")
        self._badge.set_visibility(False)

    @property
    def _is_open(self) -> bool:
        return not self.group.is_folded or self.group.path in self._hands.opened

    def _toggle(self) -> None:
        self._hands.opened.symmetric_difference_update({self.group.path})
        self._show()
        self._hands.look()

    def _show(self) -> None:
        group = self.group
        if self._is_open and self._nodes is None:
            with self._body:
                self._nodes = NodesView(self._visit, group.nodes, self._hands)
        self._body.set_visibility(self._is_open)
        if not group.is_folded and not self._is_item:
            return
        title = group.title or (group.label if not self._is_item else "")
        heading = cut_text(title or self._visit.say("console-form-nameless"), limit=_LONGEST_TITLE)
        self._title.set_text(f"{self._number}. {heading}" if self._number else heading)
        if group.is_folded:
            self._kind.set_text(cut_text(group.label, limit=_LONGEST_TITLE) if self._is_item else "")
            self._icon.set_name("expand_less" if self._is_open else "expand_more")
            self._button.props["aria-expanded"] = "true" if self._is_open else "false"

    def update(self, group: Group) -> None:
        self.group = group
        if self._nodes is not None and self._is_open:
            self._nodes.update(group.nodes)
        elif self._nodes is not None:
            self._body.clear()
            self._nodes = None
        self._show()

    def show_findings(self, assigned: Assigned) -> None:
        """A count at the title, and each at its place."""
        own = assigned.get(self.group.path, ())
        self._message.set_text(cut_text("\n".join(self._visit.tr.translate_notice(finding.notice) for finding in own), limit=600))
        self._message.set_visibility(bool(own))
        if self.group.is_folded:
            count = self._count(assigned)
            self._badge.set_text(self._visit.say("console-editor-marked", count=count))
            self._badge.set_visibility(bool(count))
        if self._nodes is not None:
            self._nodes.show_findings(assigned)

    def _count(self, assigned: Assigned) -> int:
        if self._is_item:
            return len(list_within(self.group.path, assigned))
        return sum(len(list_within(node.path, assigned)) for node in self.group.nodes)


class ListView:
    def __init__(self, visit: Visit, listing: Listing, hands: Hands) -> None:
        self._visit, self._hands = visit, hands
        self.listing = listing
        self._items: list[GroupView] = []
        self._turn = object()
        with ui.element("div").classes("form-list"):
            with ui.element("div").classes("form-label"):
                ui.label(listing.label)
                self._count = ui.label().classes("count")
            self._message = ui.label().classes("form-message form-bad").props("aria-live=polite dir=auto")
            self._place = ui.element("div").classes("form-items")
            ui.button(listing.add, icon="add", on_click=self._add).props("flat dense no-caps color=primary").classes("form-add")
        self._draw()

    async def _add(self) -> None:
        await self._hands.rearrange("add", self.listing.path, len(self.listing.items))

    def _draw(self) -> None:
        self._place.clear()
        self._items, self._turn = [], object()
        self._draw_next()
        self._count.set_text(str(len(self.listing.items)))
        self._message.set_visibility(False)
        if len(self._items) < len(self.listing.items):
            background_tasks.create(self._draw_others(self._turn), name="handle the elements of a long list")

    def _draw_next(self) -> None:
        first = len(self._items)
        with self._place:
            for index, group in enumerate(self.listing.items[first : first + _AT_ONCE], start=first):
                self._items.append(self._draw_item(index, group))

    async def _draw_others(self, turn: object) -> None:
        """With pauses, until another drawing takes its place."""
        while len(self._items) < len(self.listing.items):
            await asyncio.sleep(0)
            if turn is not self._turn or self._place.is_deleted:
                return
            self._draw_next()
        self._hands.look()

    def _draw_item(self, index: int, item: Group) -> GroupView:
        last = len(self.listing.items) - 1

        def draw_actions() -> None:
            deeds: tuple[tuple[Deed, str, str, bool], ...] = (
                ("up", "arrow_upward", self._visit.say("console-form-up"), index > 0),
                ("down", "arrow_downward", self._visit.say("console-form-down"), index < last),
                ("remove", "delete_outline", self._visit.say("console-form-remove"), True),
            )
            for deed, icon, word, is_possible in deeds:
                if is_possible:
                    self._draw_action(deed, icon, word, index)

        return GroupView(self._visit, item, self._hands, actions=draw_actions, number=index + 1)

    def _draw_action(self, deed: Deed, icon: str, word: str, index: int) -> None:
        async def act() -> None:
            await self._hands.rearrange(deed, self.listing.path, index)

        button = ui.button(icon=icon, on_click=act).props("flat dense round size=sm")
        button.props["aria-label"] = f"{word}: {index + 1}"
        button.props["title"] = word

    def update(self, listing: Listing) -> None:
        drawn = [(group_view.group.path, group_view.group.is_folded) for group_view in self._items]
        is_same = len(listing.items) == len(self.listing.items) and drawn == [
            (group.path, group.is_folded) for group in listing.items[: len(drawn)]
        ]
        self.listing = listing
        if not is_same or listing.path == self._hands.moved:
            self._draw()
            return
        for view, group in zip(self._items, listing.items, strict=False):  # those that are not drawn yet are drawn from this list
            view.update(group)

    def show_findings(self, assigned: Assigned) -> None:
        own = assigned.get(self.listing.path, ())
        self._message.set_text(cut_text("\n".join(self._visit.tr.translate_notice(finding.notice) for finding in own), limit=600))
        self._message.set_visibility(bool(own))
        for group_view in self._items:
            group_view.show_findings(assigned)


def follow_moved(opened: set[Path], deed: Deed, path: Path, index: int) -> set[Path]:
    """The same groups, where they are now."""
    now_open = {moved for one in opened if (moved := move_path(one, deed, path, index)) is not None}
    return now_open | {(*path, index)} if deed == "add" else now_open


def move_path(place: Path, deed: Deed, path: Path, index: int) -> Path | None:
    """None if it is gone."""
    size = len(path)
    at = place[size] if len(place) > size and place[:size] == path else None
    if not isinstance(at, int):
        return place
    if deed == "remove":
        return (*path, at - (at > index), *place[size + 1 :]) if at != index else None
    other = index + {"up": -1, "down": 1}.get(deed, 0)
    return (*path, {index: other, other: index}.get(at, at), *place[size + 1 :])
