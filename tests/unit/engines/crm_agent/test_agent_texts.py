"""The prompt's data files: every worked example is an answer that the agent reads and the gate knows; every method in front is offered."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from bitrix.client.batch import find_references as find_results
from bot.composition.installation import load_rules
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from engines.crm_agent.core.lists import NEXT
from engines.crm_agent.core.planned_steps import find_references, replace_references
from engines.crm_agent.core.prompt import build_system_message
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.crm_agent.agent_texts import AgentTexts, Example, load_agent_texts
from orchestrator.engines.crm_agent.blocks import CHANGE
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.modes import format_methods, is_offered
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.language.date_format import When
from orchestrator.language.date_parser import parse_when
from orchestrator.language.money_parser import parse_sum
from orchestrator.language.period_scope import Period
from orchestrator.language.periods import parse_period

TEXTS = load_agent_texts()
POLICY, CATALOGUE = load_rules(Settings(_env_file=None), load_installed_engines())
ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
KINDS = {"deal", "lead", "contact", "company", "task", "user", "reminder", "stage", "category", "sum", "field", "option"}
EXAMPLES = [pytest.param(one, id=f"{number:02}") for number, one in enumerate(TEXTS.examples, start=1)]


def list_strings(value: Any) -> Iterator[str]:
    """Every string in a step's parameters, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from list_strings(key)
            yield from list_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from list_strings(item)


def is_understood(words: str) -> bool:
    """Whether the words of a date are one day, moment or period."""
    when = parse_when(words, now=NOW, zone="Europe/Moscow", purpose="deadline", past="meant")
    return isinstance(when, When) or isinstance(parse_period(words, now=NOW, zone="Europe/Moscow", look="back", side="whole"), Period)


@pytest.mark.req("S004-2")
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_an_answer_that_the_agent_reads(example: Example) -> None:
    """Its blocks are read; each step has a comment, and says nothing that code would refuse as unknown."""
    blocks = example.blocks
    assert blocks.thought
    assert blocks.assistant or blocks.steps[-1].last
    for step in blocks.steps:
        assert step.comment
        assert step.method in {"reminder.add", CHANGE} or is_offered(CATALOGUE.find(step.method), POLICY, "full")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_references_of_an_example_have_a_meaning(example: Example) -> None:
    """Dates and sums are understood, kinds exist, @created names an earlier step; nothing that begins like a reference is left."""
    for number, step in enumerate(example.blocks.steps, start=1):
        known = set(find_references(step.params))
        for text in list_strings(step.params):
            kind, _, words = text.lstrip("<>=!%")[1:].partition(":")
            if not text.lstrip("<>=!%").startswith("@"):
                continue
            if kind == "date":
                assert is_understood(words), text
            elif kind == "created":
                assert 0 < int(words) < number, text
            else:
                assert kind in KINDS | {"me", "current"}, text
                assert text.lstrip("<>=!%") in known, text
                assert kind != "sum" or parse_sum(words, locale="ru").amount


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_gate_knows_every_call_of_an_example(example: Example) -> None:
    """With its references replaced by plausible values, each step is one exact call: no unknown parameter, none missing."""
    values: dict[str, Any] = {
        "date": "2026-11-27T10:00:00+03:00", "stage": "EXECUTING", "option": "79", "field": "UF_CRM_PLACE",
        "reminder": ("0" * 32),
    }  # fmt: skip
    for step in example.blocks.steps:
        if step.method in {NEXT, CHANGE}:  # the engine puts the call of the list or card in its place
            continue
        texts = {text for text in list_strings(step.params) if text.startswith("@")}
        params = replace_references(step.params, {text: values.get(text[1:].partition(":")[0], 481) for text in texts})
        call = normalize(
            Effect(method=step.method, params=params, slot="t/1/1"), catalogue=CATALOGUE, portal="p", actor=ANNA, effect_id="e"
        )
        assert isinstance(call, Call), call
        assert not find_results(call.params)


def test_the_examples_show_what_the_format_can_do() -> None:
    """A period and its list, names, a new record's number, what waits changed, no step at all, and where a plan is the last word."""
    text = TEXTS.examples_text
    assert 8 <= len(TEXTS.examples) <= 16
    for part in ("@date:", "[[list 1]]", "@stage:", "@created:1", "card.change", '"last":true', "\n[]\n"):
        assert part in text, part
    assert len(text) < 4_500
    assert not re.search(r"https?://|\+7|token", text)


