"""Every sentence exists in both languages, and every code of the program has one."""

import ast
import re
import string
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from fluent.syntax import FluentParser
from fluent.syntax import ast as ftl
from fluent.syntax.visitor import Visitor

from bot.console.app import Trouble
from bot.console.canvas import _WORDS as CANVAS_WORDS
from bot.console.page_list import PAGES
from bot.i18n.translate import Locale, Translator
from bot.plugins.loading import list_texts
from bot.telegram.outgoing.progress import BEGUN, OVER, RUN_OVER, RUN_SHOWS, STEP
from orchestrator.domain.outputs import Notice
from orchestrator.domain.shelf import NoteCode
from orchestrator.gate.call.reasons import SENTENCES
from orchestrator.replies.code_notes import FORWARD_REQUESTS
from orchestrator.runtime.commands import COMMANDS
from state.clock import format_iso
from state.events.calls import OutcomeReconciled
from tests.unit.bot.i18n.message_ids import list_message_ids

ROOT = Path(__file__).parents[4]
LOCALES: tuple[Locale, ...] = ("ru", "en")
SOURCES = sorted(path for ring in ("bot", "orchestrator", "engines", "examples") for path in (ROOT / ring).rglob("*.py"))
SOURCES = [path for path in SOURCES if "checklist_engine" not in path.parts]  # a package of its own, with sentences of its own
BUILT = {
    "portal-error-": ("access", "missing", "method", "value", "required", "busy", "fault", "declined"),
    "which-": ("deal", "lead", "contact", "company", "task"),
    "recovered-": tuple(verdict.replace("_", "-") for verdict in get_args(OutcomeReconciled.model_fields["verdict"].annotation)),
    "card-already-": ("approved", "denied", "expired", "superseded", "executed", "refused", "unknown"),
    "menu-": (*COMMANDS, "freeze", "unfreeze"),
    "button-make-": FORWARD_REQUESTS,
    "run-answer-": ("contact", "photo", "document"),
    "run-doubt-": ("answer", "request"),
    "docs-": ("exists", "changed"),
    "console-canvas-": CANVAS_WORDS,
    "console-editor-view-": ("chart", "text", "both"),
    "docs-read-": ("sheets", "pages", "slides", "rows"),
    "docs-note-": tuple(code.replace("_", "-") for code in get_args(NoteCode)),
    "docs-readers-": ("nobody", "admin", "lead", "manager", "admin-lead", "admin-manager", "lead-manager", "admin-lead-manager"),
    "report-how-": ("definition", "period", "compared", "filter"),
    "start-": ("deal", "lead", "contact", "company", "task"),
    "console-": tuple(spec.name for spec in PAGES),
    "console-login-": get_args(Trouble),
    "step-": ("running", "done", "waiting", "refused", "unknown", "planned"),
}
"""Codes that are put together while the program runs: prefix -> the endings there are."""
FAMILY = re.compile(
    r"(toast|card|finding|gate|which|button|menu|example|recovered|reason|list|planned|shadow|today|only|too|choice|run|runs)-[a-z]+(-[a-z]+)*"
)


@cache
def _nodes() -> list[tuple[str, ast.Call | ast.Constant]]:
    """Every call and every constant of the program with its place."""
    return [
        (f"{place}:{node.lineno}", node)
        for place, path in ((path.relative_to(ROOT).as_posix(), path) for path in SOURCES)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]


def _calls() -> Iterator[tuple[str, ast.Call]]:
    return ((place, node) for place, node in _nodes() if isinstance(node, ast.Call))


def _named(node: ast.Call) -> ast.expr | None:
    """The expression that says the code: `Notice(code=…)` or `….say(…)` of a translator."""
    if isinstance(node.func, ast.Name) and node.func.id == "Notice":
        return next((keyword.value for keyword in node.keywords if keyword.arg == "code"), None)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "say" and node.args:
        return node.args[0]
    return None


