"""Reading YAML: it means what the same document in JSON means, and nothing that is more than that is accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.documents.reading import read_document
from orchestrator.documents.reports import MAX_DEPTH, MAX_VALUES
from orchestrator.documents.writing import write_document
from orchestrator.domain.finding import parse_path
from state.canonical import NotCanonical, check
from tests.unit.documents.test_reading_json import json_data


def find_mistakes(text: str) -> list[tuple[str, int, int]]:
    return [(one.code.removeprefix("finding-"), one.line, one.column) for one in read_document(text, "yaml").findings]


@pytest.mark.long
@pytest.mark.req("S002-5")
@given(json_data, st.sampled_from(["json", "yaml"]))
def test_what_is_written_reads_back_as_it_was(data: object, form: str) -> None:
    text = write_document(data, form)  # type: ignore[arg-type]
    reading = read_document(text, form)  # type: ignore[arg-type]
    assert reading.findings == ()
    assert reading.require_document().data == data
    assert repr(reading.require_document().data) == repr(data)


@pytest.mark.parametrize("key", ["//", "// note", "/* x", "{", "["])
def test_a_document_that_begins_like_json_reads_back_without_being_told_its_form(key: str) -> None:
    """A note under the key "//" is common in JSON, which has no comments of its own."""
    data = {key: "a note", "name": "Опрос"}
    assert read_document(write_document(data)).require_document().data == data


def test_signs_that_nobody_sees_are_written_as_escapes() -> None:
    data = {"a": "x\u2028y: 1\x85\x7f\x1b"}
    assert read_document(write_document(data)).require_document().data == data


def test_a_megabyte_of_signs_that_nobody_sees_ends_in_findings() -> None:
    found = read_document("a: \u2028" * 150_000, "yaml").findings
    assert len(found) == 201


SCENARIO = """# a scenario
name: Опрос 😀
steps:
  - id: ask
    params: {prompt: "Сколько?", limit: 3}
  - id: end
    text: |
      две
      строки
