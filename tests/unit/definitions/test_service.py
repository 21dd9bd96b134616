"""Definitions are saved, published, rolled back and switched by those who may, and by nobody else."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.definitions import service as service_module
from orchestrator.definitions.reader import KindUnknown
from orchestrator.definitions.rules import Editor, NotAllowed
from orchestrator.domain.finding import DefinitionRefused
from state.journal import definitions
from state.model.definitions import DefinitionMissing, DefinitionsBusy, NotADraft, StaleRevision
from tests.unit.definitions.service_kit import (
    ANNA,
    BYE,
    CLI,
    DELETES,
    HELLO,
    OLEG,
    SITE,
    VERA,
    a_desk,
    data,
    person,
    text,
)

YAML = "steps:\n  - {name: s0, say: Здравствуйте}  # a comment\n"


@pytest.mark.req("S002-7", "S002-8")
async def test_a_draft_is_saved_and_published_by_those_who_may() -> None:
    """It is a draft that nothing executes until it is published; then it is the active one, with everybody's name."""
    async with a_desk() as desk:
        made = (await desk.service.create(VERA, "steps", "welcome", text(YAML, title="Привет", note="первая"))).version
        assert (made.version, made.status, made.active, made.revision, made.document) == (1, "draft", False, 1, HELLO)
        saved = (await desk.service.save(VERA, "steps", "welcome", 1, data(BYE), expected=1)).version
        assert (saved.revision, saved.title, saved.document) == (2, "Привет", BYE)
        done = (await desk.service.publish(OLEG, "steps", "welcome", 1, expected=2, note="в бой")).version
        assert (done.status, done.active, done.published_by, done.published_by_name) == ("published", True, "http:oleg", "Олег")
        history = await desk.service.list_history(VERA, "steps", "welcome", limit=10)
        assert [(one.what, one.by_name, one.note) for one in history] == [
            ("published", "Олег", "в бой"),
            ("saved", "Вера", ""),
            ("created", "Вера", "первая"),
        ]
        assert [one.type for one in desk.events()] == ["DefinitionSaved", "DefinitionSaved", "DefinitionPublished"]


async def test_the_second_version_takes_the_place_of_the_first_and_a_rollback_is_a_third() -> None:
    async with a_desk() as desk:
        assert [await desk.publish("welcome", document) for document in (HELLO, BYE)] == [1, 2]
        back = (await desk.service.roll_back(VERA, "steps", "welcome", 1)).version
        assert (back.version, back.status, back.document, back.note, [one.key for one in back.writers]) == (
            3, "draft", HELLO, "← v1", ["tg:1006"],
        )  # fmt: skip
        await desk.service.publish(OLEG, "steps", "welcome", 3, expected=back.revision)
        versions = await desk.service.list_versions(VERA, "steps", "welcome")
        assert [(one.version, one.status, one.active) for one in versions] == [
            (3, "published", True),
            (2, "published", False),
            (1, "published", False),
        ]
        history = await desk.service.list_history(VERA, "steps", "welcome", limit=3)
        assert [(one.what, one.version) for one in history] == [("published", 3), ("deactivated", 2), ("rolled_back", 3)]


async def test_every_mistake_is_told_at_once_and_nothing_is_stored() -> None:
    """Those of the key, of the text and of the definition, each with its line."""
    wrong = "steps:\n  - {name: a, say: x, sya: y}\n  - {name: a, say: &x y}\n"
    async with a_desk() as desk:
        with pytest.raises(DefinitionRefused) as refused:
            await desk.service.create(VERA, "steps", "bad key", text(wrong))
        assert [(one.code, one.line) for one in refused.value.findings] == [
            ("finding-definition-key", 0), ("finding-field-unknown", 2), ("finding-name-twice", 3), ("finding-yaml-alias", 3),
        ]  # fmt: skip
        await desk.service.create(VERA, "steps", "welcome", data(HELLO))
        with pytest.raises(DefinitionRefused):
            await desk.service.save(VERA, "steps", "welcome", 1, text(wrong), expected=1)
        assert (await desk.service.find_version(VERA, "steps", "welcome")).revision == 1
        assert await desk.service.list_keys(VERA) == [await desk.service.find_key(VERA, "steps", "welcome")]


