"""Reading JSON, with comments and with mistakes: every mistake is found in one pass, at its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.documents.reading import MAX_BYTES, read_document
from orchestrator.documents.reports import MAX_DEPTH, MAX_VALUES
from orchestrator.domain.finding import DefinitionRefused, parse_path
from state.canonical import check

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
json_data = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda below: st.lists(below, max_size=5) | st.dictionaries(texts, below, max_size=5),
    max_leaves=20,
)


def find_mistakes(text: str | bytes) -> list[tuple[str, int, int]]:
    reading = read_document(text, "json")
    return [(one.code.removeprefix("finding-"), one.line, one.column) for one in reading.findings]


@pytest.mark.long
@given(json_data, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_every_json_text_is_read_as_python_reads_it(data: object, is_ascii: bool, indent: object) -> None:  # noqa: FBT001
    text = json.dumps(data, ensure_ascii=is_ascii, indent=indent)  # type: ignore[arg-type]
    reading = read_document(text, "json")
    assert reading.findings == ()
    assert reading.require_document().data == data


SEED = """{
  // a step that asks
  "params": {
    "prompt": "Сколько?",
    "input_variable": "user_age" // the name of the variable
  }, /* over
  two lines */
  "steps": [1, 2, ],
}
"""


def test_comments_and_trailing_commas_are_read_over() -> None:
    document = read_document(SEED).require_document()
    assert document.data == {"params": {"prompt": "Сколько?", "input_variable": "user_age"}, "steps": [1, 2]}
    assert document.format == "json"
    assert document.find_position(("params", "input_variable")) == (5, 5)
    assert document.find_position(("params", "input_variable"), of_value=True) == (5, 23)
    assert document.find_position(("steps", 1)) == (8, 16)
    assert document.find_position(("params", "missing", "deeper")) == (3, 3)
    assert document.find_position(()) == (1, 1)


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        ('{"a": 1 "b": 2}', [("comma-missing", 1, 9)]),
        ('{"a" 1}', [("colon-missing", 1, 6)]),
        ('{"a" = 1}', [("colon-form", 1, 6)]),
        ('{"a": , "b": }', [("value-missing", 1, 2), ("value-missing", 1, 9)]),
        ("{a: 1}", [("key-unquoted", 1, 2)]),
        ("{: 1}", [("key-missing", 1, 2)]),
        ("[1,,2]", [("comma-extra", 1, 4)]),
        ("['a', “b”, «c»]", [("quotes-form", 1, 2), ("quotes-form", 1, 7), ("quotes-form", 1, 12)]),
        ("[True, None, NaN, -Infinity, word]", [("word-unknown", 1, 2), ("word-unknown", 1, 8), ("number-not-finite", 1, 14), ("number-not-finite", 1, 19), ("word-unknown", 1, 30)]),
        ("[01, +1, .5, 1., 0x1F, 1e999]", [("number-form", 1, 2), ("number-form", 1, 6), ("number-form", 1, 10), ("number-form", 1, 14), ("number-form", 1, 18), ("number-not-finite", 1, 24)]),
        ("[9007199254740991, 9007199254740992]", [("number-large", 1, 20)]),
        ('["\\q", "\\u0000", "\\ud800", "\\ud83d\\ude00", "\\u12"]', [("bad-escape", 1, 3), ("zero-character", 1, 9), ("lone-surrogate", 1, 19), ("bad-escape", 1, 45)]),
        ('["a\tb"]', [("control-character", 1, 4)]),
        ('["open,\n 2]', [("text-unclosed", 1, 2)]),
        ('{"a": [1, 2}', [("bracket-other", 1, 12)]),
        ('{"a": [1', [("bracket-unclosed", 1, 1), ("bracket-unclosed", 1, 7)]),
        ("[1]]", [("bracket-extra", 1, 4)]),
        ("[1] [2]", [("text-after-end", 1, 5)]),
        ("", [("document-empty", 1, 1)]),
        ("// nothing", [("document-empty", 1, 1)]),
        ("[1 /* open", [("comment-unclosed", 1, 4), ("bracket-unclosed", 1, 1)][::-1]),
        ("[1, # a\n2]", [("comment-form", 1, 5)]),
        ('{"a": 1,\n "a": 2}', [("duplicate-key", 2, 2)]),
        ("[1; 2]", [("character-unexpected", 1, 3), ("comma-missing", 1, 5)]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_at_its_place(text: str, mistakes: list[tuple[str, int, int]]) -> None:
    assert find_mistakes(text) == mistakes
    with pytest.raises(DefinitionRefused):
        read_document(text, "json").require_document()


PLANTED = """{
  "name": 'Опрос',
  "version": 01,
  steps: [
    {"id": "a", "type": "message" "text": "Привет"},
    {"id": "b", "type": "branch", "id": "c", "done": True},
    {"id": "d", "limit": 12345678901234567890, "text": "\\d+"},,
    {"id": "e", "text": "не закрыт},
    {"id": "f", "next": }
  ],
}"""


def test_ten_planted_mistakes_are_found_in_one_pass() -> None:
    reading = read_document(PLANTED)
    assert reading.document is None
    assert reading.draft is not None
    assert len(reading.draft.data["steps"]) == 5
    found = {(one.code.removeprefix("finding-"), one.line) for one in reading.findings}
    planted = {("quotes-form", 2), ("number-form", 3), ("key-unquoted", 4), ("comma-missing", 5), ("duplicate-key", 6), ("word-unknown", 6)}
    planted |= {("number-large", 7), ("bad-escape", 7), ("comma-extra", 7), ("text-unclosed", 8), ("value-missing", 9)}
    assert found >= planted
    paths = {one.code: one.path for one in reading.findings}
    assert paths["finding-duplicate-key"] == "steps[1].id"
    assert paths["finding-number-large"] == "steps[2].limit"
    assert next(one.suggestion for one in reading.findings if one.code == "finding-word-unknown") == "true"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_lines_are_counted_alike_in_every_encoding(encoding: str, ending: str) -> None:
    document = read_document(ending.join(["{", '  "имя 😀": "x",', '  "b": 2', "}"]).encode(encoding)).require_document()
    assert document.find_position(("b",)) == (3, 3)
    assert document.find_position(("имя 😀",), of_value=True) == (2, 12)


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        ("{\n  ё: 1}".encode("cp1251"), "document-encoding", 2),
        ('{"a": 1}'.encode("utf-16-le"), "zero-character", 1),
        ('{"a": "\x00"}', "zero-character", 1),
        ('{"a":\n"\ud800"}', "document-encoding", 2),
        (b"\xff\xfe\x00", "document-encoding", 1),
    ],
)
def test_what_is_no_text_is_told_with_its_line(data: str | bytes, code: str, line: int) -> None:
    assert [(name, at) for name, at, _ in find_mistakes(data)] == [(code, line)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 10_000, "document-deep"),
        ('{"a":' * 10_000, "document-deep"),
        ("[" + "1," * MAX_VALUES + "1]", "document-wide"),
        ("[" * 10_000_000, "document-large"),
        ('["' + "x" * MAX_BYTES + '"]', "document-large"),
        ("[" + "1" * 999_000 + "]", "number-large"),
    ],
    ids=["lists", "objects", "values", "10 MB", "text", "digits"],
)
def test_what_is_too_large_ends_in_one_finding(text: str, code: str) -> None:
    assert [name for name, _, _ in find_mistakes(text)] == [code]


def test_the_deepest_and_widest_that_are_read_are_read() -> None:
    assert read_document("[" * MAX_DEPTH + "]" * MAX_DEPTH).document is not None
    assert read_document("[" + "1," * (MAX_VALUES - 1) + "]").document is not None


def test_many_mistakes_are_cut_with_a_word_that_more_follow() -> None:
    findings = read_document("[" + "," * 100_000 + "]").findings
    assert len(findings) == 201
    assert findings[-1].code == "finding-more"


@given(st.text(st.sampled_from("{}[],:\"'/*#\\ntrue1.e-\n u0"), max_size=60))
def test_any_text_ends_in_a_value_or_an_error_and_what_is_read_can_be_stored(text: str) -> None:
    reading = read_document(text, "json")
    assert (reading.document is None) == any(one.severity == "error" for one in reading.findings)
    if reading.draft is not None:
        check(reading.draft.data)
    for one in reading.findings:
        assert one.line >= 1
        assert one.column >= 1
        parse_path(one.path)


@pytest.mark.parametrize(
    ("unfinished", "code"),
    [
        ('"tri"', "colon-missing"),
        ("tri", "colon-missing"),
        ('"tri', "text-unclosed"),
        ('"tri",', "value-missing"),
        ("tri,", "value-missing"),
        ('"tri":,', "value-missing"),
        ('"tri":', "value-missing"),
        ("tri:", "value-missing"),
        ("tri:,", "value-missing"),
    ],
)
def test_an_unfinished_key_is_one_mistake_at_its_line(unfinished: str, code: str) -> None:
    """What follows it is read as it is written."""
    reading = read_document(f'{{\n "a": {{"x": 1}},\n {unfinished}\n "c": 2,\n "d": [3]\n}}', "json")
    assert [(one.code, one.line) for one in reading.findings] == [(f"finding-{code}", 3)]
    assert reading.draft is not None
    assert reading.draft.data == {"a": {"x": 1}, "tri": None, "c": 2, "d": [3]}


@pytest.mark.parametrize("value", [r'"\": y"', r'"say \"x\": y"', '"x: y"', '"x:y"', "\"'x': y\"", "true", '{"x": 1}', '"«x»: y"'])
def test_a_value_may_stand_below_its_key(value: str) -> None:
    """Also one with a colon in it: only what is followed by a colon is the next key."""
    text = f'{{\n "a":\n  {value},\n "b": 2\n}}'
    assert read_document(text, "json").require_document().data == json.loads(text)