def _literals(node: ast.expr) -> tuple[set[str], set[str]]:
    """Whole codes, and prefixes of codes that are put together."""
    match node:
        case ast.Constant(value=str() as text):
            return {text}, set()
        case ast.IfExp():
            first, second = _literals(node.body), _literals(node.orelse)
            return first[0] | second[0], first[1] | second[1]
        case ast.JoinedStr(values=[ast.Constant(value=str() as prefix), *_]):
            return set(), {prefix}
    return set(), set()


def _used() -> dict[str, str]:
    """Code -> where it is used first."""
    found: dict[str, str] = {}
    for place, call in _calls():
        expression = _named(call)
        if expression is None:
            continue
        whole, prefixes = _literals(expression)
        for code in whole:
            found.setdefault(code, place)
        for prefix in prefixes:
            for ending in BUILT[prefix]:
                found.setdefault(prefix + ending, place)
    for place, node in _nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and FAMILY.fullmatch(node.value):
            found.setdefault(node.value, place)
    return found


@cache
def _messages(locale: Locale) -> list[ftl.Message]:
    parser = FluentParser()
    entries = [
        entry
        for folder in (ROOT / "bot/i18n", *list_texts().values())
        for path in sorted((folder / locale).glob("*.ftl"))
        for entry in parser.parse(path.read_text(encoding="utf-8")).body
    ]
    assert not [entry for entry in entries if isinstance(entry, ftl.Junk)]
    return [entry for entry in entries if isinstance(entry, ftl.Message)]


class _Variables(Visitor):
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.references: set[str] = set()

    def visit_VariableReference(self, node: ftl.VariableReference) -> None:  # noqa: N802 - the name the library calls
        self.names.add(node.id.name)

    def visit_MessageReference(self, node: ftl.MessageReference) -> None:  # noqa: N802 - the name the library calls
        self.references.add(node.id.name)


@cache
def _variables(locale: Locale) -> dict[str, _Variables]:
    found = {}
    for message in _messages(locale):
        visitor = _Variables()
        visitor.visit(message)
        found[message.id.name] = visitor
    return found


SIGNS = {BEGUN, STEP, OVER, RUN_SHOWS, RUN_OVER}
"""Signs of progress: the door makes its own words of them."""


def test_both_languages_have_the_same_sentences_each_once() -> None:
    counts = {locale: Counter(message.id.name for message in _messages(locale)) for locale in LOCALES}
    assert counts["ru"].keys() == counts["en"].keys()
    assert [code for count in counts.values() for code, times in count.items() if times > 1] == []
    assert list_message_ids("ru") == list_message_ids("en") == set(counts["ru"])


def test_a_sentence_refers_only_to_sentences_that_exist() -> None:
    for locale in LOCALES:
        known = _variables(locale)
        assert {name for visitor in known.values() for name in visitor.references} <= known.keys()


@pytest.mark.slow
def test_every_code_of_the_program_has_a_sentence_in_both_languages() -> None:
    used = _used()
    assert len(used) > 100
    missing = {
        f"{code} ({place}) in {locale}"
        for code, place in used.items()
        if code not in SIGNS
        for locale in LOCALES
        if not Translator(locale).has_message(code)
    }
    assert missing == set()


def test_every_reason_of_the_gate_has_a_sentence_whose_arguments_the_gate_gives() -> None:
    for locale in LOCALES:
        known = _variables(locale)
        assert SENTENCES.keys() <= known.keys()
        for code, sentence in SENTENCES.items():
            if "batch" in code:
                continue  # carries the arguments of the reason inside
            given = {name for _, name, _, _ in string.Formatter().parse(sentence) if name}
            assert known[code].names <= _with_on(given), (locale, code)


def _with_on(names: set[str]) -> set[str]:
    """The translator makes `on` of `at`, and of a method what it does and who answers it; of any arguments names of what they are about."""
    made = {"doing", "called", "titles"} | ({"on"} if "at" in names else set()) | ({"titled"} if "title" in names else set())
    made |= {"kind_of"} if "kind" in names else set()
    return names | made | ({"act", "acted", "service"} if "method" in names else set())