async def test_warnings_do_not_keep_a_definition_from_being_saved_and_are_told() -> None:
    async with a_desk() as desk:
        saved = await desk.service.create(VERA, "steps", "welcome", text("steps:\n  - {name: a, say: yes}\n"))
        assert [(one.code, one.severity) for one in saved.findings] == [("finding-yaml-word", "warning")]


@pytest.mark.parametrize("who", [ANNA, person("http:crm", "admin", 5, customers=True)], ids=["a manager", "customers' words"])
async def test_who_may_not_edit_neither_writes_nor_reads(who: Editor) -> None:
    async with a_desk() as desk:
        await desk.publish("welcome", HELLO)
        calls: list[Callable[[], Any]] = [
            lambda: desk.service.create(who, "steps", "x", data(HELLO)),
            lambda: desk.service.save(who, "steps", "welcome", 1, data(HELLO), expected=2),
            lambda: desk.service.publish(who, "steps", "welcome", 1, expected=2),
            lambda: desk.service.roll_back(who, "steps", "welcome", 1),
            lambda: desk.service.switch(who, "steps", "welcome", enabled=False, expected=2),
            lambda: desk.service.find_key(who, "steps", "welcome"),
            lambda: desk.service.find_version(who, "steps", "welcome"),
            lambda: desk.service.list_versions(who, "steps", "welcome"),
            lambda: desk.service.list_history(who, "steps", "welcome", limit=1),
            lambda: desk.service.compare(who, "steps", "welcome", 1, 1),
            lambda: desk.service.check(who, "steps", "x", data(HELLO)),
            lambda: desk.service.list_keys(who, "steps"),
        ]
        for call in calls:
            with pytest.raises(NotAllowed):
                await call()
        assert await desk.service.list_keys(who) == []
        assert len(desk.events()) == 2


async def test_the_policy_says_which_roles_may_edit_and_publish_each_kind() -> None:
    """Of the other kind, the program's own rule holds."""
    async with a_desk({"definitions": {"steps": {"edit": ["manager"], "publish": ["lead"]}}}) as desk:
        made = (await desk.service.create(ANNA, "steps", "welcome", data(HELLO))).version
        for who in (OLEG, ANNA):
            with pytest.raises(NotAllowed, match="Only leads may publish"):
                await desk.service.publish(who, "steps", "welcome", 1, expected=made.revision)
        assert (await desk.service.publish(VERA, "steps", "welcome", 1, expected=made.revision)).version.active
        with pytest.raises(NotAllowed, match="Only managers may edit"):
            await desk.service.create(OLEG, "steps", "x", data(HELLO))
        fan = {"things": ["a"], "prompt": "{thing}"}
        assert (await desk.service.create(OLEG, "fan", "calls", data(fan))).version.version == 1
        assert [one.kind for one in await desk.service.list_keys(OLEG)] == ["fan"]
        assert [one.kind for one in await desk.service.list_keys(ANNA)] == ["steps"]


@pytest.mark.parametrize(
    ("by", "code"),
    [
        (VERA, "needs_two_people"),
        (person("http:vera", "admin", 6), "needs_two_people"),  # the same employee with another account
        (SITE, "needs_a_person"),
        (CLI, "needs_a_person"),
        (OLEG, ""),
    ],
    ids=lambda one: one.actor.key if isinstance(one, Editor) else one,
)
async def test_what_deletes_is_published_by_somebody_else_who_is_an_employee(by: Editor, code: str) -> None:
    async with a_desk() as desk:
        made = (await desk.service.create(VERA, "steps", "clean", data(DELETES))).version
        if code:
            with pytest.raises(NotAllowed) as refused:
                await desk.service.publish(by, "steps", "clean", 1, expected=made.revision)
            assert (refused.value.code, "crm.deal.delete" in refused.value.reason) == (code, True)
            assert (await desk.service.find_key(OLEG, "steps", "clean")).active_version == 0
            assert len(desk.events()) == 1
        else:
            assert (await desk.service.publish(by, "steps", "clean", 1, expected=made.revision)).version.active


