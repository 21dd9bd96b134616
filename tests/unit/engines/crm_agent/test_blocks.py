"""The reply grammar: what is read, what is mended, what is refused (S004-6, S004-20, S004-22)."""

import json
import re
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.blocks import AssistantStream, Blocks, Step, parse
from orchestrator.engines.crm_agent.grammar import find_headers, match_header, may_become_header
from orchestrator.engines.crm_agent.lenient_json import MAX_TOKENS

CORPUS = [json.loads(line) for line in (Path(__file__).parents[3] / "corpus" / "model_outputs.jsonl").read_text("utf-8").splitlines()]
ACCEPTED = [case["text"] for case in CORPUS if case["expect"] == "ok"]


def read(text: str) -> Blocks | None:
    """Return the blocks, or None for a refused answer."""
    try:
        return parse(text)
    except ModelClientError:
        return None


def shown(chunks: list[str]) -> str:
    """Return all that a stream shows of `chunks`."""
    stream = AssistantStream()
    return "".join([*(stream.feed(chunk) for chunk in chunks), stream.close()])


def answer(action: str) -> str:
    return f"THOUGHT: думаю\nACTION: {action}\nASSISTANT: готово"


def plan(params: str) -> str:
    return answer('[{"method": "m.x", "params": {"value": ' + params + "}}]")


def test_corpus_is_large_and_has_both_languages_and_both_outcomes() -> None:
    """The corpus stays a corpus: at least 150 cases, each name once."""
    assert len(CORPUS) >= 150
    assert len({case["name"] for case in CORPUS}) == len(CORPUS)
    assert len(ACCEPTED) >= 60


@pytest.mark.req("S004-6", "S004-20", "S004-22", "S004-23")
@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_corpus(case: dict[str, Any]) -> None:
    """Each stored model answer is read exactly as expected, or refused with a reason that says where and how to mend."""
    if case["expect"] == "ok":
        blocks = parse(case["text"])
        assert blocks.steps == tuple(Step(**step) for step in case["steps"])
        assert blocks.assistant == case.get("assistant", blocks.assistant) != ""
        return
    with pytest.raises(ModelClientError) as caught:
        parse(case["text"])
    assert case.get("says", "") in caught.value.reason
    assert caught.value.reason.startswith("Format error ")
    assert len(caught.value.reason) < 400
    assert caught.value.reason.endswith(".")


def test_error_names_line_and_column() -> None:
    """The position in the reason is the one in the text that the model wrote."""
    with pytest.raises(ModelClientError, match="line 3, column 10: 'NaN'"):
        parse('THOUGHT: x\nACTION:\n[{"sum": NaN}]\nASSISTANT: y')


