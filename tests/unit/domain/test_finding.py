"""Findings: the one shape in which every mistake of a definition is reported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.finding import DefinitionRefused, Finding, format_path, has_errors, parse_path, sort_findings


def make_finding(**fields: object) -> Finding:
    return Finding(**{"code": "finding-duplicate-key", "message": "said twice", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("steps", 3, "branches", "if"), "steps[3].branches.if"),
        ((0, "a b", 'c"d\\e'), '[0]["a b"]["c\\"d\\\\e"]'),
        (("имя", "9"), '["имя"]["9"]'),
    ],
)
def test_a_path_is_written_as_an_author_would_write_it(path: tuple[str | int, ...], text: str) -> None:
    assert format_path(path) == text
    assert parse_path(text) == path


@given(st.lists(st.integers(0, 99) | st.text(max_size=20), max_size=8).map(tuple))
def test_every_short_path_reads_back(path: tuple[str | int, ...]) -> None:
    assert parse_path(format_path(path)) == path


def test_a_path_of_ten_thousand_keys_is_cut() -> None:
    assert len(format_path(["key"] * 10_000)) < 600
    assert len(format_path(["k" * 10_000])) < 100


@pytest.mark.parametrize("text", ["a b", "[", "a..b", '["', "[x]"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no path"):
        parse_path(text)


def test_the_sentence_for_people_gets_the_place_and_its_own_arguments() -> None:
    finding = make_finding(path="steps[1]", line=4, column=3, step="ask", suggestion="next", args={"key": "nxt"})
    assert finding.notice.args == {"path": "steps[1]", "line": 4, "column": 3, "step": "ask", "suggestion": "next", "key": "nxt"}
    assert finding.to_json()["args"] == {"key": "nxt"}
    assert str(finding) == "4:3 error steps[1]: said twice (did you mean next?)"


def test_only_errors_keep_a_definition_from_being_used() -> None:
    assert not has_errors([make_finding(severity="warning"), make_finding(severity="info")])
    assert has_errors([make_finding(severity="info"), make_finding()])


def test_findings_stand_in_the_order_of_the_text() -> None:
    ordered = [
        make_finding(),
        make_finding(line=1, column=9),
        make_finding(line=2, column=1, path="a"),
        make_finding(line=2, column=1, path="b"),
    ]
    assert sort_findings(reversed(ordered)) == ordered


def test_a_refusal_names_its_first_findings_and_keeps_all() -> None:
    refused = DefinitionRefused([make_finding(path=f"k{number}") for number in range(9)])
    assert len(refused.findings) == 9
    assert "k4" in str(refused)
    assert "k5" not in str(refused)
