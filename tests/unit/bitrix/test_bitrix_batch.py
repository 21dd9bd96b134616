from typing import Any

import pytest

from bitrix.client.batch import (
    MAX_COMMANDS,
    BatchError,
    Command,
    CommandOutcome,
    build_cmd,
    find_references,
    number_keys,
    parse_commands,
    read_answer,
    restore_keys,
    restore_written_keys,
)
from bitrix.client.client import Answer


@pytest.mark.req("S004-24", "S004-X11")
@pytest.mark.parametrize(
    ("cmd", "commands"),
    [
        ({"a": "user.current"}, [Command("a", "user.current", {})]),
        ({"a": " user.current? "}, [Command("a", "user.current", {})]),
        (
            {"deal": "crm.deal.update?id=410&fields[OPPORTUNITY]=5", "get-it": "crm.deal.get?id=410"},
            [
                Command("deal", "crm.deal.update", {"id": "410", "fields": {"OPPORTUNITY": "5"}}),
                Command("get-it", "crm.deal.get", {"id": "410"}),
            ],
        ),
        (
            ["crm.contact.add?fields[NAME]=A%26B", "crm.deal.add?fields[CONTACT_ID]=$result[0]&fields[X]=$result[9]"],
            [
                Command("0", "crm.contact.add", {"fields": {"NAME": "A&B"}}),
                Command("1", "crm.deal.add", {"fields": {"CONTACT_ID": "$result[0]", "X": "$result[9]"}}),
            ],
        ),
        (
            {"7": "user.current", 12: "crm.deal.get?id=%24result%5B7%5D%5BID%5D&s[]=$result[7][0]"},
            [Command("7", "user.current", {}), Command("12", "crm.deal.get", {"id": "$result[7][ID]", "s": ["$result[7][0]"]})],
        ),
    ],
)
def test_parse(cmd: Any, commands: Any) -> None:
    """Commands are taken apart in order."""
    assert parse_commands(cmd) == tuple(commands)


@pytest.mark.req("S004-27", "S004-X11")
@pytest.mark.parametrize(
    ("cmd", "key", "why"),
    [
        (None, "", "map or a list"),
        ("crm.deal.get?id=1", "", "map or a list"),
        (b"x", "", "map or a list"),
        ({}, "", "no commands"),
        ([], "", "no commands"),
        (["server.time"] * (MAX_COMMANDS + 1), "", "more than 50"),
        ({"a": None}, "a", "must be text"),
        ({"a": {"method": "crm.deal.get"}}, "a", "must be text"),
        (["server.time", 5], "1", "must be text"),
        ({"a b": "server.time"}, "a b", "a key may hold"),
        ({"a[b]": "server.time"}, "a[b]", "a key may hold"),
        ({"ключ": "server.time"}, "ключ", "a key may hold"),
        ({"-5": "server.time"}, "-5", "a key may hold"),
        ({"": "server.time"}, "", "a key may hold"),
        ({None: "server.time"}, "None", "a key may hold"),
        ({"1": "server.time", "01": "server.time"}, "01", "used twice"),
        ({"a": ""}, "a", "plain method name"),
        ({"a": "?id=1"}, "a", "plain method name"),
        ({"a": "crm.deal.get.json?id=1"}, "a", "plain method name"),
        ({"a": "/crm.deal.get?id=1"}, "a", "plain method name"),
        ({"a": "crm.deal.get/?id=1"}, "a", "plain method name"),
        ({"a": "crm.deal.get&id=1"}, "a", "plain method name"),
        ({"a": "https://portal.example/rest/1/code/profile"}, "a", "plain method name"),
        ({"a": "crm%2Edeal.get"}, "a", "plain method name"),
        ({"a": "batch?cmd[x]=crm.deal.delete"}, "a", "inside a batch"),
        ({"a": "BATCH"}, "a", "inside a batch"),
        ({"a": "crm.deal.get?id[=1"}, "a", "brackets"),
        ({"a": "crm.deal.get?[id]=1"}, "a", "without a name"),
        ({"a": "crm.deal.get?id=%FF"}, "a", "UTF-8"),
    ],
)
def test_parse_refuses(cmd: Any, key: str, why: str) -> None:
    """A batch that has no single reading is refused by key."""
    with pytest.raises(BatchError, match=why) as caught:
        parse_commands(cmd)
    assert caught.value.key == key


def test_list_keys_sort() -> None:
    """Fifty commands of a list sort in the order they run, once they are numbered."""
    keys = [command.key for command in number_keys(parse_commands(["server.time"] * MAX_COMMANDS))]
    assert keys == sorted(keys)
    assert len(keys) == MAX_COMMANDS


@pytest.mark.parametrize(
    "cmd",
    [
        {"user": "user.current", "deal": "crm.deal.get?id=$result[user][ID]"},
        {"1": "user.current", "0": "crm.deal.get?id=$result[1][ID]"},
        {"Deal": "user.current", "deal": "crm.deal.get?id=$result[Deal][ID]", "DEAL": "profile"},
        {"z-9_": "user.current", "n00--x": "crm.deal.get?id=$result[z-9_][ID]"},
        {"c00_b": "user.current", "c00_a": "crm.deal.get?id=$result[c00_b][ID]"},
        {"z" * 64: "user.current", "a" * 64: "profile"},
        ["user.current", "crm.deal.get?id=$result[0][ID]"],
    ],
)
def test_numbered_keys_give_the_written_ones_back(cmd: Any) -> None:
    """However they sort, whatever their case, number or length; references follow, and the text for people has none of the numbers."""
    written = parse_commands(cmd)
    sent = build_cmd(number_keys(written))
    assert list(sent) == sorted(sent)
    assert not any(key.isdigit() for key in sent)
    assert restore_keys(parse_commands(dict(sorted(sent.items())))) == written
    assert build_cmd(number_keys(restore_keys(parse_commands(sent)))) == sent, "numbered once"
    assert restore_written_keys(sent) == build_cmd(written)


