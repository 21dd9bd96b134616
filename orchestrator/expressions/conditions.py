"""Compiles conditions such as `context.get('age', 0) >= 18`, written in a small part of Python.

Never given to `eval`, and no value is pasted into the text (G3, S000-A7).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.domain.finding import DefinitionRefused, Finding
from orchestrator.domain.taint import Value, join_origins
from orchestrator.expressions.compiler import Compiler, Evaluate, Names
from orchestrator.expressions.operations import OperationFailed
from orchestrator.expressions.syntax import MAX_NODES, parse_condition


class ConditionFailed(ValueError):
    """`finding` says why, and where."""

    def __init__(self, finding: Finding) -> None:
        """Keep the finding."""
        super().__init__(str(finding))
        self.finding = finding


class Condition:
    __slots__ = ("_run", "reads", "source")

    def __init__(self, source: str, run: Evaluate, reads: frozenset[str] | None) -> None:
        self.source = source
        self.reads = reads
        """None if it may read any."""
        self._run = run

    def evaluate(self, names: Names) -> Any:
        """Raises ConditionFailed."""
        try:
            return self._run(names)
        except OperationFailed as error:
            raise ConditionFailed(_to_finding(error)) from None
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError) as error:
            message = f"it cannot be evaluated with these values ({type(error).__name__})"
            raise ConditionFailed(Finding(code="expression-failed", message=message, line=1, column=1)) from None

    def compute(self, names: Mapping[str, Value]) -> Value:
        """With the origins of all variables that it reads. Raises ConditionFailed."""
        read = names.values() if self.reads is None else [names[name] for name in self.reads if name in names]
        return Value(self.evaluate({name: value.data for name, value in names.items()}), join_origins(read))

    def decide(self, names: Mapping[str, Value]) -> Value:
        """As `compute`, true or false. Raises ConditionFailed."""
        return self.compute(names).map(bool)


def compile_condition(source: str, *, known: Iterable[str] | None = None) -> Condition:
    """Raises DefinitionRefused with every mistake that can be seen without the variables; `known` are the names that there will be."""
    tree = parse_condition(source)
    compiler = Compiler(source, None if known is None else frozenset(known))
    try:
        run = compiler.compile(tree)
    except RecursionError:
        raise DefinitionRefused(
            [
                Finding(
                    code="expression-large", message="its parts stand too deep in one another", line=1, column=1, args={"limit": MAX_NODES}
                )
            ]
        ) from None
    if compiler.findings:
        raise DefinitionRefused(compiler.findings)
    return Condition(source, run, None if compiler.reads_all else frozenset(compiler.reads))


def _to_finding(error: OperationFailed) -> Finding:
    line, column = error.place
    args = {name: _show(one) if isinstance(one, str) else one for name, one in error.values.items()}
    return Finding(code=error.code, message=_show(str(error)), line=line, column=column, suggestion=error.suggestion, args=args)


def _show(text: str) -> str:
    """A computed key may come from a stranger: hidden signs are spelled out."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in text)
