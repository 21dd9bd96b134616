"""What conditions do with JSON values. Nothing changes its arguments or makes a much larger value."""

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.domain.suggestions import suggest_name
from orchestrator.expressions.days import OperationFailed as OperationFailed  # noqa: PLC0414 - all that conditions do stands here
from orchestrator.expressions.days import add_days, at_time, format_date, is_day, name_type, order_days, read_day, read_number

LONGEST: Final = 10_000
"""Of a text or list that an operation makes."""
LARGEST: Final = 2**63 - 1
"""Refused beyond this, in either direction."""
MAX_SEARCHED: Final = 100_000
"""Elements that `in` searches; a number is searched in at most LONGEST texts."""
_NUMBERS: Final = (int, float)


def build_name_error(name: str, names: Iterable[str]) -> OperationFailed:
    return OperationFailed("expression-name", f"there is no variable {name!r}", suggest_name(name, map(str, names)), name=name)


def _is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def are_equal(left: object, right: object) -> bool:
    """A number and a numeric text are compared as numbers."""
    if type(left) is not type(right):
        if _is_number(left):
            right = read_number(right) if isinstance(right, str) else right
        elif _is_number(right):
            left = read_number(left) if isinstance(left, str) else left
    return bool(left == right)


def compare(left: object, right: object, how: Callable[[Any, Any], bool]) -> bool:
    """Two numbers or two texts; a numeric text counts as a number. Raises OperationFailed."""
    first, second = left, right
    if _is_number(left) and isinstance(right, str):
        second = read_number(right)
    elif _is_number(right) and isinstance(left, str):
        first = read_number(left)
    if isinstance(first, str) and isinstance(second, str):
        return how(*order_days(first, second))
    if _is_number(first) and _is_number(second):
        return how(first, second)
    args = {"left": name_type(left), "right": name_type(right)}
    raise OperationFailed("expression-compare", f"a {args['left']} cannot be compared with a {args['right']}", **args)


def contains(item: object, container: object) -> bool:
    """Elements are compared by `are_equal`."""
    if isinstance(container, str):
        if isinstance(item, str):
            return item in container
        raise OperationFailed(
            "expression-in-text", f"only a text can be searched in a text, not a {name_type(item)}", right=name_type(item)
        )
    if isinstance(container, Mapping):
        return isinstance(item, str) and item in container
    if isinstance(container, list | tuple):
        return _is_element(item, container)
    kind = name_type(container)
    raise OperationFailed("expression-in", f"`in` needs a text, a list or an object on its right, not a {kind}", right=kind)


def _is_element(item: object, container: Sequence[object]) -> bool:
    if len(container) > MAX_SEARCHED:
        raise OperationFailed("expression-long", f"a list longer than {MAX_SEARCHED} cannot be searched", limit=MAX_SEARCHED)
    if item in container:
        return True
    if _is_number(item):
        if len(container) > LONGEST and any(isinstance(one, str) for one in container):
            raise OperationFailed("expression-long", f"in more than {LONGEST} texts no number is searched", limit=LONGEST)
        return any(isinstance(one, str) and are_equal(item, one) for one in container)
    number = read_number(item)
    if number is None or number not in container:
        return False  # what is no number and no numeric text equals nothing that it is not equal to in Python
    return any(_is_number(one) and one == number for one in container)  # True is no 1


