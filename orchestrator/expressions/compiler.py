"""Turns the tree of a condition into functions. What has none is refused, so that nothing is allowed by oversight."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from orchestrator.domain.finding import Finding
from orchestrator.domain.suggestions import suggest_name
from orchestrator.domain.taint import Value
from orchestrator.expressions import operations
from orchestrator.expressions.days import name_type
from orchestrator.expressions.operations import FUNCTIONS, LARGEST, LONGEST, METHODS, OperationFailed
from orchestrator.expressions.placeholders import SCENARIO, Template, fill_text, format_value, require_value
from orchestrator.expressions.syntax import ARITHMETIC, NAMES_OF_SYNTAX, ORDER, UNSET, is_storable, read_constant, read_words

WHOLE: Final = "context"
"""All variables: `context['age']` is the variable `age`."""
_CONSTANTS: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None}
"""JSON's words, beside Python's True, False and None."""

Names = Mapping[str, Any]
Evaluate = Callable[[Names], Any]
_NUMBERS: Final = frozenset({int, float})
_MOST_SUGGESTED: Final = 10
"""After so many mistakes no meant name is searched: there may be very many variables."""


class Compiler:
    def __init__(self, source: str, known: frozenset[str] | None) -> None:
        self._lines = source.strip().split("\n")
        self._shift = source[: len(source) - len(source.lstrip())]
        self._known = known
        self.findings: list[Finding] = []
        self.reads: set[str] = set()
        self.reads_all = False
        self._makers: Mapping[type[ast.expr], Callable[[Any], Evaluate]] = {
            ast.Constant: self._compile_constant,
            ast.Name: self._compile_name,
            ast.BoolOp: self._compile_bool_op,
            ast.UnaryOp: self._compile_unary,
            ast.BinOp: self._compile_binary,
            ast.Compare: self._compile_compare,
            ast.IfExp: self._compile_if_exp,
            ast.List: self._compile_sequence,
            ast.Tuple: self._compile_sequence,
            ast.Dict: self._compile_object,
            ast.Set: self._compile_placeholder,
            ast.Attribute: self._compile_attribute,
            ast.Subscript: self._compile_subscript,
            ast.Call: self._compile_call,
        }

    def compile(self, node: ast.expr) -> Evaluate:
        make = self._makers.get(type(node))
        return self._refuse_node(node) if make is None else make(node)

    def _refuse_node(self, node: ast.AST) -> Evaluate:
        name = NAMES_OF_SYNTAX.get(type(node), type(node).__name__)
        return self._note(node, "expression-forbidden", f"{name} cannot stand in a condition", what=name)

    def _refuse_unstorable(self, node: ast.AST) -> Evaluate:
        return self._note(node, "expression-forbidden", "a text cannot hold NUL or half of a character", what="\\x00, \\ud800")

    def _note(self, node: ast.AST, code: str, message: str, suggestion: str = "", **args: str | int) -> Evaluate:
        line, column = self.find_place(node)
        self.findings.append(Finding(code=code, message=message, line=line, column=column, suggestion=suggestion, args=args))
        return lambda _: None

    def find_place(self, node: ast.AST) -> tuple[int, int]:
        """From 1, in the condition as it was written."""
        row, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        text = self._lines[row - 1].encode() if row <= len(self._lines) else b""
        if row == 1 and len(self._lines) > 1:
            offset -= 1  # the bracket that was put around it
        column = len(text[:offset].decode(errors="ignore")) + 1
        before = self._shift.rpartition("\n")[2]
        return row + self._shift.count("\n"), column + (len(before) if row == 1 else 0)

    def _place(self, node: ast.AST, run: Evaluate) -> Evaluate:
        """Errors get the place of `node` unless they have one."""
        place = self.find_place(node)

        def placed(names: Names) -> Any:
            try:
                return run(names)
            except OperationFailed as error:
                if error.place == (0, 0):
                    error.place = place
                raise

        return placed

    def _compile_constant(self, node: ast.Constant) -> Evaluate:
        value = node.value
        if isinstance(value, str):
            return self._text(node, value)
        if isinstance(value, float) and not math.isfinite(value):
            return self._note(node, "expression-number", "this number is too large")
        if isinstance(value, int) and abs(value) > LARGEST:
            return self._note(node, "expression-number", "this number is too large")
        if value is None or isinstance(value, bool | int | float):
            return lambda _: value
        return self._refuse_node(node)

    def _text(self, node: ast.Constant, text: str) -> Evaluate:
        """Placeholders are filled after parsing (S000-A6).

        One that names nothing is an error: comparing its braces would choose a branch by accident (S000-A4).
        """
        if not is_storable(text):
            return self._refuse_unstorable(node)
        template = Template(text, SCENARIO)
        if not template.placeholders:
            plain = fill_text(text, {}, SCENARIO).data
            return lambda _: plain
        for place in template.placeholders:
            self._read(node, place.name)

        def fill(names: Names) -> str:
            values = [require_value(names, place, LONGEST) for place in template.placeholders]
            filled: Value = template.fill({place.name: Value(names[place.name]) for place in template.placeholders}).data
            filled_text = format_value(filled.data)
            return filled_text if any(filled_text is one for one in values) else str(operations.check_length(filled_text))

        return self._place(node, fill)

    def _read(self, node: ast.AST, name: str) -> bool:
        """False, with a finding, if there will be no such variable."""
        self.reads.add(name)
        if self._known is None or name in self._known:
            return True
        near = suggest_name(name, sorted(self._known)) if len(self.findings) < _MOST_SUGGESTED else ""
        self._note(node, "expression-name", f"there is no variable {name!r}", near, name=name)
        return False

    def _compile_name(self, node: ast.Name) -> Evaluate:
        name = node.id
        if name in _CONSTANTS:
            value = _CONSTANTS[name]
            return lambda _: value
        if name == WHOLE:
            self.reads_all = True
            return dict
        return self._compile_variable(node, name)

    def _compile_variable(self, node: ast.expr, name: str) -> Evaluate:
        self._read(node, name)
        place = self.find_place(node)

        def look_up(names: Names) -> Any:
            try:
                return names[name]
            except KeyError:
                error = operations.build_name_error(name, names)
                error.place = place
                raise error from None

        return look_up

    def _compile_bool_op(self, node: ast.BoolOp) -> Evaluate:
        parts = [self.compile(one) for one in node.values]
        if isinstance(node.op, ast.And):
            return _make_and(parts)
        return _make_or(parts)

    def _compile_unary(self, node: ast.UnaryOp) -> Evaluate:
        part = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda names: not part(names)
        if isinstance(node.op, ast.USub):
            return self._place(node, lambda names: operations.negate(part(names)))
        if isinstance(node.op, ast.UAdd):
            return self._place(node, lambda names: operations.calculate("+", operator.add, 0, part(names)))
        return self._refuse_operator(node)

    def _compile_binary(self, node: ast.BinOp) -> Evaluate:
        left, right = self.compile(node.left), self.compile(node.right)
        if isinstance(node.op, ast.Add):
            return self._place(node, lambda names: operations.add(left(names), right(names)))
        arithmetic = ARITHMETIC.get(type(node.op))
        if arithmetic is None:
            return self._refuse_operator(node)
        sign, how = arithmetic
        return self._place(node, lambda names: operations.calculate(sign, how, left(names), right(names)))

    def _refuse_operator(self, node: ast.BinOp | ast.UnaryOp) -> Evaluate:
        name = NAMES_OF_SYNTAX.get(type(node.op), type(node.op).__name__)
        return self._note(node, "expression-forbidden", f"{name} cannot stand in a condition", what=name)

    def _compile_compare(self, node: ast.Compare) -> Evaluate:
        parts = [self.compile(one) for one in (node.left, *node.comparators)]
        places = (node.left, *node.comparators)
        links = [self._link(op, places[index + 1], node) for index, op in enumerate(node.ops)]
        if len(links) == 1:
            return self._compare_two(node, parts[0], parts[1], links[0])

        def chain(names: Names) -> bool:
            left = parts[0](names)
            for link, part in zip(links, parts[1:], strict=True):
                right = part(names)
                if not link(left, right):
                    return False
                left = right
            return True

        return self._place(node, chain)

    def _link(self, op: ast.cmpop, right: ast.expr, node: ast.AST) -> Callable[[Any, Any], bool]:
        match op:
            case ast.Eq():
                return operations.are_equal
            case ast.NotEq():
                return lambda a, b: not operations.are_equal(a, b)
            case ast.In():
                return operations.contains
            case ast.NotIn():
                return lambda a, b: not operations.contains(a, b)
            case ast.Is() | ast.IsNot():
                constant = isinstance(right, ast.Constant) and (right.value is None or isinstance(right.value, bool))
                if not constant and not (isinstance(right, ast.Name) and right.id in _CONSTANTS):
                    self._note(node, "expression-is", "`is` goes with None, True and False only; write == here", "==")
                return operator.is_ if isinstance(op, ast.Is) else operator.is_not
            case _:
                how = ORDER[type(op)]
                return lambda a, b: operations.compare(a, b, how)

    def _compare_two(self, node: ast.Compare, left: Evaluate, right: Evaluate, link: Callable[[Any, Any], bool]) -> Evaluate:
        fast = ORDER.get(type(node.ops[0]))
        constant = read_constant(node.comparators[0])
        if fast is not None and type(constant) in _NUMBERS:

            def ordered(names: Names) -> bool:
                value = left(names)
                return fast(value, constant) if type(value) in _NUMBERS else link(value, constant)

            return self._place(node, ordered)
        if type(constant) is str and isinstance(node.ops[0], ast.Eq) and "{" not in constant:

            def same(names: Names) -> bool:
                value = left(names)
                return bool(value == constant) if type(value) is str else link(value, constant)

            return self._place(node, same)
        words = read_words(node.comparators[0])
        if words is not None and isinstance(node.ops[0], ast.In | ast.NotIn):
            is_in = isinstance(node.ops[0], ast.In)

            def member(names: Names) -> bool:
                value = left(names)
                return (value in words) is is_in if type(value) is str else link(value, right(names))

            return self._place(node, member)
        return self._place(node, lambda names: link(left(names), right(names)))

    def _compile_if_exp(self, node: ast.IfExp) -> Evaluate:
        test, yes, no = self.compile(node.test), self.compile(node.body), self.compile(node.orelse)
        return lambda names: yes(names) if test(names) else no(names)

    def _compile_sequence(self, node: ast.List | ast.Tuple) -> Evaluate:
        parts = [self.compile(element) for element in node.elts]
        return lambda names: [part(names) for part in parts]

    def _compile_object(self, node: ast.Dict) -> Evaluate:
        """Keys must be plain texts, as in `context.get('deal', {})`."""
        keys = [UNSET if key is None else read_constant(key) for key in node.keys]
        if not all(isinstance(key, str) for key in keys):
            return self._refuse_node(node)
        if not all(is_storable(str(key)) for key in keys):
            return self._refuse_unstorable(node)
        parts = [self.compile(one) for one in node.values]
        return lambda names: {key: part(names) for key, part in zip(keys, parts, strict=True)}

    def _compile_placeholder(self, node: ast.Set) -> Evaluate:
        """`{name}` outside of quotes reads a variable; other sets are refused."""
        inner = node.elts[0]
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if len(node.elts) != 1 or not isinstance(inner, ast.Name):
            return self._refuse_node(node)
        return self.compile(node.elts[0])

    def _compile_attribute(self, node: ast.Attribute) -> Evaluate:
        if node.attr.startswith("__"):
            return self._note(node, "expression-forbidden", f"{node.attr} cannot stand in a condition", what=node.attr)
        return self._part(node, node.value, lambda _: node.attr, node.attr)

    def _compile_subscript(self, node: ast.Subscript) -> Evaluate:
        inner = node.slice
        if not isinstance(inner, ast.Slice):
            key = self.compile(inner)
            return self._part(node, node.value, key, read_constant(inner))
        if inner.step is not None:
            return self._refuse_node(inner)
        value = self.compile(node.value)
        start = self.compile(inner.lower) if inner.lower else lambda _: None
        stop = self.compile(inner.upper) if inner.upper else lambda _: None
        return self._place(node, lambda names: operations.cut(value(names), start(names), stop(names)))

    def _part(self, node: ast.expr, of: ast.expr, key: Evaluate, constant: object) -> Evaluate:
        """Of the whole context it is a variable."""
        if isinstance(of, ast.Name) and of.id == WHOLE and isinstance(constant, str) and "{" not in constant:
            return self._compile_variable(node, constant)
        value = self.compile(of)
        return self._place(node, lambda names: operations.find_part(value(names), key(names)))

    def _compile_call(self, node: ast.Call) -> Evaluate:
        for keyword in node.keywords:
            self._note(keyword.value, "expression-forbidden", "a named argument cannot stand in a condition", what="=")
        if isinstance(node.func, ast.Name):
            return self._call_function(node, node.func.id)
        if isinstance(node.func, ast.Attribute):
            return self._call_method(node, node.func)
        return self._refuse_node(node)

    def _call_function(self, node: ast.Call, name: str) -> Evaluate:
        if name not in FUNCTIONS:
            near = suggest_name(name, FUNCTIONS)
            return self._note(node, "expression-function-unknown", f"there is no function {name}()", near, name=name)
        how, least, most = FUNCTIONS[name]
        parts = self._compile_arguments(node, name, least, most)
        if len(parts) == 1:
            only = parts[0]
            return self._place(node, lambda names: how(only(names)))
        return self._place(node, lambda names: how(*[part(names) for part in parts]))

    def _compile_arguments(self, node: ast.Call, name: str, least: int, most: int) -> list[Evaluate]:
        if not least <= len(node.args) <= most:
            self._note(node, "expression-arguments", f"{name}() takes {least} to {most} values", name=name, least=least, most=most)
        return [self.compile(arg) for arg in node.args]

    def _call_method(self, node: ast.Call, func: ast.Attribute) -> Evaluate:
        name = func.attr
        if name not in METHODS:
            return self._note(node, "expression-method-unknown", f"there is no .{name}()", suggest_name(name, METHODS), name=name)
        types, how, least, most = METHODS[name]
        parts = self._compile_arguments(node, f".{name}", least, most)
        if name == "get" and isinstance(func.value, ast.Name) and func.value.id == WHOLE:
            variable = self._get_variable(node, parts)
            if variable is not None:
                return variable
        value = self.compile(func.value)

        def call(names: Names) -> Any:
            subject = value(names)
            if not isinstance(subject, types):
                kind = name_type(subject)
                raise OperationFailed("expression-method", f"a {kind} has no .{name}()", name=name, left=kind)
            return how(subject, *[part(names) for part in parts])

        return self._place(node, call)

    def _get_variable(self, node: ast.Call, parts: list[Evaluate]) -> Evaluate | None:
        """`context.get('name', default)`; None if the name is computed."""
        key = read_constant(node.args[0]) if node.args else None
        if not isinstance(key, str) or Template(key, SCENARIO).placeholders:
            return None
        self.reads.add(key)  # it need not be known: `get` is for variables that may be missing
        default = read_constant(node.args[1]) if len(node.args) > 1 else None
        if default is not UNSET and not isinstance(default, str):
            return lambda names: names.get(key, default)
        otherwise = parts[1]
        return lambda names: names[key] if key in names else otherwise(names)


def _make_and(parts: list[Evaluate]) -> Evaluate:
    if len(parts) == 2:  # noqa: PLR2004 - by far the most frequent
        first, second = parts
        return lambda names: first(names) and second(names)

    def every(names: Names) -> Any:
        value = None
        for part in parts:
            value = part(names)
            if not value:
                return value
        return value

    return every


def _make_or(parts: list[Evaluate]) -> Evaluate:
    if len(parts) == 2:  # noqa: PLR2004 - by far the most frequent
        first, second = parts
        return lambda names: first(names) or second(names)

    def some(names: Names) -> Any:
        value = None
        for part in parts:
            value = part(names)
            if value:
                return value
        return value

    return some
