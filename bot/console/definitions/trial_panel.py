"""The trial in the editor, as a conversation; the author answers for everybody else."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from nicegui import ui
from pydantic import BaseModel, ValidationError

from bot.console.definitions.document import EditedDocument
from bot.console.definitions.findings_list import draw_findings
from bot.console.definitions.work import build_editor, submit_text
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_empty, show_text, tell
from bot.i18n.translate import split_method
from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.case_face import CASE_FACE
from bot.rehearsing.case_file import write_cases
from bot.rehearsing.trial_face import TRIAL_FACE
from bot.rehearsing.trials import Playable, TrialInputs, Tried, Wanted, Watch, build_test, try_definition
from bot.rehearsing.words import render_plain_reply
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.findings import Findings
from orchestrator.documents.reading import read_document
from orchestrator.domain.effect import Outcome
from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.finding import Finding, has_errors
from orchestrator.rehearsals.case import Given
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from orchestrator.rehearsals.rehearsal import Happening, RehearsalStopped
from orchestrator.runs.stored_definitions import add_stored_definitions
from state.canonical import dumps
from state.stored import JsonObject

_AT_ONCE: Final = asyncio.Semaphore(2)
"""Trials of all pages at the same time; each needs a thread, and a workflow processes for its scripts."""
_LONGEST: Final = 4_000
_SHOWN: Final = 50
_LISTS: Final = ("dialogues", "tests")
"""In a file of tests; the first is taken."""


class TrialPanel:
    def __init__(self, visit: Visit, document: EditedDocument) -> None:
        """Nothing is played before the author wants it."""
        self._visit, self._document = visit, document
        self._playable: Playable | None = None
        self._inputs = TrialInputs()
        self._watch: Watch | None = None
        self._is_busy = False
        """Nothing else begins then."""
        self._is_stopped = False
        self._played_text = ""
        self._asking: asyncio.Task[object] | None = None
        """A model or the portal that is asked."""
        self._draft: ui.label | None = None
        self._trouble: ui.label | None = None
        show_text(visit.say("console-trial-told"), classes="small muted")
        with ui.element("div").classes("def-actions trial-actions"):
            self._start = ui.button(visit.say("console-trial-start"), icon="play_arrow", on_click=self.start)
            self._start.props("unelevated no-caps color=primary")
            self._stop = ui.button(visit.say("console-trial-stop"), icon="stop", on_click=self.stop).props("outline no-caps")
            self._stop.set_visibility(False)
            self._asks_itself = ui.checkbox(visit.say("console-trial-asks"))
            self._forget = ui.button(visit.say("console-trial-forget"), on_click=self._forget_kept).props("flat no-caps")
            self._forget.set_visibility(False)
        with ui.element("details").classes("trial-case"):
            with ui.element("summary"):
                ui.label(visit.say("console-trial-case")).classes("def-summary small")
            self._case = ui.textarea(visit.say("console-trial-case-label")).props("outlined autogrow maxlength=100000").classes("full mono")
        self._changed = ui.label(visit.say("console-trial-changed")).classes("def-trouble small").props("role=status")
        self._changed.set_visibility(False)
        self._place = ui.element("div").classes("trial").props("aria-live=polite")
        document.on_text(self._compare_text)
        visit.page.on_delete(self.stop)

    def stop(self) -> None:
        self._is_stopped = True
        if self._watch is not None:
            self._watch.stop()
        if self._asking is not None:
            self._asking.cancel()

    def _forget_kept(self) -> None:
        self._inputs = TrialInputs()
        self._forget.set_visibility(False)

    async def start(self) -> None:
        """From the beginning without answers; nothing happens while a trial is under way."""
        await self._work(self._begin)

    async def _work(self, act: Callable[[], Awaitable[None]]) -> None:
        """A press that came twice is one."""
        if self._is_busy:
            return
        self._is_busy, self._is_stopped = True, False
        self._start.disable()
        self._stop.set_visibility(True)
        try:
            await act()
        finally:
            self._is_busy = False
            if not self._visit.page.is_deleted:
                self._start.enable()
                self._stop.set_visibility(False)

    def _compare_text(self) -> None:
        """The trial may be of another text than stands in the editor now."""
        self._changed.set_visibility(self._playable is not None and self._document.text != self._played_text)

    async def _begin(self) -> None:
        visit, document = self._visit, self._document
        await document.settle()
        text = document.text
        submission = submit_text(document.text, document.format)
        checked = await visit.services.definitions.check(build_editor(visit), document.kind, document.key or None, submission)
        case = self._read_case()
        findings = checked.findings if has_errors(checked.findings) else ()
        if findings or not isinstance(checked.document, Mapping):
            self._show_findings("console-trial-mistakes", findings)
            return
        services = visit.services
        face = find_part_of_kind(TRIAL_FACE, document.kind)
        assert face is not None  # noqa: S101 - otherwise there is no panel
        self._playable = await face.load(
            services.definitions.find_kind(document.kind),
            document.key or "trial",
            checked.document,
            store=services.store,
            definitions=add_stored_definitions(services.engines, services.store).definitions,
        )
        self._played_text = text
        self._compare_text()
        if isinstance(case, tuple) or (wrong := self._check_case(case)):
            self._show_findings("console-trial-case-wrong", case if isinstance(case, tuple) else wrong)
            return
        self._inputs = self._inputs.begin_again(case, visit.services.clock.now())
        await self._play()

    def _read_case(self) -> JsonObject | tuple[Finding, ...]:
        """Empty without one; findings if its text cannot be read."""
        text = str(self._case.value or "")
        if not text.strip():
            return {}
        reading = read_document(text, "yaml")
        if reading.document is None or not isinstance(reading.document.data, dict):
            return reading.findings
        data = reading.document.data
        tests = next((data[one] for one in _LISTS if isinstance(data.get(one), list) and data[one]), [data])
        return tests[0] if isinstance(tests[0], dict) else {}

    def _check_case(self, case: JsonObject) -> tuple[Finding, ...]:
        assert self._playable is not None  # noqa: S101 - it was loaded before
        findings = Findings()
        report_model_mistakes(findings, self._playable.case_model, {"name": "trial", **case}, ())
        return findings.list_all()

    async def _play(self) -> None:
        """Up to where a person has to say something; a model is asked without a press if the author wants it."""
        while True:
            tried = await self._try_once()
            if tried is None or self._visit.page.is_deleted:
                return
            self._show(tried)
            want = tried.wanted
            if want is None or want.kind != "model" or not self._asks_itself.value or self._is_stopped:
                return
            if not await self._ask_for(want):
                return

    async def _try_once(self) -> Tried | None:
        visit, playable = self._visit, self._playable
        if playable is None:
            return None
        try:
            async with _AT_ONCE:
                if self._is_stopped:
                    return None
                self._watch = Watch()  # its time begins when it is its turn
                tried = await try_definition(playable, self._inputs, visit.actor, self._watch, visit.services.call_forms.find_refusal)
        except ValidationError:
            self._show_findings("console-trial-case-wrong", ())
            return None
        finally:
            self._watch = None
        if tried.wanted is not None and tried.wanted.is_unfit:
            self._inputs = self._inputs.drop_answer()
        return tried

    async def _ask(self, want: Wanted) -> None:
        async def ask() -> None:
            if await self._ask_for(want):
                await self._play()

        await self._work(ask)

    async def _ask_for(self, want: Wanted) -> bool:
        """Ask a model or the portal for real, and keep what it gives. Whether it gave anything."""
        live = self._visit.services.open_live_trial(self._visit.actor)
        self._asking = asyncio.ensure_future(
            live.ask_model(want.request, self._show_piece) if want.request else live.read(want.text, want.params)
        )
        try:
            answer = await self._asking
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            return False
        except OverBudget:
            return self._tell_failure("console-trial-budget")
        except ModelClientError:
            return self._tell_failure("console-trial-no-answer")
        finally:
            self._asking = None
        if isinstance(answer, Outcome):
            if answer.status != "succeeded":
                return self._tell_failure(
                    "console-trial-not-read", why=self._visit.say_notice(answer.reason) if answer.reason else answer.detail
                )
            answer = answer.result
        self._inputs = self._inputs.keep(want, answer)
        self._forget.set_visibility(True)
        return True

    async def _show_piece(self, piece: str) -> None:
        if self._draft is not None and not self._visit.page.is_deleted:
            self._draft.text = cut_text(f"{self._draft.text}{piece}", limit=_LONGEST)

    def _tell_failure(self, code: str, **args: object) -> bool:
        if self._trouble is not None and not self._visit.page.is_deleted:
            self._trouble.text = self._visit.say(code, **args)
        return False

    async def _give(self, want: Wanted, answer: object) -> None:
        async def give() -> None:
            self._inputs = self._inputs.add(want, answer)
            await self._play()

        await self._work(give)

    def _show_findings(self, code: str, findings: tuple[Finding, ...]) -> None:
        self._place.clear()
        with self._place:
            ui.label(self._visit.say(code)).props("role=alert")
            draw_findings(self._visit, findings)

    def _show(self, tried: Tried) -> None:
        self._start.text = self._visit.say("console-trial-again")
        self._place.clear()
        with self._place:
            if len(tried.happenings) > _SHOWN:
                show_empty(self._visit.say("console-trial-earlier", count=len(tried.happenings) - _SHOWN))
            for happening in tried.happenings[-_SHOWN:]:
                self._draw_happening(happening)
            if tried.wanted is not None:
                self._draw_wanted(tried.wanted)
            else:
                self._draw_end(tried)
        self._visit.page.run_javascript("sdelkaTexts.showLast()")

    def _draw_happening(self, happening: Happening) -> None:
        visit = self._visit
        with ui.element("div").classes(f"trial-line trial-{happening.kind}"):
            if happening.place.step and happening.kind != "answer":
                ui.label(happening.place.step).classes("mono muted")
            match happening.kind:
                case "message" | "question" | "failure":
                    _show_said(visit, happening)
                case "answer":
                    answer = visit.say(happening.controls[0]) if happening.controls else happening.data
                    show_text(answer if isinstance(answer, str) else dumps(answer))
                case "effect":
                    self._draw_effect(happening)
                case "model" | "agent":
                    show_text(visit.say("console-trial-model", text=cut_text(happening.text, limit=_LONGEST)))
                case "log":
                    show_text(f"{happening.data} {cut_text(happening.text, limit=_LONGEST)}", classes="mono muted")
                case "wait":
                    show_text(visit.say("console-trial-wait", moment=visit.tr.format_time(happening.text)))
                case "child":
                    show_text(visit.say("console-trial-child", what=happening.text))

    def _draw_effect(self, happening: Happening) -> None:
        visit, data = self._visit, happening.data
        status = str(data["status"])
        show_badge(visit.say("console-trial-effect", status=status), tone="live" if status == "planned" else "plain")
        method = str(data["method"])
        ui.label(visit.tr.describe_call(method, *split_method(method)) or method).classes("strong")
        if data["comment"]:
            show_text(str(data["comment"]), classes="small")
        ui.label(cut_text(f"{method} {dumps(data['params'])}", limit=_LONGEST)).classes("mono muted text")

    def _draw_wanted(self, want: Wanted) -> None:
        visit = self._visit
        with ui.element("div").classes("trial-wanted"):
            if want.is_unfit:
                ui.label(visit.say("console-trial-unfit")).classes("def-trouble").props("role=alert")
            ui.label(visit.say("console-trial-wanted", kind=want.kind, step=want.step)).classes("strong")
            if want.kind != "answer":
                show_text(cut_text(want.text, limit=_LONGEST), classes="small muted trial-asked")
            with ui.element("div").classes("def-actions"):
                for label in want.options:
                    ui.button(cut_text(label, limit=100), on_click=lambda label=label: self._give(want, label)).props("outline no-caps")
                if want.key:
                    ask = ui.button(visit.say("console-trial-ask", kind=want.kind), on_click=lambda: self._ask(want))
                    ask.props("unelevated no-caps color=primary")
                for code in want.controls:
                    ui.button(visit.say(code), on_click=lambda code=code: self._give(want, Given(press=code))).props("flat no-caps")
            self._draft, self._trouble = ui.label("").classes("text"), ui.label("").classes("def-trouble").props("role=alert")
            if want.kind != "answer" or want.takes_text:
                self._draw_field(want)

    def _draw_field(self, want: Wanted) -> None:
        visit = self._visit
        label = visit.say("console-trial-field", kind=want.kind)
        is_line = want.kind == "answer"
        field = (ui.input(label) if is_line else ui.textarea(label)).props("outlined dense autofocus maxlength=20000").classes("full")
        if not is_line:
            field.props("autogrow")

        async def give() -> None:
            text = str(field.value or "")
            if want.kind not in {"read", "run"}:
                await self._give(want, text)
                return
            reading = read_document(text, "yaml") if text.strip() else None
            if reading is not None and reading.document is None:
                tell(visit, visit.say("console-trial-read-wrong"), tone="warning")
                return
            await self._give(want, reading.document.data if reading is not None and reading.document is not None else None)

        if is_line:
            field.on("keydown.enter", give)
        ui.button(visit.say("console-trial-give"), on_click=give).props("unelevated no-caps color=primary")

    def _draw_end(self, tried: Tried) -> None:
        visit = self._visit
        tone = {"done": "good", "failed": "bad"}.get(tried.status, "warn")
        with ui.element("div").classes("trial-end"):
            show_badge(visit.say("console-trial-ended", status=tried.status), tone=tone)
            if tried.problem:
                show_text(tried.problem, classes="small muted")
            if not tried.happenings and not tried.result:
                show_empty(visit.say("console-trial-nothing"))
            for describe in tried.proposed:
                with ui.element("div").classes("trial-line trial-effect"):
                    show_badge(visit.say("console-trial-effect", status="planned"), tone="live")
                    show_text(describe(visit.tr))
            if tried.result:
                with ui.element("details").props("open" if tried.status == "done" else ""):
                    with ui.element("summary"):
                        ui.label(visit.say("console-trial-result")).classes("def-summary small")
                    for name, value in tried.result.items():
                        show_text(f"{name} = {cut_text(value if isinstance(value, str) else dumps(value), limit=_LONGEST)}", classes="mono")
            if tried.case is not None and find_part_of_kind(CASE_FACE, self._document.kind) is not None:
                ui.button(visit.say("console-trial-save"), icon="download", on_click=lambda: self._save(tried)).props("outline no-caps")

    async def _save(self, tried: Tried) -> None:
        """As a file of tests that asks nobody."""
        visit, face = self._visit, find_part_of_kind(CASE_FACE, self._document.kind)
        assert face is not None and self._playable is not None  # noqa: S101, PT018 - otherwise there is no button
        test = build_test(tried, visit.say("console-trial-test-name"), self._inputs.begun)
        playable, find_classes = self._playable, visit.services.find_classes

        async def complete() -> BaseModel:
            return await face.complete(playable, test, find_classes)

        try:
            async with _AT_ONCE:
                completed = await asyncio.to_thread(lambda: asyncio.run(complete()))
        except (NotRecordable, RehearsalStopped) as error:
            tell(visit, visit.say("console-trial-not-saved", why=str(error)), tone="warning")
            return
        text = write_cases([completed], f"{face.test}s")
        ui.download.content(text, f"{self._document.key or 'definition'}.test.yaml")


def _show_said(visit: Visit, happening: Happening) -> None:
    """Without marks, and with the buttons below it."""
    if happening.reply is not None:
        show_text(render_plain_reply(happening.reply, visit.tr))
    if happening.kind == "failure" and happening.text:
        show_text(happening.text, classes="small muted")
    if happening.options:
        show_text(" · ".join(happening.options), classes="small muted")