def check_number(value: float) -> int | float:
    """Raises OperationFailed if it is too large or not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        raise OperationFailed("expression-number", "the result is no finite number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise OperationFailed("expression-number", f"the result is beyond ±{LARGEST}")
    return value


def check_length(value: Any) -> Any:
    """Raises OperationFailed."""
    if len(value) > LONGEST:
        raise OperationFailed("expression-long", f"the result is longer than {LONGEST}", limit=LONGEST)
    return value


def add(left: Any, right: Any) -> Any:
    if _is_number(left) and _is_number(right):
        return check_number(left + right)
    if type(left) is type(right) and type(left) in (str, list):
        if len(left) + len(right) > LONGEST:
            raise OperationFailed("expression-long", f"the result is longer than {LONGEST}", limit=LONGEST)
        return left + right
    raise _refuse_arithmetic("+", left, right)


def calculate(sign: str, how: Callable[[Any, Any], Any], left: Any, right: Any) -> int | float:
    """`sign` names the operation in the error. Between two days it is the number of days."""
    if sign == "-" and is_day(left) and is_day(right):
        return (read_day("-", left) - read_day("-", right)).days
    if not (_is_number(left) and _is_number(right)):
        raise _refuse_arithmetic(sign, left, right)
    try:
        return check_number(how(left, right))
    except ZeroDivisionError:
        raise OperationFailed("expression-zero", "division by zero") from None
    except OverflowError:
        raise OperationFailed("expression-number", "the result is no finite number") from None


def _refuse_arithmetic(sign: str, left: object, right: object) -> OperationFailed:
    args = {"sign": sign, "left": name_type(left), "right": name_type(right)}
    wrong = next((one for one in (left, right) if read_number(one) is not None), None)
    suggestion = "int(…)" if wrong is not None else ""
    return OperationFailed("expression-arithmetic", f"{sign} does not go with a {args['left']} and a {args['right']}", suggestion, **args)


def negate(value: Any) -> int | float:
    if not _is_number(value):
        raise OperationFailed(
            "expression-arithmetic", f"- does not go with a {name_type(value)}", sign="-", left="number", right=name_type(value)
        )
    return check_number(-value)


def find_part(value: object, key: object) -> Any:
    """Raises OperationFailed if there is none."""
    if isinstance(value, Mapping):
        if isinstance(key, str) and key in value:
            return value[key]
    elif isinstance(value, list | str | tuple):
        if isinstance(key, int) and not isinstance(key, bool):
            try:
                return value[key]
            except IndexError:
                pass
    else:
        raise OperationFailed("expression-no-parts", f"a {name_type(value)} has no parts", left=name_type(value))
    key_text = str(key)[:60]
    raise OperationFailed("expression-no-part", f"there is no {key_text!r} in it", name=key_text)


def cut(value: Any, start: Any, stop: Any) -> Any:
    if not isinstance(value, str | list) or not all(
        one is None or (isinstance(one, int) and not isinstance(one, bool)) for one in (start, stop)
    ):
        raise OperationFailed("expression-slice", "only a text or a list has a part from…to, and both are whole numbers")
    return value[start:stop]


def _to_text(value: object) -> str:
    if isinstance(value, Mapping | list | tuple):
        raise OperationFailed("expression-function", f"str() does not take a {name_type(value)}", name="str", left=name_type(value))
    return value if isinstance(value, str) else format_scalar(value)


def format_scalar(value: object) -> str:
    """As JSON writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _to_whole(value: object) -> int:
    number = read_number(value) if isinstance(value, str) else value
    if not isinstance(number, _NUMBERS):
        raise OperationFailed("expression-function", f"int() does not take this {name_type(value)}", name="int", left=name_type(value))
    return int(check_number(int(check_number(number))))


def _to_decimal(value: object) -> float:
    number = read_number(value) if isinstance(value, str) else value
    if not isinstance(number, _NUMBERS):
        raise OperationFailed("expression-function", f"float() does not take this {name_type(value)}", name="float", left=name_type(value))
    return float(check_number(number))


def _count(value: object) -> int:
    if isinstance(value, str | list | tuple | Mapping):
        return len(value)
    raise OperationFailed("expression-function", f"len() does not take a {name_type(value)}", name="len", left=name_type(value))


def _absolute(value: Any) -> int | float:
    if not _is_number(value):
        raise OperationFailed("expression-function", f"abs() does not take a {name_type(value)}", name="abs", left=name_type(value))
    return check_number(abs(value))


def _round(value: Any, digits: Any = None) -> int | float:
    if not _is_number(value) or not (digits is None or (type(digits) is int and abs(digits) <= 18)):  # noqa: PLR2004 - digits of a number
        raise OperationFailed("expression-function", "round() takes a number and up to 18 digits", name="round", left=name_type(value))
    return check_number(round(value, digits))