def test_a_plan_of_endless_parts_is_refused() -> None:
    """The number of JSON parts is bounded, so that brackets and commas cannot buy time."""
    parse(plan("[" + "1," * (MAX_TOKENS // 2 - 20) + "1]"))
    with pytest.raises(ModelClientError, match="parts"):
        parse(plan("[" + "1," * (MAX_TOKENS // 2) + "1]"))


WORDS = ["THOUGHT", "ACTION", "ASSISTANT", "OBSERVATION", "Final Answer"]
PIECES = st.sampled_from(
    [word + ":" for word in WORDS]
    + [f"**{word}:**" for word in WORDS]
    + ["\n", "\r\n", "\n\n", "# ", "## ", "*", "_", " ", ":", "```", "```json\n", "\ufeff", "\u200b", "\x00", "\ud800"]
    + ["[", "]", "{", "}", ",", '"', "'", "\\", "\\u", "//", "/*", "*/", "1e999", "-", "0", "9" * 30, "NaN", "null"]
    + ['{"method": "crm.deal.get"}', '"params": {}', '"confirmed": true', "текст", "ok", "\t", "\u2028", "\x85", "\r"],
)
SOUP = st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join)
SECTION = st.lists(PIECES | st.text(max_size=6), max_size=12).map("".join)
FRAMED = st.builds("THOUGHT: {}\nACTION: {}\nASSISTANT: {}".format, SECTION, SECTION, SECTION)
SPOKEN = st.builds("THOUGHT: x{}\nASSISTANT: {}".format, SECTION, SECTION)
FENCED = st.builds("```\nTHOUGHT: x\nASSISTANT: {}\n```{}".format, SECTION, st.sampled_from(["", "\n", " \n\n"]))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(SOUP | FRAMED | SPOKEN | FENCED | st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text whatever raises anything but ModelClientError, and what is accepted is well-formed."""
    blocks = read(text)
    if blocks is None:
        return
    assert blocks.thought == blocks.thought.strip()
    assert blocks.assistant == blocks.assistant.strip() != ""
    for step in blocks.steps:
        assert step.method.strip()
        assert isinstance(step.confirmed, bool)
        json.dumps(step.params, allow_nan=False).encode()


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ACCEPTED), st.data())
def test_a_damaged_answer_never_gains_a_step(text: str, data: st.DataObject) -> None:
    """Cutting an accepted answer anywhere never yields a step with other values: a plan is never completed by guessing."""
    whole = parse(text).steps
    cut = read(text[: data.draw(st.integers(0, len(text)))])
    assert cut is None or cut.steps in ((), whole)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e15, 1e15) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(value=JSON_VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_every_clean_json_value_keeps_its_value(*, value: object, ascii_only: bool, indent: int | None) -> None:
    """Tidying never changes a value that the standard reader accepts, however it is written."""
    written = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    blocks = read(plan(written))
    if "\\u0000" in written or "\\ud" in written or any(ord(char) < 32 for char in written):
        assert blocks is None or blocks.steps[0].params == {"value": json.loads(written)}
        return
    assert blocks is not None
    assert blocks.steps[0].params == {"value": json.loads(written)}


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ACCEPTED) | SPOKEN | FENCED | FRAMED, st.data())
@example("THOUGHT: x\nASSISTANT: Варианты:\nA\nACTION", None)
def test_stream_shows_what_parse_reads(text: str, data: st.DataObject | None) -> None:
    """However an accepted answer is cut into chunks, the stream shows its ASSISTANT text and nothing else."""
    blocks = read(text)
    if blocks is None:
        return
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12))) if data else range(len(text))
    edges = [0, *cuts, len(text)]
    chunks = [text[a:b] for a, b in pairwise(edges)]
    assert shown(chunks) == blocks.assistant
    assert shown(list(text)) == blocks.assistant


@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_stream_never_shows_thought_plan_or_header(case: dict[str, Any]) -> None:
    """Even of a refused answer nothing is shown that stands before ASSISTANT: or from a later header on."""
    whole = shown([case["text"]])
    assert shown(list(case["text"])) == whole
    tail = re.split("(?i)assistant", case["text"], maxsplit=1)[-1]
    assert whole.strip() in tail
    assert not any(header.plain for header in find_headers(whole, 0, len(whole)))


def test_stream_holds_back_a_possible_header_only() -> None:
    """Text flows at once, a line that may become a header waits, and after the header nothing flows."""
    stream = AssistantStream()
    pieces = ["THOUGHT: secret\nASSISTANT: Го", "тово.\nAC", "T нет\n**AC", "TION:** [1]\nещё", "!"]
    assert [stream.feed(piece) for piece in pieces] == ["Го", "тово.", "\nACT нет", "", ""]
    assert stream.close() == ""


@pytest.mark.parametrize("header", ["OBSERVATION:", "**Final Answer:**", "THOUGHT:"])
def test_stream_shows_nothing_after_a_header_that_will_be_refused(header: str) -> None:
    """An answer that is already broken before its ASSISTANT block shows nothing at all."""
    assert shown([f"THOUGHT: x\n{header} y\nASSISTANT: z"]) == ""


@pytest.mark.parametrize("form", ["{}:", "**{}:**", "**{}**", "1. **{}**:", "- {} :", "## {}", "`{}:`", "\u200b{}\uff1a", "  __{}__: "])
@pytest.mark.parametrize("word", ["THOUGHT", "Action", "assistant"])
def test_every_beginning_of_a_header_may_become_one(form: str, word: str) -> None:
    """The stream holds back each of them, so that no header is ever shown as text."""
    line = form.format(word)
    assert match_header(line, 0, len(line))
    assert all(may_become_header(line[:size]) or match_header(line[:size], 0, size) for size in range(len(line)))


ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: answer("[" * n),
    "empty_arrays": lambda n: answer("[" + "[]," * (n // 3) + "[]]"),
    "integers": lambda n: answer("[" + "1," * (n // 2) + "1]"),
    "quotes": lambda n: answer('["' + '"' * n),
    "escapes": lambda n: answer('["' + '\\"' * (n // 2)),
    "unclosed_comments": lambda n: answer("[" + "/*" * (n // 2)),
    "comments": lambda n: answer("[" + "/**/" * (n // 4) + "]"),
    "commas": lambda n: answer("[1" + "," * n + "]"),
    "digits": lambda n: answer("[" + "9" * n + "]"),
    "doubled_keys": lambda n: plan("{" + ",".join(f'"{i}":1' for i in range(n // 10)) + ',"1":1}'),
    "surrogate_escapes": lambda n: answer("[" + '"\\ud83d\\ude00",' * (n // 15) + "1]"),
    "hashes": lambda n: "THOUGHT: x\n" + "#" * n + "\nASSISTANT: y",
    "stars": lambda n: "THOUGHT: x\n" + "*\n" * (n // 2) + "ASSISTANT: y",
    "blank_lines": lambda n: "THOUGHT: x\n" + "\n" * n + "ASSISTANT: y",
    "fences": lambda n: "```\nTHOUGHT: x\nASSISTANT: y" + "\n```" * (n // 4),
    "spaced_fences": lambda n: "```\nTHOUGHT: x\nASSISTANT: y" + ("\n```" + " " * 30) * (n // 34) + "x",
    "almost_headers": lambda n: "THOUGHT: x\n" + "ACTION\t" * (n // 7) + "\nASSISTANT: y",
    "plan": lambda n: answer("[" + ",".join(['{"method":"crm.deal.get","params":{"id":1}}'] * (n // 44)) + "]"),
}


def events_of(text: str) -> int:
    """Count the calls that the interpreter makes while reading `text`."""
    count = 0

    def profile(_frame: object, _event: str, _arg: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(profile)
    try:
        read(text)
    finally:
        sys.setprofile(None)
    return count


def cpu_of(text: str) -> float:
    """Return the smallest of three CPU times, for the work inside the pattern matcher is seen by no counter."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        read(text)
        times.append(time.process_time() - begun)
    return min(times)


@pytest.mark.long
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_work_grows_with_the_length_and_not_with_its_square(name: str) -> None:
    """Twice the text is at most about twice the calls; sixteen times the text is far from 256 times the CPU."""
    make = ADVERSARIAL[name]
    assert events_of(make(40_000)) <= 2.2 * events_of(make(20_000)) + 200
    assert cpu_of(make(160_000)) <= 64 * max(cpu_of(make(10_000)), 0.0005)


@pytest.mark.parametrize(("last", "is_read"), [("true", True), ("false", False)])
def test_only_a_last_step_may_come_without_words(last: str, *, is_read: bool) -> None:
    """Code tells what came of it; before any other step the person would read nothing."""
    text = f'THOUGHT: x\nACTION:\n[{{"method":"report","params":{{"of":"deals"}},"comment":"c","last":{last}}}]\nASSISTANT:\n'
    assert (read(text) is not None) is is_read