@pytest.mark.parametrize("mode", ["shadow", "canary", "full"])
def test_sixty_methods_in_front_and_most_others_by_their_names(mode: Any) -> None:
    """Each offered method stands in the prompt once, with a line of its own or in that of its group, or is left to method.help."""
    offered = {method.name for method in CATALOGUE if is_offered(method, POLICY, mode)}
    lines = format_methods(CATALOGUE, POLICY, mode, TEXTS.methods.front, unnamed=TEXTS.methods.unnamed).split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("Others by group"))
    front = [re.split(r"[!:(\s]", line)[0] for line in lines[1:at]]
    rest = [
        f"{group}.{name}" for line in lines[at + 1 :] for group, _, names in [line.partition(": ")] for name in names.split(", ") if name
    ]
    alone = [name for line in lines[at + 1 :] if ": " not in line for name in line.split(", ")]
    left_out = {name for name in offered for pattern in TEXTS.methods.unnamed if name not in front and fnmatchcase(name, pattern)}
    assert sorted([*front, *rest, *alone]) == sorted(offered - left_out)
    assert mode == "canary" or 50 <= len(front) <= 65
    assert len("\n".join(lines)) < 7_000


@pytest.mark.parametrize("mode", ["shadow", "canary", "full"])
def test_the_prompt_of_a_manager_fits(mode: Any) -> None:
    """Its beginning is the same for all people of a role on a portal: every call pays for it or reads it from a cache."""
    methods = format_methods(CATALOGUE, POLICY, mode, TEXTS.methods.front, unnamed=TEXTS.methods.unnamed, sees_all=False)
    head = build_system_message(TEXTS.constitution, TEXTS.protocol, methods, mode, TEXTS.examples_text)
    assert len(head["content"]) <= 21_000


def test_every_pattern_of_unnamed_methods_means_one() -> None:
    """One that is misspelt would put its methods back into the prompt without a word."""
    names = [method.name for method in CATALOGUE]
    assert [pattern for pattern in TEXTS.methods.unnamed if not any(fnmatchcase(name, pattern) for name in names)] == []


def test_every_method_in_front_is_one_of_the_catalogue() -> None:
    """A name that is misspelt would vanish from the prompt without a word."""
    wrong = [name for name in TEXTS.methods.front if CATALOGUE.find(name) is None or CATALOGUE.find(name).name != name]
    assert wrong == []


@pytest.mark.parametrize(("name", "content", "said"), [
    ("methods.yaml", "front: [", "methods.yaml"),
    ("methods.yaml", "front: {}\nsamples: {}\nmore: 1", "more"),
    ("examples/x.yaml", "person: а\nanswer: просто слова ACTION", "x.yaml: the answer cannot be read"),
    ("examples/x.yaml", "answer: x", "person"),
    ("constitution.md", None, "constitution.md"),
])  # fmt: skip
def test_a_faulty_file_is_named(tmp_path: Path, name: str, content: str | None, said: str) -> None:
    """At the start of the program, not in the first turn."""
    (tmp_path / "examples").mkdir()
    for file, text in {
        "constitution.md": "C",
        "protocol.md": "P",
        "numbers.md": "N",
        "many.md": "M",
        "methods.yaml": "front: {}\nsamples: {}",
    }.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    assert isinstance(load_agent_texts(tmp_path), AgentTexts)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=re.escape(said)):
        load_agent_texts(tmp_path)


@pytest.mark.req("S004-8")
@pytest.mark.parametrize("mode", ["canary", "full"])
def test_who_sees_only_own_records_is_offered_nothing_that_is_always_refused_to_them(mode: Any) -> None:
    """Methods whose owners cannot be checked are refused to a manager, so the model does not try them; who sees all is offered them."""
    refused = {one.name for one in CATALOGUE if one.owner == "unscoped" and is_offered(one, POLICY, mode)}
    assert "crm.duplicate.findbycomm" in refused
    assert not {one.name for one in CATALOGUE if is_offered(one, POLICY, mode, sees_all=False)} & refused
    text = format_methods(CATALOGUE, POLICY, mode, TEXTS.methods.front, sees_all=False)
    assert "duplicate" not in text
    assert "\ncrm.deal.get (id)" in text
    assert len(text) < len(format_methods(CATALOGUE, POLICY, mode, TEXTS.methods.front))
