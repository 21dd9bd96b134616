"""What somebody types into an editor and does not save: the browser keeps it and offers it again; the server knows only where it is.

`static/kept_texts.js` keeps it in the browser alone, so that a lost connection, a reload or a restart of the bot loses nothing. A page has
one such editor at most, a `ui.codemirror` inside of a box.
"""

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
    """A text that the browser has kept: where, and when it was typed."""

    slot: str
    at: datetime


class KeptTexts:
    """The texts that the browser has kept of one editor."""

    def __init__(self, visit: Visit, *, name: str) -> None:
        """Draw here where they are offered; `name` says what they are texts of, such as a kind and a key."""
        self._visit, self._name = visit, name
        ui.add_head_html(build_script_link("kept_texts.js"))
        self._place = ui.element("div").props("aria-live=polite")

    def follow(self, box: ui.element, *, longest: int, most: int) -> None:
        """Keep what is typed into the editor in `box`. Of pasted texts it takes `longest` bytes; what may be saved are `most`."""
        visit = self._visit
        box.on("kept", self._take_kept, args=["detail"])
        box.props["data-keep"] = f"{visit.opened_as.key}:{self._name}"
        box.props["data-longest"] = str(longest)
        box.props["data-too-long"] = visit.say("finding-document-large", size=longest, most=most)
        box.props["data-not-kept"] = visit.say("console-kept-not")

    def watch_beside(self, field: ui.input, saved: str) -> None:
        """Ask before the page is left also while this field, which belongs to the text, says something other than what is stored."""
        field.props["data-keep-beside"] = saved

    def set_aside(self, text: str) -> None:
        """Keep a text of the person in the browser, although another one comes in its place."""
        self._visit.page.run_javascript(f"sdelkaTexts.setAside({dumps(text)})")

    def tell_saved(self, text: str, *, beside: str = "") -> None:
        """Tell the browser that this text is stored, with what was beside it, so that it need not keep it any longer."""
        self._visit.page.run_javascript(f"sdelkaTexts.saved({dumps(text)}, {dumps(beside)})")

    def tell_stored(self, text: str, *, name: str, path: str) -> None:
        """Tell the browser that this text is stored, now as that of `name`, and open the page at `path`."""
        keep = f"{self._visit.opened_as.key}:{name}"
        self._visit.page.run_javascript(f"sdelkaTexts.storedAs({dumps(text)}, {dumps(keep)}, {dumps(CONSOLE_PATH + path)})")

    def leave_for(self, path: str) -> None:
        """Open another page without a question: what was typed stays in the browser."""
        self._visit.page.run_javascript(f"sdelkaTexts.leave({dumps(CONSOLE_PATH + path)})")

    def _take_kept(self, event: GenericEventArguments) -> None:
        """Offer what the browser has kept. It is the browser that says so: nothing of it is believed but its form."""
        detail = event.args.get("detail") if isinstance(event.args, Mapping) else None
        self._place.clear()
        with self._place:
            for one in (detail if isinstance(detail, list) else [])[:_MOST_KEPT]:
                if (kept := _read_kept(one)) is not None:
                    self._draw_offer(kept)

    def _draw_offer(self, kept: KeptText) -> None:
        visit = self._visit
        with ui.element("div").classes("panel kept-text"):
            ui.label(visit.say("console-kept", moment=visit.tr.format_time(kept.at)))
            ui.space()
            take = ui.button(visit.say("console-kept-restore"), on_click=lambda: self._restore(kept))
            take.props("unelevated dense no-caps color=primary")
            ui.button(visit.say("console-kept-drop"), on_click=lambda: self._drop(kept)).props("flat dense no-caps")

    def _restore(self, kept: KeptText) -> None:
        self._visit.page.run_javascript(f"sdelkaTexts.restore({dumps(kept.slot)})")

    def _drop(self, kept: KeptText) -> None:
        self._visit.page.run_javascript(f"sdelkaTexts.drop({dumps(kept.slot)})")


def _read_kept(given: object) -> KeptText | None:
    slot, at = (given.get("slot"), given.get("at")) if isinstance(given, Mapping) else (None, None)
    if not isinstance(slot, str) or not isinstance(at, (int, float)) or len(slot) > _LONGEST_SLOT:
        return None
    try:
        return KeptText(slot, datetime.fromtimestamp(at / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None
