from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitrix.client.php_query import MAX_DEPTH, MAX_LENGTH, MAX_PAIRS, build, parse
from bitrix.errors import QueryError


@pytest.mark.req("S004-24", "S004-A5")
@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("", {}),
        ("&&", {}),
        ("id=1", {"id": "1"}),
        ("id", {"id": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=1+2%2B3", {"a": "1 2+3"}),
        ("a=%D0%B4%D0%B0", {"a": "да"}),
        ("a=100%&b=%zz", {"a": "100%", "b": "%zz"}),
        ("a=1;b=2", {"a": "1;b=2"}),
        ("a=1&a=2", {"a": "2"}),
        ("A=1&a=2", {"A": "1", "a": "2"}),
        ("fields[TITLE]=x&fields[OPPORTUNITY]=1", {"fields": {"TITLE": "x", "OPPORTUNITY": "1"}}),
        ("fields%5BOPPORTUNITY%5D=5", {"fields": {"OPPORTUNITY": "5"}}),
        ("fields[OPPORTUNITY]=1&fields%5bOPPORTUNITY%5d=2", {"fields": {"OPPORTUNITY": "2"}}),
        ("filter[%3E%3DOPPORTUNITY]=1", {"filter": {">=OPPORTUNITY": "1"}}),
        ("select[]=ID&select[]=TITLE", {"select": ["ID", "TITLE"]}),
        ("select[0]=ID&select[1]=TITLE", {"select": ["ID", "TITLE"]}),
        ("select[1]=ID&select[0]=TITLE", {"select": {"1": "ID", "0": "TITLE"}}),
        ("a[5]=x&a[]=y", {"a": {"5": "x", "6": "y"}}),
        ("a[05]=x&a[]=y", {"a": {"05": "x", "0": "y"}}),
        ("a[][x]=1&a[][y]=2", {"a": [{"x": "1"}, {"y": "2"}]}),
        ("a[ ]=1", {"a": ["1"]}),
        ("a[ b]=1", {"a": {" b": "1"}}),
        ("fields[PHONE][0][VALUE]=%2B7", {"fields": {"PHONE": [{"VALUE": "+7"}]}}),
        ("ORDER[]=", {"ORDER": [""]}),
        ("a=1&a[b]=2", {"a": {"b": "2"}}),
        ("a[b]=2&a=1", {"a": "1"}),
        ("a[b]=1&a[b][c]=2", {"a": {"b": {"c": "2"}}}),
        ("a.b=1&a c=2&+d=3", {"a_b": "1", "a_c": "2", "d": "3"}),
        ("fields[a.b c]=1", {"fields": {"a.b c": "1"}}),
        ("x=$result[n]&y=%24result%5Bn%5D", {"x": "$result[n]", "y": "$result[n]"}),
        ("a#b=1?2", {"a#b": "1?2"}),
    ],
)
def test_parse(query: str, params: dict[str, Any]) -> None:
    """A query is read as PHP reads it."""
    assert parse(query) == params


@pytest.mark.req("S004-27", "S004-A5")
@pytest.mark.parametrize(
    "query",
    [
        "=1",
        "[a]=1",
        "+=1",
        "a[b=1",
        "a]b=1",
        "a[b]c=1",
        "a[b][=1",
        "a[b][c=1",
        "a[[b]]=1",
        "a[b[c]]=1",
        "filter[$result[x]]=1",
        "a%00b=1",
        "a=%00",
        "a=%FF",
        "a=%ED%A0%80",
        "a=\ud800",
        "a" + "[b]" * MAX_DEPTH + "=1",
        "&".join(["a=1"] * (MAX_PAIRS + 1)),
        "a=" + "x" * MAX_LENGTH,
    ],
    ids=lambda query: query[:20].encode("unicode_escape").decode(),
)
def test_parse_refuses(query: str) -> None:
    """What PHP would drop or mend is refused."""
    with pytest.raises(QueryError):
        parse(query)