async def test_everybody_who_wrote_a_text_of_the_version_is_its_writer() -> None:
    """Also whoever wrote one that was replaced since, and whoever rolled back to it."""
    async with a_desk() as desk:
        await desk.service.create(OLEG, "steps", "clean", data(HELLO))
        await desk.service.save(VERA, "steps", "clean", 1, data(DELETES), expected=1)
        for who in (OLEG, VERA):
            with pytest.raises(NotAllowed) as refused:
                await desk.service.publish(who, "steps", "clean", 1, expected=2)
            assert "none of its writers (http:oleg, tg:1006)" in refused.value.reason
        third = person("http:third", "lead", 9)
        await desk.service.publish(third, "steps", "clean", 1, expected=2)
        back = (await desk.service.roll_back(third, "steps", "clean", 1)).version
        with pytest.raises(NotAllowed):
            await desk.service.publish(third, "steps", "clean", 2, expected=back.revision)


async def test_the_rule_of_two_looks_at_the_text_that_is_stored_when_it_is_published() -> None:
    """A text that was replaced after somebody looked is not published: the revision is another one."""
    async with a_desk() as desk:
        seen = (await desk.service.create(OLEG, "steps", "clean", data(HELLO))).version
        await desk.service.save(VERA, "steps", "clean", 1, data(DELETES), expected=1)
        with pytest.raises(StaleRevision) as stale:
            await desk.service.publish(CLI, "steps", "clean", 1, expected=seen.revision)
        assert (stale.value.present.revision, getattr(stale.value.present, "document", None)) == (2, DELETES)


async def test_a_definition_that_became_wrong_is_not_published() -> None:
    """The kind's check runs again when it is published: it may be stricter than when the text was saved."""
    async with a_desk() as desk:
        await desk.store.write(
            definitions.create_version, desk.service._build_author(VERA), "steps", "old", {"steps": [{"go": 1}]}, title="", note=""
        )
        with pytest.raises(DefinitionRefused) as refused:
            await desk.service.publish(OLEG, "steps", "old", 1, expected=1)
        assert "finding-one-of" in {one.code for one in refused.value.findings}
        with pytest.raises(DefinitionRefused):
            await desk.service.roll_back(VERA, "steps", "old", 1)


async def test_a_key_is_switched_off_by_editors_and_on_by_publishers() -> None:
    async with a_desk({"definitions": {"steps": {"edit": ["lead"], "publish": ["admin"]}}}) as desk:
        await desk.publish("welcome", HELLO)
        await desk.switch("welcome", enabled=False, by=VERA)
        assert not (await desk.service.find_key(VERA, "steps", "welcome")).enabled
        with pytest.raises(NotAllowed, match="Only administrators may publish"):
            await desk.switch("welcome", enabled=True, by=VERA)
        await desk.switch("welcome", enabled=True, by=OLEG)
        await desk.switch("welcome", enabled=False, by=OLEG)
        history = await desk.service.list_history(VERA, "steps", "welcome", limit=3)
        assert [(one.what, one.by) for one in history] == [
            ("switched_off", "http:oleg"),
            ("switched_on", "http:oleg"),
            ("switched_off", "tg:1006"),
        ]


async def test_two_publishers_at_once_leave_one_active_version() -> None:
    """The other one is told that it came too late, or its version is the active one and the first is not."""
    async with a_desk() as desk:
        for document in (HELLO, BYE):
            await desk.service.create(VERA, "steps", "welcome", data(document))
        await asyncio.gather(*(desk.service.publish(OLEG, "steps", "welcome", number, expected=1) for number in (1, 2)))
        versions = await desk.service.list_versions(VERA, "steps", "welcome")
        assert [one.active for one in versions].count(True) == 1
        tries = [desk.service.publish(who, "steps", "welcome", 1, expected=versions[1].revision) for who in (OLEG, VERA)]
        ended = await asyncio.gather(*tries, return_exceptions=True)
        assert sorted(type(one).__name__ for one in ended) == ["Saved", "StaleRevision"]


