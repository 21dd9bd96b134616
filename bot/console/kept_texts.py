"""Unsaved texts are kept by `static/kept_texts.js` in the browser alone; nothing is lost by a reload or restart."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from json import dumps
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from bot.console.static_files import build_script_link
from bot.console.visit import Visit
from bot.settings.settings import CONSOLE_PATH

_MOST_KEPT: Final = 5
_LONGEST_SLOT: Final = 300


@dataclass(frozen=True, slots=True)
class KeptText:
    """Where it is, and when it was typed."""

    slot: str
    at: datetime


class KeptTexts:
    def __init__(self, visit: Visit, *, name: str) -> None:
        """`name` says what they are texts of, such as a kind and a key."""
        self._visit, self._name = visit, name
        ui.add_head_html(build_script_link("kept_texts.js"))
        self._place = ui.element("div").props("aria-live=polite")

    def follow(self, box: ui.element, *, longest: int, most: int) -> None:
        """Of pasted texts `longest` bytes are taken; `most` may be saved."""
        visit = self._visit
        box.on("kept", self._take_kept, args=["detail"])
        box.props["data-keep"] = f"{visit.opened_as.key}:{self._name}"
        box.props["data-longest"] = str(longest)
        box.props["data-too-long"] = visit.say("finding-document-large", size=longest, most=most)
        box.props["data-not-kept"] = visit.say("console-kept-not")

    def watch_beside(self, field: ui.input, saved: str) -> None:
        """Asks before the page is left while this field differs from what is stored."""
        field.props["data-keep-beside"] = saved

    def set_aside(self, text: str) -> None:
        """Although another one comes in its place."""
        self._visit.page.run_javascript(f"sdelkaTexts.setAside({dumps(text)})")

    def tell_saved(self, text: str, *, beside: str = "") -> None:
        """The browser need not keep it any longer."""
        self._visit.page.run_javascript(f"sdelkaTexts.saved({dumps(text)}, {dumps(beside)})")

    def tell_stored(self, text: str, *, name: str, path: str) -> None:
        """Now as that of `name`; opens the page at `path`."""
        keep = f"{self._visit.opened_as.key}:{name}"
        self._visit.page.run_javascript(f"sdelkaTexts.storedAs({dumps(text)}, {dumps(keep)}, {dumps(CONSOLE_PATH + path)})")

    def leave_for(self, path: str) -> None:
        """Without a question: what was typed stays in the browser."""
        self._visit.page.run_javascript(f"sdelkaTexts.leave({dumps(CONSOLE_PATH + path)})")

    def _take_kept(self, event: GenericEventArguments) -> None:
        """Nothing that the browser says is believed but its form."""
        detail = event.args.get("detail") if isinstance(event.args, Mapping) else None
        self._place.clear()
        with self._place:
            for record in (detail if isinstance(detail, list) else [])[:_MOST_KEPT]:
                if (kept_text := _read_kept(record)) is not None:
                    self._draw_offer(kept_text)

    def _draw_offer(self, kept_text: KeptText) -> None:
        visit = self._visit
        with ui.element("div").classes("panel kept-text"):
            ui.label(visit.say("console-kept", moment=visit.tr.format_time(kept_text.at)))
            ui.space()
            take = ui.button(visit.say("console-kept-restore"), on_click=lambda: self._restore(kept_text))
            take.props("unelevated dense no-caps color=primary")
            ui.button(visit.say("console-kept-drop"), on_click=lambda: self._drop(kept_text)).props("flat dense no-caps")

    def _restore(self, kept_text: KeptText) -> None:
        self._visit.page.run_javascript(f"sdelkaTexts.restore({dumps(kept_text.slot)})")

    def _drop(self, kept_text: KeptText) -> None:
        self._visit.page.run_javascript(f"sdelkaTexts.drop({dumps(kept_text.slot)})")


def _read_kept(record: object) -> KeptText | None:
    slot, at = (record.get("slot"), record.get("at")) if isinstance(record, Mapping) else (None, None)
    if not isinstance(slot, str) or not isinstance(at, (int, float)) or len(slot) > _LONGEST_SLOT:
        return None
    try:
        return KeptText(slot, datetime.fromtimestamp(at / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None
