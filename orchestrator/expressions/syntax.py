"""Reads a condition with Python's parser, within limits that are checked before."""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.domain.finding import DefinitionRefused, Finding
from state.canonical import to_storable_text

MAX_CHARACTERS: Final = 2_000
MAX_NODES: Final = 200
MAX_BRACKETS: Final = 50
"""Checked before Python's parser sees the text."""
UNSET: Final = object()
"""Of a part that is no constant."""
ORDER: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
ARITHMETIC: Final[Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
}
"""With their signs."""
NAMES_OF_SYNTAX: Final[Mapping[type[ast.AST], str]] = {
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.Invert: "~",
    ast.JoinedStr: "an f-string",
    ast.Lambda: "lambda",
    ast.NamedExpr: ":=",
    ast.Starred: "*",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Dict: "an object with computed keys",
    ast.Set: "a set",
    ast.Constant: "this constant",
    ast.Slice: "the step of a slice",
    ast.Call: "a call of what is no function",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
}


def parse_condition(source: str) -> ast.expr:
    """Raises DefinitionRefused."""
    if not isinstance(source, str) or not source.strip():
        raise _refuse("expression-empty", "the condition is empty")
    if len(source) > MAX_CHARACTERS:
        raise _refuse("expression-long-source", f"the condition is longer than {MAX_CHARACTERS} characters", limit=MAX_CHARACTERS)
    if _measure_brackets(source) > MAX_BRACKETS:
        raise _refuse("expression-deep", f"more than {MAX_BRACKETS} brackets within one another", limit=MAX_BRACKETS)
    text = source.strip()
    # a condition of several lines is put into brackets, in which Python reads on at the end of a line
    wrapped = f"({text}\n)" if "\n" in text else text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about `\{` in a text, which is how a placeholder is escaped
            tree = ast.parse(wrapped, mode="eval").body
    except SyntaxError as error:
        line, column = _locate_error(error, source, text, has_bracket=wrapped is not text)
        raise _refuse("expression-syntax", f"it cannot be read: {error.msg}", line=line, column=column, detail=error.msg) from None
    except (ValueError, MemoryError, RecursionError):
        raise _refuse("expression-syntax", "it cannot be read", detail="") from None
    if wrapped is not text and (tree.lineno, tree.col_offset) == (1, 0):
        # a bracket of the author has closed the one that was put around it
        raise _refuse("expression-syntax", "it cannot be read: brackets do not match, or a comma outside of brackets", detail="")
    if sum(isinstance(one, ast.expr) for one in ast.walk(tree)) > MAX_NODES:
        raise _refuse("expression-large", f"it has more than {MAX_NODES} parts", limit=MAX_NODES)
    return tree


def _locate_error(error: SyntaxError, source: str, text: str, *, has_bracket: bool) -> tuple[int, int]:
    """In the condition as written; what is missing at the end is behind the last sign."""
    rows, row, column = text.split("\n"), error.lineno or 1, error.offset or 0
    if not column or row > len(rows):
        row, column = len(rows), len(rows[-1]) + 1
    elif has_bracket and row == 1:
        column -= 1
    column = min(max(column, 1), len(rows[row - 1]) + 1)
    before = source[: len(source) - len(source.lstrip())]
    return row + before.count("\n"), column + (len(before.rpartition("\n")[2]) if row == 1 else 0)


def _measure_brackets(source: str) -> int:
    """Those in texts count too, which refuses nothing that people write."""
    depth = deepest = 0
    for char in source:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(depth - 1, 0)
    return deepest


def _refuse(code: str, message: str, *, line: int = 1, column: int = 1, **args: str | int) -> DefinitionRefused:
    return DefinitionRefused([Finding(code=code, message=message, line=line, column=column, args=args)])


def read_constant(node: ast.expr) -> Any:
    """`UNSET` for others."""
    return node.value if isinstance(node, ast.Constant) else UNSET


def read_words(node: ast.expr) -> frozenset[str] | None:
    """Texts without braces; None for other parts."""
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    constants = [read_constant(element) for element in node.elts]
    if not all(isinstance(one, str) and "{" not in one for one in constants):
        return None
    return frozenset(constants)


def is_storable(text: str) -> bool:
    """NUL and halves of characters cannot."""
    return to_storable_text(text) == text