"""


def test_a_scenario_is_read_with_its_places() -> None:
    document = read_document(SCENARIO.encode()).require_document()
    assert document.format == "yaml"
    assert document.data["steps"][0] == {"id": "ask", "params": {"prompt": "Сколько?", "limit": 3}}
    assert document.data["steps"][1]["text"] == "две\nстроки\n"
    assert document.find_position(("steps",)) == (3, 1)
    assert document.find_position(("steps", 1)) == (6, 5)
    assert document.find_position(("steps", 0, "params", "limit")) == (5, 34)
    assert document.find_position(("steps", 0, "params", "limit"), of_value=True) == (5, 41)
    assert document.find_step(("steps", 0, "params", "limit")) == "ask"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True), ("False", False), ("null", None), ("~", None), ("12", 12), ("-1.5e3", -1500.0), ("''", ""),
        ("2026-11-24", "2026-11-24"), ("12:30:00", "12:30:00"), ("+79991234567", "+79991234567"), ("012", "012"), ("0x1F", "0x1F"),
        ("1_000", "1_000"), ("'no'", "no"), ('"12"', "12"), ("=", "="), ("1.", "1."), (".5", ".5"), ("1 000", "1 000"),
    ],
)  # fmt: skip
def test_only_what_json_knows_is_more_than_a_text(text: str, value: object) -> None:
    reading = read_document(f"a: {text}")
    assert reading.findings == ()
    assert repr(reading.require_document().data["a"]) == repr(value)


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off"])
def test_a_word_that_may_mean_true_stays_a_text_with_a_warning(word: str) -> None:
    reading = read_document(f"active: {word}\n{word}: 1")
    assert reading.require_document().data == {"active": word, word: 1}
    assert [(one.code, one.severity, one.line) for one in reading.findings] == [("finding-yaml-word", "warning", 1)]
    assert reading.findings[0].suggestion == ("true" if word.lower() in {"yes", "on"} else "false")


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ("a: 1\na: 2", [("duplicate-key", 2, 1)]),
        ("a: .nan\nb: -.inf\nc: 1e999\nd: 9007199254740993", [("number-not-finite", 1, 4), ("number-not-finite", 2, 4), ("number-not-finite", 3, 4), ("number-large", 4, 4)]),
        ("a: &x [1]\nb: *x", [("yaml-alias", 1, 4), ("yaml-alias", 2, 4)]),
        ("a: !!python/object/apply:os.system [x]", [("yaml-tag", 1, 4)]),
        ("a: !include x.yaml", [("yaml-tag", 1, 4)]),
        ("a:\n  <<: {b: 1}", [("yaml-merge", 2, 3)]),
        ("? [1, 2]\n: 3\nb: 4", [("yaml-key", 1, 3)]),
        ("? {a: {b: 1}}\n: 3", [("yaml-key", 1, 3)]),
        ("a: 1\n---\nb: 2", [("yaml-documents", 2, 1)]),
        ("a: b: c\nd: e: f\ng: 1", [("yaml-colon", 1, 5), ("yaml-colon", 2, 5)]),
        ("a:\n\t- 1", [("yaml-tab", 2, 1)]),
        ("a: @home\nb: `x`", [("yaml-character", 1, 4), ("yaml-character", 2, 4)]),
        ('a: "open\nb: 1', [("yaml-quote", 1, 4)]),
        ('a: "\\q"', [("bad-escape", 1, 5)]),
        ('a: "\\0"', [("zero-character", 1, 4)]),
        ('a: "\\ud800"', [("lone-surrogate", 1, 5)]),
        ("a: [1, 2\nb: 3", [("yaml-flow", 2, 2)]),
        ("a: 1\n b: 2", [("yaml-colon", 2, 3)]),
        ("- 1\nb: 2", [("yaml-indent", 2, 1)]),
        ("a: \x07", [("control-character", 1, 4)]),
        ("ключ: 😀\x07\nb: 1\x7f\nb: 2", [("control-character", 1, 8), ("control-character", 2, 5), ("duplicate-key", 3, 1)]),
        ("a: b\u2028c: d", [("control-character", 1, 5), ("yaml-colon", 1, 7)]),
        ("# a\u2029b: 1\nc: 'x\x85y'", [("control-character", 1, 4), ("control-character", 2, 6)]),
        ('a: "x\\0"\n"a\\0": 2', [("zero-character", 1, 4), ("zero-character", 2, 1), ("duplicate-key", 2, 1)]),
        ("", [("document-empty", 1, 1)]),
        ("# nothing\n", [("document-empty", 1, 1)]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_at_its_place(text: str, mistakes: list[tuple[str, int, int]]) -> None:
    assert find_mistakes(text) == mistakes
    assert read_document(text, "yaml").document is None


def test_mistakes_of_syntax_and_of_meaning_are_found_in_one_pass() -> None:
    text = "name: a: b\nsteps:\n  - id: x\n    id: y\n    size: .inf\n    text: @home\n  - &one {a: 1}\n"
    assert {(code, line) for code, line, _ in find_mistakes(text)} == {
        ("yaml-colon", 1), ("duplicate-key", 4), ("number-not-finite", 5), ("yaml-character", 6), ("yaml-alias", 7),
    }  # fmt: skip


LAUGHS = "a: &a [lol,lol]\n" + "".join(f"{b}: &{b} [*{a},*{a}]\n" for a, b in zip("abcdefghijk", "bcdefghijkl", strict=True))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (LAUGHS, "yaml-alias"),
        ("[" * 10_000, "document-deep"),
        ("- " * 10_000, "document-deep"),
        ("? " * 400_000, "document-deep"),
        ("{a: " * 10_000, "document-deep"),
        ("- a\n" * (MAX_VALUES + 1), "document-wide"),
        ("a" * 10_000_000, "document-large"),
    ],
    ids=["laughs", "lists", "dashes", "questions", "objects", "values", "10 MB"],
)
def test_what_would_grow_ends_in_findings(text: str, code: str) -> None:
    assert code in {name for name, _, _ in find_mistakes(text)}


@given(st.text(st.sampled_from("{}[],:\"'- #\\ntrue1.&*!|>?@%\n\n  a"), max_size=60))
def test_any_text_ends_in_a_value_or_an_error_and_what_is_read_can_be_stored(text: str) -> None:
    reading = read_document(text, "yaml")
    assert (reading.document is None) == any(one.severity == "error" for one in reading.findings)
    if reading.draft is not None:
        check(reading.draft.data)
    for one in reading.findings:
        assert one.line >= 1
        parse_path(one.path)


@pytest.mark.parametrize("data", [float("nan"), {"a": b"x"}, {1: 2}, {"a": 2**60}, {"a": "\x00"}])
def test_what_is_no_json_is_not_written(data: object) -> None:
    with pytest.raises(NotCanonical):
        write_document(data)


def test_what_is_nested_too_deeply_or_in_itself_is_not_written() -> None:
    deep: list[object] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(NotCanonical, match="nested"):
        write_document(deep)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_is_written_is_never_deeper_than_what_is_read(form: str) -> None:
    deepest: list[object] = []
    for _ in range(MAX_DEPTH - 1):
        deepest = [deepest]
    text = write_document(deepest, form)  # type: ignore[arg-type]
    assert read_document(text, form).require_document().data == deepest  # type: ignore[arg-type]
    with pytest.raises(NotCanonical):
        write_document([deepest], form)  # type: ignore[arg-type]


FLOW = """name: Предложение
steps:
  - id: ask
    params:
      text: |
        Два слова
    next: write
  - id: write
    options:
    - да
    - нет
