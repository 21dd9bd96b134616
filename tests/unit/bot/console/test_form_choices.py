"""Whole forms of all kinds from their schemas, and what their fields choose among, without a page."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from bot.console.definitions.form.fields import Field, FieldRefused, Group, Listing, Node
from bot.console.definitions.form.schema_form import SchemaForm
from bot.console.definitions.form.sources import FormWords, SchemaSource
from bot.i18n.translate import Locale, Translator
from bot.plugins.choices import Choice, Known, Published
from bot.plugins.kind_face import KIND_FACE, build_kind_schema, list_choices
from bot.plugins.loading import find_part_of_kind
from bot.plugins.schema_reader import SchemaReader
from orchestrator.documents.changing import find_value
from orchestrator.documents.keeping import keep_text
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Path

AGENT = Published(key="writer", title="Автор", version=3, id="u-3", document={"systemPrompt": "Пиши  письма.", "model": "large"})
STEP = {"id": "a", "memoryReads": [{}], "memoryWrites": [{}]}
DRAFTS: dict[str, dict[str, Any]] = {
    "flow": {"steps": [STEP], "launchParameters": [{}], "memory": {"sharedChannels": [{}]}, "outputs": {"titles": [{}]}},
    "agent": {},
    "scenario": {"steps": [{"type": "input", "params": {}}, {"type": "calculate", "params": {}}, {"type": "bitrix_call", "params": {}}]},
    "workflow": {"triggerParameters": [{}], "tuums": [{"tuumId": "t", "promptRunes": [{"runeType": "prompt"}]}, {"tuum": "x"}]},
    "tuum": {"runes": [{"runeType": "operation"}, {"runeType": "query"}, {"runeType": "script"}]},
}


def make_source(kind: str, known: Known | None = None, locale: Locale = "ru") -> SchemaSource:
    schema, face = build_kind_schema(kind), find_part_of_kind(KIND_FACE, kind)
    assert schema is not None
    assert face is not None
    words = FormWords(SimpleNamespace(say=Translator(locale).translate))  # type: ignore[arg-type]  # only speaks
    return SchemaSource(SchemaForm(SchemaReader(schema, kind), words, face.steps), face, known or make_known(locale))


def make_known(locale: Locale = "ru", **more: Any) -> Known:
    return Known(say=Translator(locale).translate, published={"agent": (AGENT,)}, **more)


def walk(nodes: tuple[Node, ...]) -> list[Node]:
    found: list[Node] = []
    for node in nodes:
        found.append(node)
        below: tuple[Node, ...] = node.nodes if isinstance(node, Group) else node.items if isinstance(node, Listing) else ()
        found += walk(below)
    return found


def find(kind: str, document: object, *path: str | int, known: Known | None = None) -> Field:
    nodes = walk(make_source(kind, known).describe(document).nodes)
    return next(node for node in nodes if isinstance(node, Field) and node.path == path)


def enter(kind: str, document: object, path: Path, typed: str) -> Any:
    return make_source(kind).enter(document, find(kind, document, *path), typed)


@pytest.mark.req("C-26", "C-27", "S002-53")
@pytest.mark.parametrize("kind", DRAFTS)
def test_each_kind_has_its_whole_form_in_russian(kind: str) -> None:
    """No label, addition, column or choice is English or a code; what nobody chooses is not asked."""
    for node in walk(make_source(kind).describe(DRAFTS[kind]).nodes):
        words = [node.label] if node.label else []
        if isinstance(node, Listing):
            words.append(node.add)
        if isinstance(node, Field):
            words += [one for one in node.columns if one]
            words += [
                one.label
                for one in node.choices
                if node.kind == "choice" and one.value not in {"", "a", "t", "x"} and one.label[:1].isalpha()
            ]
            assert "(JSON)" not in node.label or node.kind in {"json", "any"}, node.label
            assert node.path[-1] != "syncOnly"
        assert [one for one in words if not re.search("[а-я]|Mongo|ID", one.lower())] == [], node.path


@pytest.mark.req("C-26")
@pytest.mark.parametrize("kind", DRAFTS)
def test_no_english_form_has_a_russian_word(kind: str) -> None:
    """Labels in English are English."""
    nodes = walk(make_source(kind, locale="en").describe(DRAFTS[kind]).nodes)

    assert [node.label for node in nodes if re.search("[а-я]", node.label.lower())] == []


@pytest.mark.req("S002-54")
def test_agents_are_offered_with_title_key_and_version() -> None:
    """The UUID is stored; a step that names its agent by the key shows whom it means, and the prompt which words count without it."""
    data = {"steps": [{"id": "a", "agentVersionId": "writer"}]}

    agent = find("flow", data, "steps", 0, "agentVersionId")

    assert [(one.value, one.label) for one in agent.choices] == [
        ("u-3", "Автор · writer · версия 3"),
        ("writer", "writer → Автор · writer · версия 3"),
    ]
    assert "large" in agent.hint
    assert "«Пиши письма.»" in find("flow", data, "steps", 0, "prompt").hint


@pytest.mark.req("C-26")
def test_channels_are_offered_that_exist() -> None:
    """Declared ones and those that steps write; another may be typed."""
    data = {
        "memory": {"sharedChannels": [{"id": "notes"}]},
        "steps": [{"id": "a", "memoryWrites": [{"channel": "log"}], "memoryReads": [{}]}],
    }

    field = find("flow", data, "steps", 0, "memoryReads", 0, "channel")

    assert (field.kind, [one.value for one in field.choices]) == ("line", ["notes", "log"])


@pytest.mark.req("C-26")
def test_methods_and_fields_of_records_are_offered() -> None:
    """A call of a deal has the fields of deals inside of its parameters, also for completion; an operation those of its record."""
    known = make_known(methods=(Choice("crm.deal.update", "Изменить сделку"),), fields={"deal": (Choice("STAGE_ID", "Стадия"),)})
    data = {"steps": [{"type": "bitrix_call", "params": {"method": "crm.deal.update"}}]}
    tuum = {"runes": [{"runeType": "operation", "entityType": "deal"}]}

    assert find("scenario", data, "steps", 0, "params", "method", known=known).choices == known.methods
    assert find("scenario", data, "steps", 0, "params", "params", known=known).inside["fields"] == known.fields["deal"]
    assert list_choices("scenario", data, ("steps", 0, "params", "params", "fields"), known) == known.fields["deal"]
    assert find("tuum", tuum, "runes", 0, "attributeKey", known=known).choices == known.fields["deal"]
    assert list_choices("tuum", None, ("runes", 9, "attributeKey"), known) == ()


@pytest.mark.req("C-27")
def test_only_variables_that_can_be_set_before_are_offered() -> None:
    """Those of the beginning and of steps from which a way leads here, no others; bare in expressions."""
    steps = [
        {"id": "ask", "type": "input", "params": {"prompt": "?", "input_variable": "who"}, "next_step": "say"},
        {"id": "aside", "type": "input", "params": {"prompt": "?", "input_variable": "never"}},
        {"id": "say", "type": "message", "params": {"text": ""}},
        {"id": "later", "type": "calculate", "params": {"values": {"sum": "1"}}},
    ]
    source, data = make_source("scenario"), {"initial_context": {"rate": 2}, "steps": steps}

    assert list(source.list_variables(data, ("steps", 0, "params", "prompt"))) == ["{rate}"]
    assert list(source.list_variables(data, ("steps", 2, "params", "text"))) == ["{rate}", "{who}"]
    assert list(source.list_variables(data, ("steps", 3, "params", "values"))) == ["rate", "who"]
    assert list(source.list_variables(None, ("steps", 9, "params", "text"))) == []


@pytest.mark.req("C-27")
def test_a_tuum_is_offered_what_comes_before_it() -> None:
    """Parameters, what other tuums give, and what its own parts have set by then; not what only waits for it."""
    first = {
        "tuumId": "a",
        "promptRunes": [{"runeType": "prompt", "template": "{{client}}"}],
        "aiService": "tool",
        "outputMappings": {"facts": "ai_final_output"},
    }
    second = {
        "tuumId": "b",
        "promptRunes": [{"runeType": "prompt", "template": "{{facts}}"}],
        "outputMappings": {"letter": "ai_final_output"},
    }
    second["runes"] = [{"runeType": "set", "variable": "mine", "value": 1}, {"runeType": "script", "source": ""}]
    source, data = make_source("workflow"), {"triggerParameters": [{"name": "client"}], "tuums": [first, second]}

    assert list(source.list_variables(data, ("tuums", 0, "promptRunes", 0, "template"))) == ["{{client}}"]
    assert list(source.list_variables(data, ("tuums", 1, "promptRunes", 0, "template"))) == ["{{client}}", "{{facts}}"]
    assert list(source.list_variables(data, ("tuums", 1, "runes", 1, "source"))) == [
        "client",
        "facts",
        "mine",
        "ai_final_output",
        "ai_error",
    ]


@pytest.mark.req("C-26")
def test_a_row_of_a_mapping_changes_its_line_alone() -> None:
    """The comment, the order and the other rows of the text stay as the author wrote them."""
    text = "tuumId: t\n# why\ninputMappings:\n  here: there  # mine\n  b: c\naiService: tool\n"
    data = read_document(text, "yaml").require_document().data

    changed = enter("tuum", data, ("inputMappings",), '{"here": "there", "b": "d"}')

    assert keep_text(text, changed, "yaml") == text.replace("b: c", "b: d")
    assert find("tuum", data, "inputMappings").columns == ("Имя здесь", "Общее имя")


@pytest.mark.req("S002-56", "S002-53")
def test_a_next_step_takes_the_end_away_and_a_new_step_follows() -> None:
    """Neither `complete` beside a next step, nor a step to which nothing leads."""
    source = make_source("flow")
    data = {"steps": [{"id": "a", "transitions": {"onSuccess": {"complete": True}}}]}

    added: Any = source.add_item(data, ("steps",))

    assert [one["id"] for one in added["steps"]] == ["a", "step2"]
    assert added["steps"][0]["transitions"] == {"onSuccess": {"next": "step2"}}
    led = enter("flow", {"steps": [*data["steps"], {"id": "b"}]}, ("steps", 0, "transitions", "onSuccess", "next"), "b")
    assert led["steps"][0]["transitions"] == {"onSuccess": {"next": "b"}}


@pytest.mark.req("S002-50", "S002-56")
@pytest.mark.parametrize(("place", "typed", "code"), [
    (("maxAttempts",), "two", "console-form-integer"),
    (("maxAttempts",), "21", "console-form-most"),
    (("overrides", "temperature"), "2,1", "console-form-most"),
    (("overrides", "topP"), "-0.1", "console-form-least"),
    (("memoryWrites", 0, "payload"), '{"a": ', "finding-bracket-unclosed"),
    (("memoryReads", 0, "limit"), "NaN", "console-form-integer"),
])  # fmt: skip
def test_a_text_that_is_no_number_or_no_json_is_refused_at_its_field(place: Path, typed: str, code: str) -> None:
    """Before anything enters the document."""
    with pytest.raises(FieldRefused) as refused:
        enter("flow", DRAFTS["flow"], ("steps", 0, *place), typed)

    assert refused.value.notice.code == code


@pytest.mark.req("S002-49", "S002-56")
def test_what_is_emptied_goes_from_the_document() -> None:
    """With the objects that held nothing else; those beside it and the parameters of a step stay."""
    step = {"id": "a", "prompt": "p", "transitions": {"onSuccess": {"next": "b"}}, "overrides": {"topP": 1, "ours": 2}}
    data = {"startStepId": "a", "steps": [step]}

    for path in (("startStepId",), ("steps", 0, "transitions", "onSuccess", "next"), ("steps", 0, "overrides", "topP")):
        data = enter("flow", data, path, "")

    assert data == {"steps": [{"id": "a", "prompt": "p", "overrides": {"ours": 2}}]}
    asked = {"steps": [{"type": "message", "params": {"text": "x"}}]}
    assert find_value(enter("scenario", asked, ("steps", 0, "params", "text"), ""), ("steps", 0, "params")) == {}
