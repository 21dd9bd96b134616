"""The chart of a definition or a run as a canvas. Texts of authors reach the page as data, which its component shows as text alone."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from nicegui import ui
from nicegui.events import GenericEventArguments
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.console.static_files import build_style_link
from bot.console.visit import Visit
from bot.console.widgets import cut_text
from bot.plugins.kind_face import Deeds, StepChoice
from orchestrator.charts.chart import NO_MARKS, Arrow, Box, Chart, Mark
from orchestrator.domain.finding import Finding, Path, parse_path

_WORDS: Final = (
    *("add", "undo", "redo", "remove", "zoom", "larger", "smaller", "fit", "tidy", "map"),
    *("seek", "nothing", "usual", "way", "lead", "cut"),
)
_LONGEST: Final = 200
_LONGEST_TOLD: Final = 600
_BOX: Final = r"^s\d{1,6}$"
_PORT: Final = r"^p\d{1,4}$"
Place = tuple[int, int | None]
"""A box, and its port or None."""


class CanvasDeed(BaseModel):
    """What a person did on the canvas, by keys of boxes and places of ports."""

    model_config = ConfigDict(frozen=True)

    deed: Literal["add", "connect", "disconnect", "remove"]
    source: str = ""
    port: int = 0
    target: str = ""
    before: str = ""
    """Where the way led until now, if it was led elsewhere."""
    kind: str = ""
    keys: tuple[str, ...] = ()

    def apply(self, deeds: Deeds, document: object) -> tuple[object, str]:
        """The new document, and the key of a step to show. Raises PlaceGone."""
        match self.deed:
            case "add":
                return deeds.add(document, self.kind, self.source, self.port)
            case "connect":
                cut = deeds.disconnect(document, self.source, self.port, self.before) if self.before else document
                return deeds.connect(cut, self.source, self.port, self.target), ""
            case "disconnect":
                return deeds.disconnect(document, self.source, self.port, self.target), ""
        return deeds.remove(document, self.keys), ""


class _Asked(BaseModel):
    """As the page tells it: nothing of it is believed but its form."""

    deed: Literal["add", "connect", "disconnect", "remove"]
    source: str = Field("", pattern=rf"{_BOX}|^$")
    port: str = Field("p0", pattern=_PORT)
    target: str = Field("", pattern=rf"{_BOX}|^$")
    before: str = Field("", pattern=rf"{_BOX}|^$")
    kind: str = Field("", max_length=_LONGEST)
    boxes: list[str] = Field(default_factory=list, max_length=10_000)


@dataclass(frozen=True, kw_only=True)
class Editing:
    """For a chart that can be changed."""

    types: Sequence[StepChoice]
    """What can be added."""
    code: ui.codemirror
    """Its history is what can be undone."""
    on_deed: Callable[[CanvasDeed], Awaitable[None]]
    on_enter: Callable[[], None]
    """Enter was pressed at the box that was chosen last."""


class Canvas(ui.element, component="static/canvas.js", esm={"sdelka-canvas": "static/canvas"}):
    def __init__(
        self,
        visit: Visit,
        chart: Chart,
        *,
        name: str,
        marks: Mapping[int, Mark] = NO_MARKS,
        findings: Sequence[Finding] = (),
        on_choose: Callable[[Box | None], Awaitable[None]] | None = None,
        editing: Editing | None = None,
    ) -> None:
        """`name` is for screen readers, `marks` are by places of boxes; `on_choose` gets a box, None for none of them."""
        super().__init__()
        self._visit, self._on_choose, self._editing = visit, on_choose, editing
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._boxes: dict[str, Box] = {}
        self._chosen = ""
        for link in ("canvas/library.css", "canvas.css"):
            ui.add_head_html(build_style_link(link))
        self._props["words"] = {"name": name, **{word: visit.say(f"console-canvas-{word}") for word in _WORDS}}
        self._props["read-only"] = editing is None
        if editing is not None:
            self._props["types"] = [{"value": one.value, "label": one.label, "hint": one.hint} for one in editing.types]
            self._props["code"] = editing.code.id
        self._shown: object = None
        self.update_chart(chart, marks=marks, findings=findings)
        self.on("choose", self._take_choice)
        self.on("deed", self._take_deed)

    def update_chart(self, chart: Chart, *, marks: Mapping[int, Mark] = NO_MARKS, findings: Sequence[Finding] = ()) -> None:
        """Sends only what is another one."""
        shown = (chart, dict(marks), tuple(findings))
        if shown == self._shown:
            return
        self._shown = shown
        ids = self._name_boxes(chart.boxes)
        self._boxes = dict(zip(ids, chart.boxes, strict=True))
        self._props["boxes"], self._props["lines"] = self._describe_boxes(chart, ids, marks, findings), self._describe_lines(chart, ids)
        self.update()

    @property
    def chosen(self) -> Box | None:
        """As it is drawn now."""
        return self._boxes.get(self._chosen)

    def choose(self, place: int) -> None:
        """Brings the box at this place of the chart into view, and marks it."""
        self._chosen = list(self._boxes)[place]
        self.run_method("choose", self._chosen)

    def _name_boxes(self, boxes: Sequence[Box]) -> list[str]:
        """Ids that hold no text of authors, and stay with their steps."""
        counts: Counter[tuple[str, str]] = Counter()
        names: list[str] = []
        for box in boxes:
            name = (box.key, "" if box.key else box.title)
            counts[name] += 1
            names.append(f"s{self._numbers.setdefault((*name, counts[name]), len(self._numbers))}")
        return names

    def _describe_boxes(
        self, chart: Chart, ids: Sequence[str], marks: Mapping[int, Mark], findings: Sequence[Finding]
    ) -> list[dict[str, Any]]:
        sources = {arrow.source for arrow in chart.arrows}
        targets = {arrow.target for arrow in chart.arrows}
        found = place_findings(chart, findings)
        boxes: list[dict[str, Any]] = []
        for place, (one, box) in enumerate(zip(ids, chart.boxes, strict=True)):
            own = [finding for (at, _), some in found.items() if at == place for finding in some]
            tone = "error" if any(finding.severity == "error" for finding in own) else "warning" if own else ""
            mark = marks.get(place)
            ports = [
                {"id": f"p{number}", "label": label, "isBad": (place, number) in found, "told": self._tell(found.get((place, number), ()))}
                for number, label in enumerate(self._label_ports(box, has_ways=place in sources))
            ]
            boxes.append(
                {
                    "id": one,
                    "title": cut_text(self._title(box), limit=_LONGEST),
                    "text": cut_text(box.text, limit=_LONGEST),
                    "shape": box.shape,
                    "isStep": bool(box.key),
                    "hasIn": (bool(box.key) and not box.is_first) or place in targets,
                    "ports": ports,
                    "tone": tone,
                    "count": len(own),
                    "told": self._tell(own),
                    "mark": {"style": mark.style, "word": mark.word} if mark is not None else None,
                    "spoken": self._speak(box, mark, len(own)),
                }
            )
        return boxes

    def _speak(self, box: Box, mark: Mark | None, count: int) -> str:
        count_words = self._visit.say("console-editor-marked", count=count) if count else ""
        words = (self._title(box), box.text, mark.word if mark is not None else "", count_words)
        return cut_text(". ".join(word for word in words if word), limit=_LONGEST_TOLD)

    def _title(self, box: Box) -> str:
        return self._visit.say(box.word) if box.word else box.title

    def _label_ports(self, box: Box, *, has_ways: bool) -> list[str]:
        if not box.ports:
            return [""] if has_ways else []
        usual = "console-canvas-usual" if len(box.ports) > 1 else ""
        codes = [port.word or usual for port in box.ports]
        words = [port.label or (self._visit.say(code) if code else "") for port, code in zip(box.ports, codes, strict=True)]
        return [cut_text(word, limit=_LONGEST) for word in words]

    def _describe_lines(self, chart: Chart, ids: Sequence[str]) -> list[dict[str, Any]]:
        return [self._describe_line(number, arrow, chart, ids) for number, arrow in enumerate(chart.arrows)]

    def _describe_line(self, number: int, arrow: Arrow, chart: Chart, ids: Sequence[str]) -> dict[str, Any]:
        source, target = chart.boxes[arrow.source], chart.boxes[arrow.target]
        port = min(arrow.port, max(len(source.ports) - 1, 0))
        place = sum(1 for one in chart.arrows[:number] if (one.source, one.target, one.port) == (arrow.source, arrow.target, arrow.port))
        spoken = self._visit.say("console-canvas-line", source=self._title(source), target=self._title(target))
        return {
            "id": f"{ids[arrow.source]}-{port}-{ids[arrow.target]}-{place}",
            "source": ids[arrow.source],
            "port": f"p{port}",
            "target": ids[arrow.target],
            "label": "" if source.ports else cut_text(arrow.label, limit=_LONGEST),
            "way": arrow.way,
            "isOwn": arrow.is_own,
            "spoken": cut_text(spoken, limit=_LONGEST_TOLD),
        }

    def _tell(self, findings: Sequence[Finding]) -> str:
        return cut_text("\n".join(self._visit.tr.translate_notice(finding.notice) for finding in findings), limit=_LONGEST_TOLD)

    async def _take_choice(self, event: GenericEventArguments) -> None:
        one = event.args.get("id") if isinstance(event.args, Mapping) else None
        self._chosen = one if isinstance(one, str) else ""
        if self._on_choose is not None:
            await self._on_choose(self.chosen)
            if self._editing is not None and event.args.get("isEntered"):
                self._editing.on_enter()

    async def _take_deed(self, event: GenericEventArguments) -> None:
        try:
            asked = _Asked.model_validate(event.args)
        except ValidationError:
            return
        source, target, before = (self._find_key(one) for one in (asked.source, asked.target, asked.before))
        is_known = bool(source or not asked.source) and bool(target or not asked.target)
        if self._editing is not None and is_known:
            keys = tuple(key for one in asked.boxes if (key := self._find_key(one)))
            port = int(asked.port.removeprefix("p"))
            deed = CanvasDeed(deed=asked.deed, source=source, port=port, target=target, before=before, kind=asked.kind, keys=keys)
            await self._editing.on_deed(deed)

    def _find_key(self, one: str) -> str:
        box = self._boxes.get(one)
        return box.key if box is not None else ""


def place_findings(chart: Chart, findings: Sequence[Finding]) -> dict[Place, list[Finding]]:
    """Those below the place of a port at the port, others at their box; without what only informs."""
    placed: dict[Place, list[Finding]] = {}
    for finding in findings:
        place = find_place(chart, finding) if finding.severity != "info" else None
        if place is not None:
            placed.setdefault(place, []).append(finding)
    return placed


def find_place(chart: Chart, finding: Finding) -> Place | None:
    """The innermost; None if it is at no box."""
    try:
        path = parse_path(finding.path)
    except ValueError:  # a path that was cut
        return None
    best: tuple[int, Place] | None = None
    for number, box in enumerate(chart.boxes):
        places: list[tuple[Path, int | None]] = [(box.path, None), *((port.path, at) for at, port in enumerate(box.ports))]
        for known, port in places:
            if known and path[: len(known)] == known and (best is None or len(known) > best[0]):
                best = len(known), (number, port)
    return best[1] if best is not None else None