@pytest.mark.slow
def test_every_notice_carries_the_arguments_its_sentence_needs() -> None:
    """A forgotten argument would stand in the sentence as its own name."""
    known = {locale: _variables(locale) for locale in LOCALES}
    checked = 0
    for place, call in _calls():
        expression = _named(call)
        if expression is None or not isinstance(call.func, ast.Name):
            continue
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "args"), ast.Dict(keys=[], values=[]))
        if not isinstance(given, ast.Dict) or None in given.keys:  # what is unpacked into it is not seen here
            continue
        names = _with_on({str(key.value) for key in given.keys if isinstance(key, ast.Constant)})
        whole, prefixes = _literals(expression)
        for code in (whole - SIGNS) | {prefix + ending for prefix in prefixes for ending in BUILT[prefix]}:
            for locale in LOCALES:
                assert known[locale][code].names <= names or code == "shadow-plan", (place, code, locale)
                checked += 1
    assert checked > 60


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "Ничего не ждёт решения."), (1, "Ждёт решения 1 запрос:"), (2, "Ждут решения 2 запроса:"), (5, "Ждут решения 5 запросов:"), (11, "Ждут решения 11 запросов:"),
        (21, "Ждёт решения 21 запрос:"), (22, "Ждут решения 22 запроса:"), (112, "Ждут решения 112 запросов:"),
    ],
)  # fmt: skip
def test_russian_counts_follow_russian_grammar(count: int, said: str) -> None:
    assert Translator("ru").translate("pending", count=count) == said


@pytest.mark.parametrize(
    ("count", "said"), [(21, "21 поле, которое меняет"), (22, "22 поля, которые меняет"), (25, "25 полей, которые меняет")]
)
def test_fields_in_conflict_are_counted_as_people_do(count: int, said: str) -> None:
    assert said in Translator("ru").translate("workflow-conflicts-many", count=count)


def test_an_unknown_code_shows_itself_and_arguments_are_never_markup_or_pattern() -> None:
    for locale in LOCALES:
        tr = Translator(locale)
        assert tr.translate("no-such-code", x=1) == "no-such-code"
        assert tr.translate("") == ""
        assert not tr.has_message("no-such-code")
        hostile = "{ $id } { gate-closed } \u2068*x*"
        assert hostile in tr.translate_notice(Notice(code="stranger", args={"id": hostile}))


def test_moments_are_told_in_the_persons_zone_with_the_day_when_it_is_another() -> None:
    at = "2026-11-21T22:30:00.000000Z"
    tr = Translator("ru", "Asia/Vladivostok")
    today = format_iso(datetime.now(UTC))
    assert f"Срок истёк в {tr.format_time(today)}." in tr.translate("card-expired", at=today)
    assert "Срок истёк 21.11 в 15:00." in Translator("ru").translate("card-expired", at="2020-11-21T12:00:00.000000Z")
    assert "Expired on 21 Nov at 15:00." in Translator("en").translate("card-expired", at="2020-11-21T12:00:00.000000Z")
    assert tr.format_time(at, datetime(2026, 11, 22, 1, 0, tzinfo=UTC)) == "08:30"
    assert tr.format_time(at, datetime(2026, 11, 21, 1, 0, tzinfo=UTC)) == "22.11 08:30"
    assert tr.translate("card-expired", at="")


@pytest.mark.parametrize("length", [10, 1999, 2001, 2501, 30_000])
def test_a_long_value_is_said_whole(length: int) -> None:
    """Fluent shows «{???}» for a value of more than 2500 characters: a long voice message would be acted on unseen."""
    words = "".join(chr(0x430 + number % 32) for number in range(length))
    assert Translator("ru").translate("heard", words=words) == f"Услышал: «{words}»"
    told = Translator("ru").translate("lead-denied-why", what=words, who="\ue000x\ue001", reason=words)
    assert told == f"✖ Отклонено: «{words}» (\ue000x\ue001). Причина: {words}"
