"""Checks the calls of the portal that a document writes: what in them can never be right is found before anything runs."""

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.definitions.kinds import CallUse, DefinitionKind
from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_args
from orchestrator.domain.finding import WHOLE, Finding, Path, Severity
from orchestrator.expressions.paths import parse_path
from orchestrator.expressions.placeholders import Syntax
from state.stored import JsonObject

log = logging.getLogger(__name__)

LATER: Final = "\ue000"
"""Stands in a text for what is known only while the run goes on."""
OPEN: Final[JsonObject] = {LATER: LATER}
"""Parameters of which nothing is known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMistake:
    """Something in a call that can never be right, or that cannot be looked up here."""

    code: str
    args: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = ()
    """Where in its parameters; None for the method."""
    of_value: bool = False
    """Whether the value is wrong, and not its name."""
    is_of_document: bool = False
    """Whether it is said once of the whole document, and not of the call."""
    severity: Severity = "error"
    suggestion: str = ""
    detail: str = ""
    """The sentence with which the call would be refused."""


CheckCall = Callable[[str, JsonObject], Awaitable[Sequence[CallMistake]]]
"""Returns what is wrong with a call of (method, parameters), in whose texts `LATER` stands for what is not known yet."""


async def check_no_call(_method: str, _params: JsonObject) -> Sequence[CallMistake]:
    """Return nothing: nobody knows the calls of a portal."""
    return ()


def mark_later(tree: object, syntax: Syntax) -> Any:
    """Return the parameters of a call as their author wrote them, with `LATER` in place of each placeholder."""
    if isinstance(tree, Mapping):
        return {key: mark_later(one, syntax) for key, one in tree.items()}
    if isinstance(tree, list):
        return [mark_later(one, syntax) for one in tree]
    return syntax.pattern.sub(_mark_placeholder, tree) if isinstance(tree, str) else tree


def _mark_placeholder(matched: re.Match[str]) -> str:
    if matched["literal"] is not None:
        return matched["literal"]
    return LATER if parse_path(matched["path"]) is not None else matched[0]


def list_call_uses(kind: DefinitionKind, document: object) -> Sequence[CallUse]:
    """Return the calls that a document writes, and the methods that it only names; nothing of a draft that its kind cannot read."""
    try:
        named = [CallUse(path=use.path, method=use.method, params=OPEN, locate=_find_nowhere) for use in kind.list_methods(document)]
        return list({(use.path, use.method): use for use in (*named, *kind.list_calls(document))}.values())
    except Exception as error:  # noqa: BLE001 - as for the other checks; what else is wrong with the draft is told anyway
        said = "the calls of a document of kind %s cannot be told: %s"
        log.info(said, kind.name, type(error).__name__, extra={"action": "definition_calls_untold"})
        return ()


def _find_nowhere(_place: Path, _of_value: bool) -> Path:  # noqa: FBT001 - as `CallUse` says
    return WHOLE


async def find_call_mistakes(document: Document, uses: Iterable[CallUse], check_call: CheckCall) -> tuple[Finding, ...]:
    """Return what is wrong with the calls of a document, each at its place."""
    findings = Findings(document)
    of_document: set[str] = set()
    for use in uses:
        for mistake in await check_call(use.method, use.params):
            if mistake.code in of_document:
                continue
            args = quote_args(mistake.args)
            path = use.path if mistake.path is None else use.locate(mistake.path, mistake.of_value)
            if mistake.is_of_document:
                path = WHOLE
                of_document.add(mistake.code)
            findings.add(
                mistake.code,
                SENTENCES[mistake.code].format(**args),
                path,
                severity=mistake.severity,
                suggestion=mistake.suggestion,
                of_value=mistake.of_value or mistake.path is None,
                args=args,
            )
    return findings.list_all()