@pytest.mark.parametrize(
    ("params", "query"),
    [
        ({}, ""),
        ({"id": 1, "on": True, "off": False, "none": None}, "id=1&on=1&off=0&none="),
        ({"sum": 1e22, "small": 1e-7, "d": Decimal("10.50")}, "sum=10000000000000000000000&small=0.0000001&d=10.50"),
        ({"empty": [], "map": {}}, "empty[]=&map[]="),
        ({"select": ["ID", "TITLE"]}, "select[0]=ID&select[1]=TITLE"),
        ({"filter": {">=OPPORTUNITY": 5}}, "filter[%3E%3DOPPORTUNITY]=5"),
        ({"t": "A&B=C +%/да"}, "t=A%26B%3DC%20%2B%25%2F%D0%B4%D0%B0"),
        ({"id": "$result[n][ID]"}, "id=%24result%5Bn%5D%5BID%5D"),
        ({"f": {"PHONE": [{"VALUE": "+7"}]}}, "f[PHONE][0][VALUE]=%2B7"),
    ],
)
def test_build(params: dict[str, Any], query: str) -> None:
    """Parameters have one spelling."""
    assert build(params) == query


@pytest.mark.parametrize(
    "params",
    [
        {"": 1},
        {"a.b": 1},
        {"a b": 1},
        {"a[b]": 1},
        {1: 1},
        {"a": {"b]": 1}},
        {"a": {"": 1}},
        {"a": {" ": 1}},
        {"a": {None: 1}},
        {"a": {True: 1}},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": Decimal("NaN")},
        {"a": b"bytes"},
        {"a": {1, 2}},
        {"a": "\ud800"},
        {"a": "\x00"},
        {"a": [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]},
    ],
    ids=repr,
)
def test_build_refuses(params: dict[str, Any]) -> None:
    """What a query cannot carry is refused."""
    with pytest.raises(QueryError):
        build(params)


_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
_inner = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00[]"), min_size=1, max_size=8).filter(
    lambda key: key not in set(" \t\n\r\v\f")
)
_top = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00[]. "), min_size=1, max_size=8)
_scalar = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.decimals(-9, 9), _text)
_value = st.recursive(
    _scalar, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_inner | st.integers(0, 5), inner, max_size=4), max_leaves=12
)


def stringified(value: Any) -> Any:
    """What is left of a value once it is text and PHP has turned maps with keys 0, 1, 2 into lists."""
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float():
            return format(Decimal(repr(value)), "f")
        case Decimal():
            return format(value, "f")
        case list():
            return [stringified(item) for item in value] or [""]
        case dict():
            items = {str(key): stringified(item) for key, item in value.items()}
            return list(items.values()) or [""] if list(items) == [str(i) for i in range(len(items))] else items
        case _:
            return str(value)


def _keys_collide(value: Any) -> bool:
    if isinstance(value, dict):
        return len({str(key) for key in value}) < len(value) or any(_keys_collide(item) for item in value.values())
    return isinstance(value, list) and any(_keys_collide(item) for item in value)


@pytest.mark.long
@settings(deadline=None)
@given(st.dictionaries(_top, _value.filter(lambda value: not _keys_collide(value)), max_size=4))
def test_round_trip(params: dict[str, Any]) -> None:
    """What is built is read back."""
    query = build(params)
    assert parse(query) == {name: stringified(value) for name, value in params.items()}
    assert query.isascii()


@settings(deadline=None)
@given(st.text(st.sampled_from("ab01[]=&+%. ;$\x00да"), max_size=40) | st.text(max_size=30))
def test_any_text(query: str) -> None:
    """Any text is read or refused and rereading our spelling changes nothing."""
    try:
        params = parse(query)
    except QueryError:
        return
    assert parse(build(params)) == params


def test_plain_data() -> None:
    """A parsed query is plain data."""
    assert type(parse("a[b]=1")["a"]) is dict


def test_depth() -> None:
    """The deepest query that is built can be read."""
    value: Any = "x"
    for _ in range(MAX_DEPTH - 1):
        value = {"b": value}
    assert parse(build({"a": value})) == {"a": value}
    with pytest.raises(QueryError, match="nested deeper"):
        build({"a": {"b": value}})