end: done
"""


@pytest.mark.parametrize("line", range(len(FLOW.split("\n"))))
@pytest.mark.parametrize("word", ["tri", "два слова", "tri:5", '"tri"', "tri # a comment", "https://a.example"])
def test_an_unfinished_key_is_one_mistake_at_its_line(word: str, line: int) -> None:
    """Wherever an author begins to write a key, and everything else is read as without it; in places where YAML takes it for a part of a text, it is none."""
    lines = FLOW.split("\n")
    for indent in {len(one) - len(one.lstrip(" -")) for one in lines[max(0, line - 1) : line + 1] if one}:
        text = "\n".join([*lines[:line], " " * indent + word, *lines[line:]])
        if yaml_takes_it(text):
            continue
        reading = read_document(text, "yaml")
        found = [(one.code, one.line) for one in reading.findings]
        assert found == [("finding-yaml-colon-missing", line + 1)], text
        assert reading.draft is not None
        if "|" not in lines[line - 1]:  # such a word ends a text that has not begun
            assert reading.draft.data == read_document(FLOW, "yaml").require_document().data, text


def yaml_takes_it(text: str) -> bool:
    return read_document(text, "yaml").document is not None


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\ntri\n  - x\n  - y\nc: 2\n",
        "a: 1\ntri\n- x\n- y\nc: 2",
        "a: 1\ntri\n  x: 1\n  y: 2\nc: 2\n",
        "a: 1\ntri |\n  x: 1\n\n  y\nc: 2\n",
    ],
)
def test_what_stands_below_an_unfinished_key_is_no_mistake_of_its_own(text: str) -> None:
    """An author who forgets the colon is told of this alone."""
    reading = read_document(text, "yaml")
    assert [(one.code, one.line) for one in reading.findings] == [("finding-yaml-colon-missing", 2)]
    assert reading.draft is not None
    assert reading.draft.data == {"a": 1, "c": 2}


def test_each_unfinished_key_is_named() -> None:
    reading = read_document("tri\na: 1\nb: 2\nqua\nsen\nc:\n  oct\n  d: 3\n", "yaml")
    assert [(one.code, one.line) for one in reading.findings] == [("finding-yaml-colon-missing", line) for line in (1, 4, 5, 7)]
    assert reading.draft is not None
    assert reading.draft.data == {"a": 1, "b": 2, "c": {"d": 3}}
