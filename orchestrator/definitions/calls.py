"""Checks the calls of the portal that a document writes, before anything runs."""

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.definitions.kinds import CallUse, DefinitionKind
from orchestrator.definitions.mistakes import SENTENCES, report_mistake
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_args
from orchestrator.domain.finding import WHOLE, Finding, Path, Severity
from orchestrator.expressions.paths import parse_path
from orchestrator.expressions.placeholders import Syntax
from state.canonical import map_leaves
from state.stored import JsonObject

log = logging.getLogger(__name__)

LATER: Final = "\ue000"
"""Stands for what is known only while the run goes on."""
OPEN: Final[JsonObject] = {LATER: LATER}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMistake:
    """What can never be right in a call, or cannot be looked up here."""

    code: str
    args: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = ()
    """In its parameters; None for the method."""
    of_value: bool = False
    is_of_document: bool = False
    """Said once of the document, not of each call."""
    severity: Severity = "error"
    suggestion: str = ""
    detail: str = ""
    """The gate's sentence."""


CheckCall = Callable[[str, JsonObject], Awaitable[Sequence[CallMistake]]]


async def check_no_call(_method: str, _params: JsonObject) -> Sequence[CallMistake]:
    return ()


def mark_later(tree: object, syntax: Syntax) -> Any:
    return map_leaves(tree, lambda leaf: syntax.pattern.sub(_mark_placeholder, leaf) if isinstance(leaf, str) else leaf)


def _mark_placeholder(matched: re.Match[str]) -> str:
    if matched["literal"] is not None:
        return matched["literal"]
    return LATER if parse_path(matched["path"]) is not None else matched[0]


def list_call_uses(kind: DefinitionKind, document: object) -> Sequence[CallUse]:
    """Also methods only named; nothing of a draft that its kind cannot read."""
    try:
        method_uses = [CallUse(path=use.path, method=use.method, params=OPEN, locate=_find_nowhere) for use in kind.list_methods(document)]
        return list({(use.path, use.method): use for use in (*method_uses, *kind.list_calls(document))}.values())
    except Exception as error:  # noqa: BLE001 - as for the other checks; what else is wrong with the draft is told anyway
        message = "the calls of a document of kind %s cannot be told: %s"
        log.info(message, kind.name, type(error).__name__, extra={"action": "definition_calls_untold"})
        return ()


def _find_nowhere(_place: Path, _of_value: bool) -> Path:  # noqa: FBT001 - as `CallUse` says
    return WHOLE


async def find_call_mistakes(document: Document, uses: Iterable[CallUse], check_call: CheckCall) -> tuple[Finding, ...]:
    findings = Findings(document)
    of_document: set[str] = set()
    for use in uses:
        for mistake in await check_call(use.method, use.params):
            if mistake.code in of_document:
                continue
            path = use.path if mistake.path is None else use.locate(mistake.path, mistake.of_value)
            if mistake.is_of_document:
                path = WHOLE
                of_document.add(mistake.code)
            report_mistake(
                findings,
                mistake.code,
                path,
                sentences=SENTENCES,
                severity=mistake.severity,
                suggestion=mistake.suggestion,
                of_value=mistake.of_value or mistake.path is None,
                **quote_args(mistake.args),
            )
    return findings.list_all()