def _format_number(value: Any) -> str:
    """120 000 or 1 500,5, with spaces that do not break."""
    if not _is_number(value):
        message = f"format_number() does not take a {name_type(value)}"
        raise OperationFailed("expression-function", message, name="format_number", left=name_type(value))
    number_text = f"{check_number(value):,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")
    return number_text.replace(",", "\u00a0").replace(".", ",")


def _pick(name: str, how: Callable[[Any, Any], bool], values: Sequence[object]) -> object:
    items = values[0] if len(values) == 1 else values
    if not isinstance(items, list | tuple) or len(items) == 0:
        raise OperationFailed(
            "expression-function", f"{name}() needs several values, or a list that is not empty", name=name, left=name_type(items)
        )
    check_length(items)
    best = items[0]
    for candidate in items[1:]:
        if compare(candidate, best, how):
            best = candidate
    return best


FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Any], int, int]]] = {
    "len": (_count, 1, 1),
    "str": (_to_text, 1, 1),
    "int": (_to_whole, 1, 1),
    "float": (_to_decimal, 1, 1),
    "bool": (bool, 1, 1),
    "abs": (_absolute, 1, 1),
    "round": (_round, 1, 2),
    "min": (lambda *values: _pick("min", operator.lt, values), 1, 20),
    "max": (lambda *values: _pick("max", operator.gt, values), 1, 20),
    "add_days": (add_days, 2, 2),
    "at_time": (at_time, 3, 3),
    "format_date": (format_date, 1, 1),
    "format_number": (_format_number, 1, 1),
    "weekday": (lambda value: read_day("weekday", value).isoweekday(), 1, 1),
}
"""What each does, the fewest and the most arguments."""

Method = tuple[tuple[type, ...], Callable[..., Any], int, int]
_TEXT: Final = (str,)


def _check_texts(name: str, arguments: tuple[object, ...]) -> None:
    for argument in arguments:
        if not isinstance(argument, str):
            raise OperationFailed(
                "expression-method", f".{name}() takes a text, not a {name_type(argument)}", name=name, left=name_type(argument)
            )


def _with_texts(name: str, how: Callable[..., Any]) -> Callable[..., Any]:
    def call(value: object, *arguments: object) -> Any:
        _check_texts(name, arguments)
        return how(value, *arguments)

    return call


def _split(value: str, by: str | None = None) -> list[str]:
    if by == "":
        raise OperationFailed("expression-method", ".split() needs something to split at", name="split", left="text")
    return list(check_length(value.split(by, LONGEST + 1)))


def _get(value: Mapping[str, Any], key: Any, default: Any = None) -> Any:
    return value.get(key, default) if isinstance(key, str) else default


METHODS: Final[Mapping[str, Method]] = {
    "get": ((Mapping,), _get, 1, 2),
    "keys": ((Mapping,), list, 0, 0),
    "values": ((Mapping,), lambda value: list(value.values()), 0, 0),
    "lower": (_TEXT, str.lower, 0, 0),
    "upper": (_TEXT, str.upper, 0, 0),
    "casefold": (_TEXT, str.casefold, 0, 0),
    "strip": (_TEXT, _with_texts("strip", str.strip), 0, 1),
    "lstrip": (_TEXT, _with_texts("lstrip", str.lstrip), 0, 1),
    "rstrip": (_TEXT, _with_texts("rstrip", str.rstrip), 0, 1),
    "startswith": (_TEXT, _with_texts("startswith", str.startswith), 1, 1),
    "endswith": (_TEXT, _with_texts("endswith", str.endswith), 1, 1),
    "isdigit": (_TEXT, str.isdigit, 0, 0),
    "find": (_TEXT, _with_texts("find", str.find), 1, 1),
    "split": (_TEXT, _with_texts("split", _split), 0, 1),
}
"""The types of values, what each does, the fewest and the most arguments; all only read."""