async def test_a_busy_store_is_asked_again_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [2]
    create = definitions.create_version

    def busy(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise DefinitionsBusy("somebody else")
        return create(*args, **kwargs)

    monkeypatch.setattr(definitions, "create_version", busy)
    async with a_desk() as desk:
        assert (await desk.service.create(VERA, "steps", "welcome", data(HELLO))).version.version == 1
        left[0] = 10_000
        monkeypatch.setattr(service_module, "PATIENCE", -1.0)
        with pytest.raises(DefinitionsBusy):
            await desk.service.create(VERA, "steps", "welcome", data(HELLO))


async def test_two_versions_are_compared_as_data() -> None:
    """Other spacing and the order of keys are no differences; a version that does not exist is missing."""
    async with a_desk() as desk:
        await desk.service.create(VERA, "steps", "welcome", text(YAML))
        await desk.service.create(VERA, "steps", "welcome", text('{"steps": [{"say": "Здравствуйте", "name": "s0"}]}', "json"))
        await desk.service.create(VERA, "steps", "welcome", data(BYE))
        assert (await desk.service.compare(VERA, "steps", "welcome", 1, 2)).changes == ()
        [change] = (await desk.service.compare(VERA, "steps", "welcome", 2, 3)).changes
        assert (change.kind, change.path, change.before, change.after) == ("changed", ("steps", 0, "say"), "Здравствуйте", "До свидания")
        with pytest.raises(DefinitionMissing):
            await desk.service.compare(VERA, "steps", "welcome", 3, 4)


async def test_what_is_not_there_is_told_and_near_names_are_suggested() -> None:
    async with a_desk() as desk:
        with pytest.raises(KindUnknown, match=r"fan, scenario, steps\. Did you mean steps\?"):
            await desk.service.list_keys(VERA, "step")
        for key in ("nothing", "../x", "а", "a\x00"):
            for call in (desk.service.find_key(VERA, "steps", key), desk.service.find_version(VERA, "steps", key)):
                with pytest.raises(DefinitionMissing):
                    await call


async def test_a_published_text_stays_and_is_no_draft() -> None:
    async with a_desk() as desk:
        await desk.publish("welcome", HELLO)
        with pytest.raises(NotADraft):
            await desk.service.save(VERA, "steps", "welcome", 1, data(BYE), expected=2)
        assert (await desk.service.find_version(VERA, "steps", "welcome")).document == HELLO


async def test_lists_go_page_by_page_over_the_kinds_that_somebody_may_read() -> None:
    async with a_desk({"definitions": {"fan": {"edit": ["admin"], "publish": ["admin"]}}}) as desk:
        for number in range(5):
            await desk.service.create(OLEG, "fan", f"f{number}", data({"things": ["a"], "prompt": "x"}))
            await desk.service.create(OLEG, "steps", f"s{number}", data(HELLO))
        found, after = [], ""
        while page := await desk.service.list_keys(OLEG, after=after, limit=3):
            found += [one.key for one in page]
            after = page[-1].place
        assert found == [f"f{number}" for number in range(5)] + [f"s{number}" for number in range(5)]
        assert [one.key for one in await desk.service.list_keys(VERA, limit=3)] == ["s0", "s1", "s2"]


async def test_check_says_what_needs_two_people_and_stores_nothing() -> None:
    async with a_desk() as desk:
        assert (await desk.service.check(VERA, "steps", "x", data(HELLO))).critical == ()
        assert (await desk.service.check(VERA, "steps", "x", data(DELETES))).critical == ("crm.deal.delete",)
        turn = {"steps": [{"name": "a", "turn": "сделай"}]}
        assert (await desk.service.check(VERA, "steps", "x", data(turn))).critical is None
        assert [one.code for one in (await desk.service.check(VERA, "steps", "a b", data(HELLO))).findings] == ["finding-definition-key"]
        assert not desk.events()


async def test_long_titles_and_notes_are_cut_and_unstorable_signs_replaced() -> None:
    async with a_desk() as desk:
        made = (await desk.service.create(VERA, "steps", "welcome", data(HELLO, title="т" * 999, note="a\x00\ud800" + "н" * 999))).version
        assert (len(made.title), len(made.note)) == (200, 500)
        assert "\x00" not in made.note
