"""The counting behind `make style`, on sources of a few lines."""

import json

import pytest

from tests import style, style_trace
from tests.style_counting import (
    NOT_READ,
    begins_with,
    find_any,
    find_bindings,
    find_code_lines,
    find_cyrillic,
    find_docstring_words,
    find_empty_names,
    find_functions,
    find_hidden_imports,
    find_string_keys,
    is_shard,
    load_verbs,
    measure_sources,
    percentile,
)
from tests.style_sources import SHIPPED, find_importers, parse_source
from tests.style_trace import LAIN, find_old_folder

VERBS = ("is_", "read", "look_up", "get")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x['a'] = y['b']['c']", 3),
        ("x.get('a'); x.get('a', 1); get('a')", 2),
        ("x.pop('a'); x.setdefault('b', 1); x[0]; x[a]; x.get(a); x[f'{a}']", 0),
        ("a: Literal['a'] = b; c: t.Literal['d']; router.get('/chat'); STATES['open']", 1),
    ],
)
def test_string_keys_are_subscripts_and_get_with_a_literal(text: str, count: int) -> None:
    assert len(list(find_string_keys(parse_source("bot/a.py", text)))) == count


def test_any_counts_outside_imports_only() -> None:
    source = parse_source("bot/a.py", "import typing\nfrom typing import Any\nx: dict[str, Any]\ny: typing.Any = any(x)\n")
    assert sorted(place.line for place in find_any(source)) == [3, 4]


def test_cyrillic_is_counted_in_strings_and_not_in_docstrings_or_comments() -> None:
    text = '"""Сделка."""\nx = "Сделка"\n"""О ней."""\ny = f"{x} и {x} да"  # всё\nz = "deal"\n\n\ndef f() -> None:\n    """Сделка."""\n'
    assert [place.line for place in find_cyrillic(parse_source("bot/a.py", text))] == [2, 4]


def test_a_public_function_is_one_that_others_can_name_and_call() -> None:
    text = '''
def read() -> None:
    """Read."""
    def inner() -> None: ...
def _private() -> None: ...
class A:
    def __init__(self) -> None: ...
    async def method(self) -> None: ...
    @property
    def size(self) -> int: ...
    @functools.cached_property
    def total(self) -> int: ...
class _B:
    def hidden(self) -> None: ...
if True:
    def chosen() -> None: ...
'''
    functions = list(find_functions(parse_source("bot/a.py", text)))
    assert [function.name for function in functions if function.is_public] == ["read", "method", "chosen"]
    assert functions[0].lines == 3


@pytest.mark.parametrize(
    ("name", "verbal"),
    [
        ("read", True),
        ("read_all", True),
        ("reader", False),
        ("ready", False),
        ("look_up_deal", True),
        ("look", False),
        ("is_open", True),
        ("is_", False),
    ],
)
def test_a_name_begins_with_a_whole_word_of_the_list(name: str, verbal: bool) -> None:  # noqa: FBT001
    assert begins_with(name, VERBS) is verbal


def test_bindings_are_parameters_locals_and_loop_targets() -> None:
    text = """
one = 1
class A:
    said: int = 1
    def walk(self, told, *, kept=None):
        found = [held for held in told]
        for asked, right in found:
            with asked as made:
                taken: int = (given := 2)
                self.one = found[0]
"""
    source = parse_source("bot/a.py", text)
    assert sorted(place.text for place in find_bindings(source)) == ["asked", "found", "given", "kept", "made", "right", "taken", "told"]
    assert sorted(place.text for place in find_empty_names(source)) == ["asked", "found", "given", "kept", "made", "taken", "told"]


def test_an_import_is_hidden_in_a_function_only() -> None:
    text = "import a\nif TYPE_CHECKING:\n    from b import c\ndef read():\n    if a:\n        from d import e\n    import f\n"
    assert sorted(place.line for place in find_hidden_imports(parse_source("bot/a.py", text))) == [6, 7]


def test_lines_of_code_are_what_runs() -> None:
    text = '"""A b\nc."""\nfrom a import (\n    b,\n)\n\n# why\nx = (\n    1,\n)\n"""Of x."""\n\n\ndef read() -> None:\n    """Read."""\n    b()\n'
    source = parse_source("bot/a.py", text)
    assert list(find_code_lines(source)) == [8, 9, 10, 14, 16]
    assert list(find_docstring_words(source)) == ["A", "b", "c.", "Of", "x.", "Read."]


def test_importers_are_the_files_that_name_a_module() -> None:
    sources = [
        parse_source("bot/a.py", "import state.b\nfrom state import c, d\n"),
        parse_source("state/__init__.py", ""),
        parse_source("state/b.py", "def read():\n    from state.c import e\n    from state.b import f\n"),
        parse_source("state/c.py", ""),
    ]
    assert find_importers(sources) == {
        "bot/a.py": set(),
        "state/__init__.py": {"bot/a.py"},
        "state/b.py": {"bot/a.py"},
        "state/c.py": {"bot/a.py", "state/b.py"},
    }