def test_rebuild() -> None:
    """The batch is rebuilt in one spelling and reads back the same."""
    commands = parse_commands({"z": "crm.deal.update?fields%5BTITLE%5D=A+B&fields[TITLE]=%D0%B4%26&id=1", "a": "profile?"})
    cmd = build_cmd(commands)
    assert cmd == {"z": "crm.deal.update?fields[TITLE]=%D0%B4%26&id=1", "a": "profile"}
    assert list(cmd) == ["z", "a"]
    assert parse_commands(cmd) == commands


@pytest.mark.parametrize(
    ("commands", "why"),
    [([Command("a", "x", {}), Command("a", "y", {})], "used twice"), ([Command("a", "x", {"f": {"b": float("nan")}})], "cannot carry")],
)
def test_build_refuses(commands: Any, why: str) -> None:
    """Commands that cannot be written are refused."""
    with pytest.raises(BatchError, match=why):
        build_cmd(commands)


@pytest.mark.req("S004-A5")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("410", []),
        ("the $result of it", []),
        ("$result[a]", ["$result[a]"]),
        ("x $result[a][0][ID] y $result[b]", ["$result[a][0][ID]", "$result[b]"]),
        ("%24result%5Ba%5D", ["$result[a]"]),
        ("%2524result%255Ba%255D", ["$result[a]"]),
        ("$RESULT [a]", ["$RESULT [a]"]),
        ("$result[a", ["$result[a"]),
        ("$result[$result[a]]", ["$result[$result[a"]),
        ({"f": {"A": "1", "B": ["$result[x]", {"$result[k]": "v"}]}}, ["$result[x]", "$result[k]"]),
        (5, []),
        (None, []),
    ],
)
def test_references(value: Any, found: list[str]) -> None:
    """Every reference is found."""
    assert find_references(value) == found


COMMANDS = parse_commands({"a": "user.current", "b": "crm.deal.get?id=999999", "c": "crm.lead.list"})


def outcomes(result: Any, *, halt: bool = False, commands: Any = COMMANDS) -> list[tuple[str, str]]:
    """Key and status of each command."""
    return [(o.key, o.status) for o in read_answer(commands, Answer(result), halt=halt)]


@pytest.mark.req("S004-26", "S004-X11")
def test_read_answer() -> None:
    """Results errors and totals are read per command."""
    answer = Answer(
        {
            "result": {"a": {"ID": "1"}, "c": []},
            "result_error": {"b": {"error": "", "error_description": "Not found<br>"}},
            "result_total": {"c": 0},
            "result_next": [],
            "result_time": {},
        }
    )

    assert read_answer(COMMANDS, answer) == (
        CommandOutcome("a", "user.current", "success", result={"ID": "1"}),
        CommandOutcome("b", "crm.deal.get", "error", error="", description="Not found"),
        CommandOutcome("c", "crm.lead.list", "success", result=[], total=0),
    )


@pytest.mark.parametrize(
    ("result", "halt", "statuses"),
    [
        ({"result": {"a": 1}, "result_error": {"b": {"error": "X"}}}, True, ["success", "error", "not_run"]),
        ({"result": {"a": 1}, "result_error": {"b": {"error": "X"}}}, False, ["success", "error", "unknown"]),
        ({"result": {"a": 1}, "result_error": []}, True, ["success", "unknown", "unknown"]),
        ({"result": {"b": 1}, "result_error": {"c": {"error": "X"}}}, True, ["unknown", "success", "error"]),
        ({"result": {"a": None, "b": False, "c": []}, "result_error": []}, False, ["success"] * 3),
        ({"result": {"a": 1}, "result_error": {"a": {"error": "X"}}}, False, ["error", "unknown", "unknown"]),
        ({"result": [], "result_error": []}, False, ["unknown"] * 3),
        ({"result": [1, 2, 3]}, False, ["unknown"] * 3),
        ({}, False, ["unknown"] * 3),
        ([], False, ["unknown"] * 3),
        (None, True, ["unknown"] * 3),
        ("x", False, ["unknown"] * 3),
    ],
)
def test_silence_is_not_success(result: Any, halt: Any, statuses: list[str]) -> None:
    """A command without a word is never taken for done."""
    assert [status for _, status in outcomes(result, halt=halt)] == statuses


def test_php_lists() -> None:
    """A PHP list answers numeric keys by position."""
    commands = [Command("0", "server.time", {}), Command("1", "nope", {})]
    answer = {"result": ["2026-11-21T21:00:00+03:00"], "result_error": {"1": "plain text"}}
    assert outcomes(answer, commands=commands) == [("0", "success"), ("1", "error")]
    assert read_answer(commands, Answer(answer))[1].description == "plain text"
