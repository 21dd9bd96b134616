"""Reads JSON and YAML that people write. Every mistake becomes a finding with its place."""

from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.documents.document import Document, DocumentFormat, LineIndex
from orchestrator.documents.json_reader import JsonReader
from orchestrator.documents.reports import Reports
from orchestrator.documents.yaml_reader import YamlReader
from orchestrator.domain.finding import DefinitionRefused, Finding

MAX_BYTES: Final = 1_000_000
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe\x00\x00", "utf-32-le"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, kw_only=True)
class Reading:
    document: Document | None
    """None if it has an error, so that nobody uses it by mistake."""
    draft: Document | None
    """In spite of errors, so that a validator can report more; None if nothing could be made."""
    findings: tuple[Finding, ...]

    def require_document(self) -> Document:
        """Raises DefinitionRefused if it has an error."""
        if self.document is None:
            raise DefinitionRefused(self.findings)
        return self.document


def read_document(source: str | bytes, format: Literal["auto"] | DocumentFormat = "auto") -> Reading:  # noqa: A002 - the word of the field
    """At most 1 MB. "auto": what begins with {, [ or a // comment is JSON. Well under a second for whatever text."""
    written, text, reports = _decode(source)
    if text is None:
        return Reading(document=None, draft=None, findings=reports.findings.list_all())
    lines = LineIndex(text)
    chosen = _choose_format(text) if format == "auto" else format
    reader = JsonReader(text, lines) if chosen == "json" else YamlReader(text, lines)
    read = reader.read()
    findings = reader.reports.findings
    own = written if chosen == "yaml" else ""
    draft = Document(data=read[0], format=chosen, spots=read[1], lines=lines, source=own) if read is not None else None
    return Reading(document=None if findings.has_errors else draft, draft=draft, findings=findings.list_all())


def _choose_format(text: str) -> DocumentFormat:
    return "json" if text.lstrip()[:1] in {"{", "["} or text.lstrip()[:2] in {"//", "/*"} else "yaml"


def _decode(source: str | bytes) -> tuple[str, str | None, Reports]:
    """As it was written, and with LF line ends; None if it is no text."""
    reports = Reports(LineIndex(""))
    size = len(source) if isinstance(source, bytes) else len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        reports.report("finding-document-large", 0, size=size, most=MAX_BYTES)
        return "", None, reports
    data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    mark, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", "utf-8"))
    try:
        written = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: len(mark) + error.start].decode(encoding, "replace").replace("\r\n", "\n").replace("\r", "\n")
        reports = Reports(LineIndex(before))
        reports.report("finding-document-encoding", len(before))
        return "", None, reports
    text = written.replace("\r\n", "\n").replace("\r", "\n")
    reports = Reports(LineIndex(text))
    if "\x00" in text:  # also UTF-16 without its mark
        reports.report("finding-zero-character", text.index("\x00"))
        return "", None, reports
    return written, text, reports