@pytest.mark.parametrize(("values", "part", "value"), [([3, 1, 2], 0.5, 2), (list(range(1, 11)), 0.9, 9), ([7], 0.9, 7), ([], 0.5, 0)])
def test_a_percentile_is_a_value_of_the_list(values: list[int], part: float, value: int) -> None:
    assert percentile(values, part) == value


def test_figures_are_told_by_package_and_empty_inits_are_left_out_of_the_small_files() -> None:
    bot = parse_source(
        "bot/a.py", "x['a']\n" * 4 + "def read() -> None: ...\ndef getting() -> None: ...\ndef get_it() -> None: ...\n" + "\n" * 3
    )
    state = parse_source("state/a.py", "x = 1\n" * 401)
    inits = [parse_source("bot/__init__.py", '"""Doors."""\n'), parse_source("state/__init__.py", "import a\n")]
    figures = measure_sources([bot, state, *inits], VERBS)
    assert (figures["keys bot"], figures["keys orchestrator+bot+engines"], figures["keys state"]) == (571.4, 571.4, 0)
    assert (figures["verbs"], figures["vague"]) == (66.7, 50)
    assert (figures["shards"], figures["small"], figures["large"], figures["lonely"]) == (50, 50, 1, 0)


@pytest.mark.parametrize(
    ("path", "shard"),
    [
        ("engines/flows/plugin.py", False),
        ("engines/flows/run_face.py", False),
        ("engines/flows/http/face.py", False),
        ("bot/interface.py", True),
        ("bot/page_list.py", True),
    ],
)
def test_files_whose_names_are_set_are_no_shards(path: str, shard: bool) -> None:  # noqa: FBT001
    assert is_shard(parse_source(path, "x = 1\n")) is shard


def test_a_row_keeps_its_bar_or_the_figure_of_before() -> None:
    share, statements = style.Row("verbs", "", ">=", 60), style.Row("statements", "", "<=")
    assert (share.holds(60, {}), share.holds(59.9, {})) == (True, False)
    assert (statements.holds(7, {"statements": 7}), statements.holds(8, {"statements": 7})) == (True, False)
    assert style.Row("lines", "").holds(10**9, {"lines": 1})


def test_the_list_of_verbs_has_no_word_twice() -> None:
    verbs = load_verbs(style.VERBS.read_text(encoding="utf-8"))
    assert len(set(verbs)) == len(verbs) > 200
    assert not [word for word in verbs if not word.replace("_", "").isalpha()]


def test_every_figure_of_before_has_its_row() -> None:
    """A renamed row would lose what it is compared with."""
    assert {row.key for row in style.ROWS} == set(json.loads(style.BEFORE.read_text(encoding="utf-8")))


@pytest.mark.long
def test_the_traced_sentence_leads_from_the_door_to_the_store_and_back() -> None:
    """Its figures are only worth something while the kits drive it to a card."""
    trace = style.run_trace(style.HERE.parent)
    assert {path.partition("/")[0] for path in trace["files"]} == set(SHIPPED)
    assert all(count > 0 for count in trace["files"].values())
    folders = [label.split(" -> ") for label in trace["moves"]]
    assert folders
    assert not [label for label in folders if label[0] == label[1]]


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("state/journal/store.py", "state/journal"),
        ("state/model/card.py", "state"),
        ("engines/flows/core/engine.py", "orchestrator/engines/flows"),
        ("engines/scenarios/core/steps/flow.py", "orchestrator/engines/scenarios/steps"),
        ("engines/flows/wiring.py", "bot"),
        ("engines/flows/faces.py", "engines/flows"),
        ("bot/process.py", "bot"),
    ],
)
def test_calls_are_counted_by_the_folders_of_before(path: str, folder: str) -> None:
    assert find_old_folder(path) == folder


def test_the_map_of_before_names_what_there_is() -> None:
    """A place that has moved again would count where it lies."""
    assert not [place for place in LAIN if not (style.HERE.parent / place).exists()]
    assert not [place for place, before in LAIN.items() if before in LAIN]


def test_the_trace_follows_what_is_measured() -> None:
    assert style_trace.SHIPPED == SHIPPED


def test_files_whose_russian_nobody_reads_still_have_some() -> None:
    """An exception is dropped with the literals for which it was made."""
    for path in NOT_READ:
        text = (style.HERE.parent / path).read_text(encoding="utf-8")
        assert list(find_cyrillic(parse_source("elsewhere.py", text))), path
        assert not list(find_cyrillic(parse_source(path, text)))
