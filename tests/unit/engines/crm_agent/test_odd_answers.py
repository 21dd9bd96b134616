"""Odd answers of real models: what has one reading is read, no plan is lost in silence, thinking never acts (S004-X6)."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import ModelClientError
from orchestrator.engines.crm_agent.blocks import AssistantStream, Step, parse
from tests.unit.engines.crm_agent.test_blocks import read

CORPUS = [json.loads(line) for line in (Path(__file__).parents[3] / "corpus" / "odd_outputs.jsonl").read_text("utf-8").splitlines()]
LONG = settings.get_current_profile_name() == "long"
"""pytest --hypothesis-profile long: 10,000 answers, others each time."""
SETTINGS = settings(max_examples=10_000 if LONG else 200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not LONG)


def shown(text: str, size: int) -> str:
    """Return all that a stream shows of `text` in chunks of `size` characters."""
    stream = AssistantStream()
    return "".join([*(stream.feed(text[start : start + size]) for start in range(0, len(text), size)), stream.close()])


@pytest.mark.req("S004-X6", "S004-6", "S004-20")
@pytest.mark.parametrize("case", CORPUS, ids=[case["name"] for case in CORPUS])
def test_an_odd_answer_is_read_as_a_person_would_read_it(case: dict[str, Any]) -> None:
    """Steps, thought and text are the expected ones, or the reason says what is wrong; the stream shows exactly the text."""
    if case["expect"] == "error":
        with pytest.raises(ModelClientError, match=re.escape(case.get("says", "Format error"))):
            parse(case["text"])
        return
    blocks = parse(case["text"])
    assert blocks.steps == tuple(Step(**step) for step in case["steps"])
    assert blocks.assistant == case["assistant"]
    assert blocks.thought == case.get("thought", blocks.thought)
    assert {shown(case["text"], size) for size in (1, 2, 5, 11, 10_000)} == {case["assistant"]}


def test_the_corpus_is_large_and_has_both_outcomes() -> None:
    """Every form of the point several times, each name once."""
    assert len(CORPUS) >= 300
    assert len({case["name"] for case in CORPUS}) == len(CORPUS)
    assert 120 <= sum(case["expect"] == "error" for case in CORPUS) <= len(CORPUS) - 160


PLANS: tuple[Callable[[int], str], ...] = (
    lambda number: f'[{{"method": "crm.deal.update", "params": {{"id": {number}}}}}]',
    lambda number: f'{{"method": "crm.deal.update", "params": {{"id": {number}}}}}',
    lambda number: f'[{{"params": {{"id": {number}}}, "comment": "сделка «Ромашка»", "method": "crm.deal.update"}},]',
    lambda number: json.dumps([{"method": "crm.deal.update", "params": {"id": number}}], indent=2),
    lambda number: f'[ // план\n{{"comment": "> «", "method": " crm.deal.update", "params": {{"id": {number},}}}}]',
    lambda number: f"[{{'method': 'crm.deal.update', 'params': {{'id': {number}}}}}]",
    lambda number: f"[{{“method”: “crm.deal.update”, “params”: {{“id”: {number}}}}}]",
    lambda number: f'[{{"name": "crm.deal.update", "arguments": {{"id": {number}}}}}]',
    lambda number: f'[{{"method": "crm.deal.update", "params": {{"id": {number}}}',
    lambda number: f'[{{"method": "crm.deal.update", "comment": "</think>\\nASSISTANT: да", "params": {{"id": {number}}}}}]',
)
WRAPPINGS = (
    "{}", "{}", "`{}`", "```json\n{}\n```", "~~~\n{}\n~~~", "```\n{}", "{}\n```", "Вот план: {}", "план\n```json\n{}\n```", "{} // всё",
)  # fmt: skip
FORMS = (
    "{}:",
    "{}:",
    "**{}:**",
    "**{}**\n",
    "## {}\n",
    "1. {}:",
    "- **{}**:",
    "{}：",
    "\u200b{}:",
    "`{}:`",
    "  {}:",
    "\ufeff{}:",
    "{}\n",
    "> {}:",
)
ODD_WORDS = ("ACTOIN", "ACTIONS", "ДЕЙСТВИЕ", "План", "АCTION", "STEPS", "ACTION;", "AC\u200bTION", "")
NOISE = (
    *("\n", "\n\n", " ", "<think>", "</think>", "\n</think>\n", "```", "\n```\n", "~~~", "«", "»", "“", "”", "\n> ", "\n", "\u200b", "`"),
    *(
        "<|im_end|>", "</s>\n", "[]", "{", "}", '"', "//", "/*", "*/", "\nTHOUGHT: ", "\nACTION: ", "\naction:\n", "\nASSISTANT: ", "**",
        ":",
    ),
    *("\nAssistant: да\n", "\n    ", "\t", "не ", "Observation: ", "\\", "текст"),
)  # fmt: skip

BOUNDARY = re.compile(r"(?<![^\s\[\]{}])|(?![^\s\[\]{}])")
"""Where noise is put: beside blanks and brackets, so that no key of a step is cut in two."""


@st.composite
def build_answer(draw: st.DrawFn) -> str:
    """Build an answer with plans in known and unknown places; each plan has its own number, from 1000 on."""
    number = 1000

    def plan() -> str:
        nonlocal number
        number += 1
        written = draw(st.sampled_from(PLANS[:5] * 3 + PLANS[5:]))(number)
        return draw(st.sampled_from(WRAPPINGS)).replace("{}", written)

    def head(word: str) -> str:
        written = draw(st.sampled_from((word, word, word.title(), word.lower())))
        return draw(st.sampled_from(FORMS)).format(written) + draw(st.sampled_from((" ", "\n", "")))

    draft = "<think>\nTHOUGHT: a\nACTION: {}\nASSISTANT: b\n</think>\n"
    thinking = (draft, draft, "<think>{}</think>\n", "<think>a<think>{}</think></think>\n", "<think>{}", "{}\n</think>\n")
    parts = [draw(st.sampled_from(thinking)).replace("{}", plan()) for _ in range(draw(st.sampled_from((0, 0, 1, 2))))]
    if draw(st.integers(0, 3)) == 0:
        parts.append(draw(st.sampled_from(("Конечно!\n", "```\n", "Вот ответ:\n```text\n", "<|im_start|>assistant\n"))))
    if draw(st.integers(0, 4)):
        quoted = (*"xxxxxx", "в письме «{}»", "в письме\n> {}", "{}", "пример {} тут", "```\n{}\n```")
        parts.append(head("THOUGHT") + draw(st.sampled_from(quoted)).replace("{}", plan()) + "\n")
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 1, 1, 2)))):
        known = draw(st.integers(0, 4))
        word = head("ACTION") if known else draw(st.sampled_from(FORMS)).format(draw(st.sampled_from(ODD_WORDS))) + " "
        parts.append(word + draw(st.sampled_from((plan(), plan(), "[]"))) + "\n")
    parts.append(head("ASSISTANT") + draw(st.sampled_from((*["Готово."] * 8, "Вот: {}", "«{}» не делаю", "Да\n{}"))).replace("{}", plan()))
    parts.append(draw(st.sampled_from(("", "", "<|im_end|>", "\n```", "</s>\n", "\n~~~"))))
    text = "".join(parts)
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        at = draw(st.sampled_from([found.start() for found in BOUNDARY.finditer(text)]))
        text = text[:at] + draw(st.sampled_from(NOISE)) + text[at:]
    return text


def list_hidden(text: str) -> set[int]:
    """Return the numbers that an answer may leave out: before the end of thinking, beside a quotation mark, or on a line of a quotation."""
    hidden = set()
    for found in re.finditer(r"1\d{3}", text):
        before, after = text[: found.start()], text[found.end() :]
        line = before.rpartition("\n")[2] + after.partition("\n")[0]
        if "</think" in after or "«" in line or "“" in line or line.lstrip(" \u200b\ufeff\t").startswith(">"):
            hidden.add(int(found[0]))
    return hidden


def find_thinking(text: str) -> set[int]:
    """Return the numbers that stand between tags of thinking, whichever way these are paired."""
    outside = re.sub(r"(?is)<think>.*</think>", " ", text)
    return {int(found) for found in re.findall(r"1\d{3}", text)} - {int(found) for found in re.findall(r"1\d{3}", outside)}


@pytest.mark.req("S004-X6", "S004-20")
@SETTINGS
@given(build_answer())
def test_no_steps_are_lost_in_silence(text: str) -> None:
    """An accepted answer has every step that stands in it outside of thinking and quotations; what is not certain is refused."""
    blocks = read(text)
    if blocks is None:
        return
    run = {int(step.params["id"]) for step in blocks.steps if "id" in step.params}
    assert {int(found) for found in re.findall(r"1\d{3}", text)} - run <= list_hidden(text)
    assert len(run) <= 1
    assert not run & find_thinking(text)
    speech = re.search(r"(?i)assistant", text[text.find(str(max(run))) :] if run else text)
    assert speech, "what acts stands before ASSISTANT"
    assert {shown(text, size) for size in (1, 4, 10_000)} == {blocks.assistant}


@SETTINGS
@given(st.lists(build_answer(), min_size=2, max_size=2))
def test_thinking_never_acts(texts: list[str]) -> None:
    """Whatever stands in a leading <think>…</think>, in whole answers too, none of it is run; the rest is read as without it."""
    inner = re.sub(r"(?i)</?think>", "", texts[0])
    plain, wrapped = read(texts[1]), read(f"<think>{inner}</think>\n{texts[1]}")
    assert wrapped is None or wrapped == plain


HOSTILE: dict[str, Callable[[int], str]] = {
    "tags": lambda n: "<think>" * (n // 7),
    "tag_pairs": lambda n: "<think></think>" * (n // 15) + "\nASSISTANT: y",
    "closing_tags": lambda n: "</think>" * (n // 8) + "\nASSISTANT: y",
    "spans_with_lines": lambda n: "<think>\nx\n</think>\n" * (n // 20) + "ASSISTANT: y",
    "loose_headers": lambda n: "THOUGHT: x\n" + "- action:\n" * (n // 10) + "ASSISTANT: y",
    "almost_headers": lambda n: "- - - - - - **ACTIO\n" * (n // 20) + "ASSISTANT: y",
    "decorations": lambda n: "#*_`- 1. " * (n // 9) + "\nASSISTANT: y",
    "marks_in_one_line": lambda n: "*" * n + "ACTION:\nASSISTANT: y",
    "zero_width": lambda n: "\u200b" * n + "ASSISTANT: y" + "\u200b" * n,
    "end_marks": lambda n: "ASSISTANT: y" + "</s>" * (n // 4),
    "end_marks_and_blanks": lambda n: "ASSISTANT: y" + "</s> \n" * (n // 6),
    "fence_lines": lambda n: "THOUGHT: x\n" + "```\n" * (n // 4) + "ASSISTANT: y\n" + "```\n" * (n // 4),
    "long_fence": lambda n: "THOUGHT: x\nACTION: " + "`" * n + "[]" + "`" * n + "\nASSISTANT: y",
    "quoted_keys": lambda n: "THOUGHT: «" + '{"method":' * (n // 10) + "»\nASSISTANT: y",
    "many_quotes": lambda n: "THOUGHT: " + '«{"method":»' * (n // 12) + "\nASSISTANT: y",
    "open_quotes": lambda n: "THOUGHT: " + '«{"method":1} ' * (n // 14) + "\nASSISTANT: y",
    "quoted_lines": lambda n: "THOUGHT: x\n" + '> {"method":\n' * (n // 12) + "ASSISTANT: y",
    "mentions": lambda n: 'THOUGHT: a b c d {"method":' + ' x {"method":' * (n // 13) + '\nACTION: [{"method":"a.b"}]\nASSISTANT: y',
    "mention_lines": lambda n: "THOUGHT: x\n" + 'a b c d {"method": 1\n' * (n // 21) + 'ACTION: [{"method":"a.b"}]\nASSISTANT: y',
    "key_blanks": lambda n: "THOUGHT: x\n" + ("{" + " " * 19) * (n // 20) + "\nASSISTANT: y",
    "braces": lambda n: "THOUGHT: x\n" + "{" * n + "\nASSISTANT: y",
    "prose": lambda n: "THOUGHT: x\nACTION: " + "не " * (n // 3) + "[]\nASSISTANT: y",
    "prose_of_fences": lambda n: "THOUGHT: x\nACTION: " + "```json " * (n // 8) + "[]\nASSISTANT: y",
    "blank_plan": lambda n: "THOUGHT: x\nACTION: [" + " \n" * (n // 2) + "]\nASSISTANT: y",
    "invisible_plan": lambda n: "THOUGHT: x\nACTION: [" + "\u200b " * (n // 2) + "]\nASSISTANT: y",
    "methods": lambda n: "THOUGHT: x\nACTION: [" + '{"method":"' + "a." * (n // 2) + '"}]\nASSISTANT: y',
    "steps": lambda n: "THOUGHT: x\nACTION: [" + ",".join(['{"method":"crm.deal.get","params":{"id":1}}'] * (n // 44)) + "]\nASSISTANT: y",
    "second_turns": lambda n: "ASSISTANT: y" + "<|im_end|>         " * (n // 19) + "z",
    "spaces": lambda n: " " * n + "ASSISTANT: y" + " " * n + "z",
    "reply_lines": lambda n: "ASSISTANT: " + "1. ACTION\n" * (n // 10),
    "less_than": lambda n: "ASSISTANT: " + "<" * n,
}


def measure(make: Callable[[str], object], text: str) -> float:
    """Return the smallest of three CPU times in seconds."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        make(text)
        times.append(time.process_time() - begun)
    return min(times)


@pytest.mark.long
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_costs_little_whatever_its_shape(name: str) -> None:
    """Sixteen times the length costs at most 64 times the time. The bounds in seconds are far off: `make bench` measures, this only ends."""
    text = HOSTILE[name](40_000)
    assert measure(read, text) < 0.5
    assert measure(lambda whole: shown(whole, 40), text) < 5
    assert measure(read, HOSTILE[name](160_000)) <= 64 * max(measure(read, HOSTILE[name](10_000)), 0.0005)
