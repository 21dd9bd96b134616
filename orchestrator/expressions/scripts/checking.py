"""Finds the mistakes of a script without running it."""

import keyword
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_monty import CollectString, Monty, MontyCrashedError, MontyError, MontyTypingError, ResourceLimits

from orchestrator.domain.finding import Finding, sort_findings
from orchestrator.domain.suggestions import suggest_name
from orchestrator.expressions.scripts.failures import ScriptFailed, build_finding, explain_error

MOST_SIGNS: Final = 20_000
"""Characters."""
_LIMITS: Final[ResourceLimits] = {"max_feed_duration_secs": 1.0, "max_memory": 32_000_000, "max_recursion_depth": 200}
_GRACE: Final = 0.1
_GUARD: Final = "this_script_is_only_checked"
"""Nothing defines it: the check always fails before the script, which never runs."""
_MOST: Final = 200
_SYNTAX: Final = "invalid-syntax"
_NAMES: Final = frozenset({"unresolved-reference", "unresolved-global"})
_ERRORS: Final = frozenset({"unresolved-import"})
_UNAWAITED: Final = "unused-awaitable"
"""A call whose error nobody would hear of."""
_RETURN: Final = "`return` statement outside of a function"
"""The checker refuses it, and scripts may do it."""


class _Place(BaseModel):
    row: int
    column: int


class _Diagnostic(BaseModel):
    code: str | None
    message: str
    location: _Place


_DIAGNOSTICS: Final = TypeAdapter(list[_Diagnostic])


def check_text(source: str, most: int) -> tuple[Finding, ...]:
    """Why it cannot be read at all."""
    if len(source) > most:
        return (build_finding("finding-script-long", size=len(source), most=most),)
    try:
        source.encode()
    except UnicodeEncodeError:
        return (build_finding("finding-script-syntax", problem="half of a character in the text"),)
    return ()


def is_variable_name(name: object) -> bool:
    """A valid name in Python, and no word of the language."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def build_stubs(names: Iterable[str], functions: Iterable[str]) -> str:
    """For the checker: the names that the script will be given."""
    lines = ["from typing import Any", *(f"{name}: Any" for name in names if is_variable_name(name))]
    lines += [f"async def {name}(*args: Any, **kwargs: Any) -> Any: ..." for name in functions if is_variable_name(name)]
    return "\n".join(lines) + "\n"


class ScriptChecker:
    """Works in a process of its own, and blocks the thread that asks."""

    def __init__(self) -> None:
        self._pool: Monty | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, error, trace)

    def check(self, source: str, names: Sequence[str] = (), functions: Sequence[str] = ()) -> tuple[Finding, ...]:
        """Unknown names, what scripts cannot do, and calls without `await` are errors; what may fail is a warning.

        Raises ScriptFailed without a process.
        """
        if findings := check_text(source, MOST_SIGNS):
            return findings
        known = [*names, *functions]
        stubs = build_stubs(names, functions)
        try:
            with self._start().checkout(
                script_name="script", limits=_LIMITS, type_check=True, type_check_stubs=stubs, type_check_format="json"
            ) as session:
                session.feed_run(f"{_GUARD}\n{source}", print_callback=CollectString())
        except MontyTypingError as error:
            return _explain_diagnostics(error.display(), known)
        except (MontyError, OSError, RuntimeError) as error:
            return _explain_refusal(error, known)
        return ()

    def _start(self) -> Monty:
        if self._pool is None:
            pool = Monty(min_processes=1, max_processes=1, feed_duration_limit_grace=_GRACE)
            pool.__enter__()
            self._pool = pool
        return self._pool


def _explain_refusal(error: Exception, known: Iterable[str]) -> tuple[Finding, ...]:
    """None if it came as far as the guard. Raises ScriptFailed for other errors."""
    if not isinstance(error, MontyError) or isinstance(error, MontyCrashedError):
        raise ScriptFailed(build_finding("finding-script-crashed", problem=str(error))) from error
    finding = explain_error(error, known, 1)
    return () if _GUARD in finding.args.values() else (replace(finding, line=max(finding.line - 1, 0)),)


def _explain_diagnostics(text: str, known: Iterable[str]) -> tuple[Finding, ...]:
    try:
        diagnostics = _DIAGNOSTICS.validate_json(text)
    except ValidationError:
        return (build_finding("finding-script-doubtful", problem=text),)
    explained = [_explain_diagnostic(one, known) for one in diagnostics if one.location.row > 1 and one.message != _RETURN]
    return tuple(sort_findings(explained)[:_MOST])


def _explain_diagnostic(diagnostic: _Diagnostic, known: Iterable[str]) -> Finding:
    place = (diagnostic.location.row - 1, diagnostic.location.column)
    if diagnostic.code == _SYNTAX:
        return build_finding("finding-script-syntax", place, problem=diagnostic.message)
    if diagnostic.code in _NAMES:
        name = diagnostic.message.split("`")[1] if diagnostic.message.count("`") > 1 else diagnostic.message
        return build_finding("finding-script-name", place, suggestion=suggest_name(name, known), name=name)
    if diagnostic.code in _ERRORS:
        return build_finding("finding-script-unsupported", place, problem=diagnostic.message)
    if diagnostic.code == _UNAWAITED:
        return build_finding("finding-script-unawaited", place)
    return build_finding("finding-script-doubtful", place, severity="warning", problem=diagnostic.message)
