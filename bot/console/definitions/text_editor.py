"""The text of a definition in the browser: CodeMirror with marks at the lines of findings, and a copy of what is not saved in the browser.

The copy is kept by `static/definitions.js` in the browser alone, so that a lost connection, a reload or a restart of the bot loses nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from json import dumps
from typing import Any, Final, Literal

from nicegui import ui
from nicegui.events import GenericEventArguments

from bot.console.definitions.document import EditedDocument
from bot.console.visit import Visit
from orchestrator.documents.reading import MAX_BYTES
from orchestrator.domain.finding import Finding, Severity

LONGEST_TEXT: Final = 3 * MAX_BYTES
"""Bytes that the browser takes into the editor at all; what is longer than a document may be is refused by the check of the service."""
_MOST_KEPT: Final = 5
_LONGEST_SLOT: Final = 300
_WORST: Final[tuple[Severity, ...]] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text that the browser has kept: where, and when it was typed."""

    slot: str
    at: datetime


Offer = Callable[[Sequence[KeptText]], None]


class TextEditor:
    """The editor of the text of a document."""

    def __init__(self, visit: Visit, document: EditedDocument, *, save: Callable[[], Any], offer: Offer) -> None:
        """Draw it here. `save` is called at Ctrl+S; `offer` is called if the browser has kept texts that are not the present one."""
        self._visit, self._document, self._offer = visit, document, offer
        self.box = ui.element("div").classes("def-code").on("kept", self._take_kept, args=["detail"])
        self.box.props["role"], self.box.props["aria-label"] = "group", visit.say("console-editor-text")
        self.box.props["data-keep"] = f"{visit.opened_as.key}:{document.kind}/{document.key}"
        self.box.props["data-longest"] = str(LONGEST_TEXT)
        self.box.props["data-too-long"] = visit.say("finding-document-large", size=LONGEST_TEXT, most=MAX_BYTES)
        self.box.props["data-not-kept"] = visit.say("console-editor-not-kept")
        with self.box:
            self._code = ui.codemirror(
                document.text,
                language="YAML",
                theme="githubLight",
                indent="  ",
                line_wrapping=True,
                on_change=lambda event: document.set_text(str(event.value or "")),
                keymap={"Mod-s": lambda _: save()},
            )
        document.on_text(self._follow_text)
        document.on_checked(self._mark_findings)

    def _follow_text(self) -> None:
        """Show a text that was changed elsewhere, such as in the form. What was typed is not sent back: it may be overtaken by then."""
        if self._code.value != self._document.text:
            self._code.set_value(self._document.text)
        language: Literal["JSON", "YAML"] = "JSON" if self._document.format == "json" else "YAML"
        if self._code.language != language:
            self._code.set_language(language)

    def _mark_findings(self) -> None:
        """Mark the lines of findings. Calls of the element alone are used: to change its properties would send the text once more."""
        lines = group_lines(self._document.findings)
        marks = [{"kind": "line", "line": line, "class": f"cm-finding-{_find_worst(found)}"} for line, found in lines.items()]
        tips = {line: "\n".join(self._visit.tr.translate_notice(one.notice) for one in found) for line, found in lines.items()}
        self._code.run_method("setDecorations", marks)
        self._code.run_method("setLineTooltips", tips)

    def go_to(self, line: int) -> None:
        """Show a line, and put the cursor there."""
        if line:
            self._code.run_method("revealLine", line)
            self._visit.page.run_javascript(f"sdelkaTexts.goTo({dumps(line)})")

    def restore(self, kept: KeptText) -> None:
        """Put a text that the browser has kept into the editor; it is the browser that does it, and the server hears of it as of typing."""
        self._visit.page.run_javascript(f"sdelkaTexts.restore({dumps(kept.slot)})")

    def drop(self, kept: KeptText) -> None:
        """Forget a text that the browser has kept."""
        self._visit.page.run_javascript(f"sdelkaTexts.drop({dumps(kept.slot)})")

    def set_aside(self, text: str) -> None:
        """Keep a text of the person in the browser, although another one comes in its place."""
        self._visit.page.run_javascript(f"sdelkaTexts.setAside({dumps(text)})")

    def tell_saved(self, text: str) -> None:
        """Tell the browser that this text is stored, so that it need not keep it any longer."""
        self._visit.page.run_javascript(f"sdelkaTexts.saved({dumps(text)})")

    def _take_kept(self, event: GenericEventArguments) -> None:
        """Offer what the browser has kept. It is the browser that says so: nothing of it is believed but its form."""
        given = event.args.get("detail") if isinstance(event.args, Mapping) else None
        found = [kept for one in (given if isinstance(given, list) else [])[:_MOST_KEPT] if (kept := _read_kept(one)) is not None]
        self._offer(found)


def group_lines(findings: Sequence[Finding]) -> dict[int, list[Finding]]:
    """Return the findings by their lines; those without a line are left out."""
    lines: dict[int, list[Finding]] = {}
    for one in findings:
        if one.line:
            lines.setdefault(one.line, []).append(one)
    return lines


def _find_worst(findings: Sequence[Finding]) -> Severity:
    return min((one.severity for one in findings), key=_WORST.index)


def _read_kept(given: object) -> KeptText | None:
    slot, at = (given.get("slot"), given.get("at")) if isinstance(given, Mapping) else (None, None)
    if not isinstance(slot, str) or not isinstance(at, (int, float)) or len(slot) > _LONGEST_SLOT:
        return None
    try:
        return KeptText(slot, datetime.fromtimestamp(at / 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None
