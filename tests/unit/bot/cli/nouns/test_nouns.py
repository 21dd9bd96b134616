"""The commands of nouns are those of the API's own description, which is a file that the code makes."""

import re
from pathlib import Path

import pytest

from bot.cli.nouns.description import load_operations
from bot.cli.nouns.table import FINDS, GROUPS
from bot.i18n.translate import Locale, Translator
from tests.api_description import FILE, describe, encode

ROOT = Path(__file__).resolve().parents[5]


def test_the_description_is_what_the_routes_say_now() -> None:
    """`python -m tests.api_description` writes it anew."""
    assert FILE.read_bytes() == encode(describe())


def test_no_two_operations_have_one_name() -> None:
    names = [operation["operationId"] for path in describe()["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names)) == len(load_operations())


def test_the_table_names_operations_and_fields_that_there_are() -> None:
    known = load_operations()
    assert {f"{noun}.list" for noun in FINDS.values()} <= known.keys()
    for name, group in GROUPS.items():
        address = group.address or name
        lists = [one for one in known.values() if one.rows and one.name in {f"{address}.list", f"{address}.events"}]
        assert name == "runs" or all(set(group.columns) <= set(one.fields) for one in lists)
        assert {f"{address}.{left_out}" for left_out in group.left_out} <= known.keys()
        for command_name, command in group.commands.items():
            operation = known[command.operation or f"{address}.{command_name}"]
            parameters = {parameter.name for parameter in operation.parameters}
            assert {*command.without, *command.fixed} <= parameters
            assert {*command.without.values(), *command.also} <= known.keys()
            assert not operation.rows or set(group.find_command(command_name).columns) <= set(operation.fields)


@pytest.mark.parametrize("locale", ["ru", "en"])
def test_every_column_of_the_table_has_a_head(locale: Locale) -> None:
    columns = {column for group in GROUPS.values() for command in group.commands.values() for column in command.columns}
    heads = {column: Translator(locale).translate("cli-head", field=column, name=column) for column in columns}
    assert locale == "en" or [column for column, head in heads.items() if head == column] == []


def test_nobody_is_known_without_a_token_but_in_the_process_of_the_command() -> None:
    """Only the command line names a caller itself; whoever asks over HTTP has a token, and its name begins with http."""
    places = [path for path in (ROOT / "bot").rglob("*.py") if re.search(r"\bhelper=|via=\"cli\"", path.read_text(encoding="utf-8"))]
    allowed = {"bot/cli/nouns/local_api.py", "bot/cli/definition_desk.py", "bot/cli/work/freeze.py"}
    assert {path.relative_to(ROOT).as_posix() for path in places} <= allowed
