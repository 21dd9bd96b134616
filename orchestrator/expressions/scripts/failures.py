"""What the sandbox raises, as findings."""

import re
from collections.abc import Iterable
from typing import Final

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from orchestrator.domain.finding import Finding, Severity
from orchestrator.domain.suggestions import suggest_name
from state.canonical import to_storable_text

SENTENCES: Final[dict[str, str]] = {
    "finding-script-long": "the script has {size} characters, at most {most} are read",
    "finding-script-syntax": "the script cannot be read: {problem}",
    "finding-script-unsupported": "scripts cannot do this: {problem}",
    "finding-script-name": "the name {name} is not known here",
    "finding-script-unawaited": "a function is called without await, so nobody hears of what goes wrong in it",
    "finding-script-doubtful": "this will probably fail: {problem}",
    "finding-script-raised": "the script failed with {kind}: {problem}",
    "finding-script-time": "the script ran longer than {most} s",
    "finding-script-memory": "the script used more memory than it may",
    "finding-script-recursion": "functions of the script call each other too deeply",
    "finding-script-calls": "the script called functions more than {most} times",
    "finding-script-prints": "the script printed more than {most} bytes",
    "finding-script-input": "{name} cannot be given to a script: {problem}",
    "finding-script-result": "the script must end with JSON data: {problem}",
    "finding-script-busy": "too many scripts are running: try again later",
    "finding-script-crashed": "the process that ran the script has ended: {problem}",
}
_LONGEST: Final = 300
_NAME: Final = re.compile(r"name '(\w+)' is not defined")
_UNSUPPORTED: Final = "does not yet support"


class ScriptFailed(Exception):
    """`finding` has the place in the script if it is known."""

    def __init__(self, finding: Finding, printed: str = "") -> None:
        super().__init__(str(finding))
        self.finding, self.printed = finding, printed


class ScriptCallFailed(Exception):
    """For the script, which may catch it. Any other error of a function ends the script."""


def build_finding(
    code: str, place: tuple[int, int] = (0, 0), *, suggestion: str = "", severity: Severity = "error", **args: str | int
) -> Finding:
    """Its sentence is one of SENTENCES."""
    short = {name: arg if isinstance(arg, int) else _quote(arg) for name, arg in args.items()}
    message = SENTENCES[code].format(**short)
    return Finding(code=code, message=message, line=place[0], column=place[1], suggestion=suggestion, severity=severity, args=short)


def _quote(text: str) -> str:
    """One line; hidden signs are spelled out, an error may quote strangers."""
    visible = "".join(sign if sign.isprintable() else " ⏎ " if sign == "\n" else f"U+{ord(sign):04X}" for sign in text[:_LONGEST])
    return to_storable_text(visible)


def explain_error(error: MontyError, known: Iterable[str], seconds: float, print_bytes: int = 0) -> Finding:
    """`known` names were given to the script; `seconds` and `print_bytes` are its limits."""
    if isinstance(error, MontyCrashedError):
        if error.timed_out:
            return build_finding("finding-script-time", most=f"{seconds:g}")
        return build_finding("finding-script-crashed", problem=str(error))
    if isinstance(error, MontySyntaxError):
        return build_finding("finding-script-syntax", _find_place(error), problem=str(error))
    if not isinstance(error, MontyRuntimeError):
        return build_finding("finding-script-result", problem=str(error))
    raised = error.exception()
    if isinstance(raised, MemoryError) and str(raised).endswith(f"> {print_bytes} bytes"):
        return build_finding("finding-script-prints", _find_place(error), most=print_bytes)
    return _explain_raised(raised, _find_place(error), known, seconds)


def _explain_raised(raised: BaseException, place: tuple[int, int], known: Iterable[str], seconds: float) -> Finding:
    text = str(raised)
    if isinstance(raised, TimeoutError) and "time limit" in text:
        return build_finding("finding-script-time", place, most=f"{seconds:g}")
    if isinstance(raised, MemoryError):
        return build_finding("finding-script-memory", place)
    if isinstance(raised, RecursionError):
        return build_finding("finding-script-recursion", place)
    if isinstance(raised, NotImplementedError) and _UNSUPPORTED in text:
        return build_finding("finding-script-unsupported", place, problem=text)
    if isinstance(raised, NameError) and (match := _NAME.search(text)):
        return build_finding("finding-script-name", place, suggestion=suggest_name(match[1], known), name=match[1])
    return build_finding("finding-script-raised", place, kind=type(raised).__name__, problem=text)


def _find_place(error: MontySyntaxError | MontyRuntimeError) -> tuple[int, int]:
    """The innermost place in the script, (0, 0) if there is none."""
    frames = error.traceback()
    return (frames[-1].line, frames[-1].column) if frames else (0, 0)
