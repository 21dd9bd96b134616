"""Finds the mistakes of a script without running it: its syntax, names that are not known, and what will probably fail."""

import keyword
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_monty import AsyncMontySession, CollectString, MontyError, MontyTypingError

from orchestrator.domain.finding import Finding, sort_findings
from orchestrator.domain.suggestions import suggest_name
from orchestrator.expressions.scripts.failures import build_finding, explain_error

_GUARD: Final = "this_script_is_only_checked"
"""A name that nothing defines stands before the script, so that the check always fails and the script never runs."""
_MOST: Final = 200
_SYNTAX: Final = "invalid-syntax"
_NAMES: Final = frozenset({"unresolved-reference", "unresolved-global"})
_ERRORS: Final = frozenset({"unresolved-import"})
_RETURN: Final = "`return` statement outside of a function"
"""What the checker refuses and scripts may do."""


class _Place(BaseModel):
    row: int
    column: int


class _Diagnostic(BaseModel):
    code: str | None
    message: str
    location: _Place


_DIAGNOSTICS: Final = TypeAdapter(list[_Diagnostic])


def check_text(source: str, most: int) -> tuple[Finding, ...]:
    """Return what keeps the text of a script from being read at all."""
    if len(source) > most:
        return (build_finding("finding-script-long", size=len(source), most=most),)
    try:
        source.encode()
    except UnicodeEncodeError:
        return (build_finding("finding-script-syntax", problem="half of a character in the text"),)
    return ()


def is_variable_name(name: object) -> bool:
    """Return whether a script can read a variable with this name: spelled as Python spells it, and no word of the language."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def build_stubs(names: Iterable[str], functions: Iterable[str]) -> str:
    """Return what tells the checker which names the script will be given."""
    lines = ["from typing import Any", *(f"{name}: Any" for name in names if is_variable_name(name))]
    lines += [f"async def {name}(*args: Any, **kwargs: Any) -> Any: ..." for name in functions if is_variable_name(name)]
    return "\n".join(lines) + "\n"


async def check_in_session(session: AsyncMontySession, source: str, known: Iterable[str]) -> tuple[Finding, ...]:
    """Return the mistakes that the checker of this session sees, in the order of the script."""
    try:
        await session.feed_run(f"{_GUARD}\n{source}", print_callback=CollectString())
    except MontyTypingError as error:
        return _explain_diagnostics(error.display(), known)
    except MontyError as error:
        finding = explain_error(error, known, 1)
        return () if _GUARD in finding.args.values() else (replace(finding, line=max(finding.line - 1, 0)),)
    return ()


def _explain_diagnostics(text: str, known: Iterable[str]) -> tuple[Finding, ...]:
    try:
        found = _DIAGNOSTICS.validate_json(text)
    except ValidationError:
        return (build_finding("finding-script-doubtful", problem=text),)
    explained = [_explain_diagnostic(one, known) for one in found if one.location.row > 1 and one.message != _RETURN]
    return tuple(sort_findings(explained)[:_MOST])


def _explain_diagnostic(one: _Diagnostic, known: Iterable[str]) -> Finding:
    place = (one.location.row - 1, one.location.column)
    if one.code == _SYNTAX:
        return build_finding("finding-script-syntax", place, problem=one.message)
    if one.code in _NAMES:
        name = one.message.split("`")[1] if one.message.count("`") > 1 else one.message
        return build_finding("finding-script-name", place, suggestion=suggest_name(name, known), name=name)
    if one.code in _ERRORS:
        return build_finding("finding-script-unsupported", place, problem=one.message)
    return build_finding("finding-script-doubtful", place, severity="warning", problem=one.message)
