"""CodeMirror with marks at the lines of findings."""

from collections.abc import Callable, Sequence
from json import dumps
from typing import Final, Literal

from nicegui import ui

from bot.console.definitions.document import EditedDocument
from bot.console.kept_texts import KeptTexts
from bot.console.visit import Visit
from orchestrator.documents.reading import MAX_BYTES
from orchestrator.domain.finding import Finding, Severity

LONGEST_TEXT: Final = 3 * MAX_BYTES
"""Bytes; the service refuses what is longer than a document may be."""
_WORST: Final[tuple[Severity, ...]] = ("error", "warning", "info")


class TextEditor:
    def __init__(self, visit: Visit, document: EditedDocument, *, save: Callable[[], object], kept_texts: KeptTexts) -> None:
        """`save` is called at Ctrl+S; `kept_texts` is told of it."""
        self._visit, self._document = visit, document
        box = ui.element("div").classes("def-code")
        box.props["role"], box.props["aria-label"] = "group", visit.say("console-editor-text")
        kept_texts.follow(box, longest=LONGEST_TEXT, most=MAX_BYTES)
        with box:
            self.code = ui.codemirror(
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
        """What was typed is not sent back: it may be overtaken by then."""
        if self.code.value != self._document.text:
            self.code.set_value(self._document.text)
        language: Literal["JSON", "YAML"] = "JSON" if self._document.format == "json" else "YAML"
        if self.code.language != language:
            self.code.set_language(language)

    def _mark_findings(self) -> None:
        """By calls of the element: its properties would send the text once more."""
        lines = group_lines(self._document.findings)
        marks = [{"kind": "line", "line": line, "class": f"cm-finding-{_find_worst(findings)}"} for line, findings in lines.items()]
        tips = {line: "\n".join(self._visit.tr.translate_notice(finding.notice) for finding in found) for line, found in lines.items()}
        self.code.run_method("setDecorations", marks)
        self.code.run_method("setLineTooltips", tips)

    def reveal(self, line: int) -> None:
        """Whoever writes elsewhere is left there."""
        if line:
            self.code.run_method("revealLine", line)

    def go_to(self, line: int) -> None:
        self.reveal(line)
        if line:
            self._visit.page.run_javascript(f"sdelkaTexts.goTo({dumps(line)})")


def group_lines(findings: Sequence[Finding]) -> dict[int, list[Finding]]:
    """Without those that have no line."""
    lines: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.line:
            lines.setdefault(finding.line, []).append(finding)
    return lines


def _find_worst(findings: Sequence[Finding]) -> Severity:
    return min((finding.severity for finding in findings), key=_WORST.index)
