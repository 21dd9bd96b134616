"""Orders and answers; the run's own code accepts or refuses them."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from nicegui import ui

from bot.console.runs.watch import RunView, RunWatch
from bot.console.runs.words import say_refusal
from bot.console.visit import Visit
from bot.console.widgets import ask_first, build_panel, show_heading, show_text
from bot.http_api.runs.run_models import LONGEST_ANSWER, AnswerBody, Wait
from bot.http_api.server.errors import ApiError
from orchestrator.runs.orders import FITTING, Order

_SHOWN: Final[tuple[tuple[Order, str, str], ...]] = (
    ("pause", "pause", "console-runs-pause"),
    ("resume", "play_arrow", "console-runs-resume"),
    ("retry", "replay", "console-runs-retry"),
    ("cancel", "close", "console-runs-cancel"),
)
_QUESTIONS: Final[dict[Order, str]] = {
    "pause": "console-runs-pause-ask",
    "resume": "console-runs-resume-ask",
    "retry": "console-runs-retry-ask",
    "cancel": "console-runs-cancel-ask",
}


@dataclass(frozen=True, slots=True)
class OpenOption:
    """With its number in the question."""

    text: str
    question: str
    number: int


@dataclass(frozen=True, kw_only=True)
class OpenWaits:
    """As this person sees it."""

    waits: tuple[Wait, ...]
    is_paused: bool
    me: str

    def may_answer(self, wait: Wait) -> bool:
        return not self.is_paused and self.me in {answer.id for answer in wait.answers}

    def list_options(self) -> tuple[OpenOption, ...]:
        """None whose text several have: nobody could say which was meant."""
        answerable = [wait for wait in self.waits if wait.waits_for == "input" and self.may_answer(wait)]
        options = [OpenOption(text, wait.question, number) for wait in answerable for number, text in enumerate(wait.options)]
        count = Counter(one.text for one in options)
        return tuple(one for one in options if count[one.text] == 1)


class Controls:
    """What is refused is said, and changes nothing."""

    def __init__(self, visit: Visit, watch: RunWatch, root: ui.element) -> None:
        """Dialogs are in `root`."""
        self._visit, self._watch, self._root = visit, watch, root
        self._drafts: dict[str, str] = {}
        """By question: fields are drawn anew when the run goes on elsewhere, or was paused."""

    def draw_orders(self, view: RunView) -> None:
        """Those that fit the run now."""
        if not view.run.may_control:
            return
        with ui.element("div").classes("acts"):
            for order, icon, label in _SHOWN:
                if view.run.status in FITTING[order]:
                    self.draw_order(order, icon, label)

    def draw_order(self, order: Order, icon: str, label: str) -> None:
        """Asks first."""
        words = self._visit.say(label)

        def ask() -> None:
            question, failure = self._visit.say(_QUESTIONS[order]), self._watch.history.finished_seq
            ask_first(self._visit, self._root, question, words, lambda: self._give(order, failure), is_grave=order == "cancel")

        ui.button(words, icon=icon, on_click=ask, color=None).props("outline no-caps dense").classes(
            "act-bad" if order == "cancel" else "act"
        )

    async def _give(self, order: Order, failure: int) -> None:
        """A retry only of the failure that the person has seen, the event `failure`."""
        visit = self._visit
        try:
            await self._watch.load()
            if order == "retry" and self._watch.history.finished_seq != failure:
                self._tell(visit.say("console-runs-went-on"), is_good=False)
                return
            _, worked = await visit.services.run_inputs.submit_order(visit.caller, await self._watch.find(), order)
        except ApiError as error:
            self._tell(say_refusal(visit, error), is_good=False)
            return
        self._tell(visit.say("console-runs-done" if worked else "console-runs-stored"))

    async def answer(self, question: str, *, option: int | None = None, text: str | None = None) -> bool:
        """Whether it was taken."""
        visit = self._visit
        if text is not None and not 0 < len(text.strip()) <= LONGEST_ANSWER:
            self._tell(visit.say("console-runs-answer-unfit"), is_good=False)
            return False
        try:
            body = AnswerBody(option=option, text=text)
            await visit.services.run_inputs.submit_answer(visit.caller, await self._watch.find(), question, body)
        except ApiError as error:
            self._tell(say_refusal(visit, error), is_good=False)
            return False
        self._tell(visit.say("console-runs-answered"))
        return True

    def _tell(self, words: str, *, is_good: bool = True) -> None:
        with self._root:
            ui.notify(words, type="positive" if is_good else "negative")

    def draw_wait(self, wait: Wait, *, may_answer: bool) -> None:
        """A question with what answers it, if the person may."""
        visit = self._visit
        match wait.waits_for:
            case "input":
                self._draw_question(wait, may_answer=may_answer)
            case "effect":
                ui.label(visit.say("console-runs-waits-card"))
                if wait.confirmation_id:
                    ui.link(visit.say("console-runs-open-card"), f"/approvals/{wait.confirmation_id}")
            case "timer":
                ui.label(visit.say("console-runs-waits-timer", at=wait.until))
            case "run":
                ui.label(visit.say("console-runs-waits-other"))
                ui.link(visit.say("console-runs-open-other"), f"/runs/{wait.run}")

    def _draw_question(self, wait: Wait, *, may_answer: bool) -> None:
        visit = self._visit
        show_text(wait.text or visit.say("console-runs-waits-answer"), classes="strong")
        if not may_answer:
            names = ", ".join(answer.name or answer.id for answer in wait.answers)
            ui.label(visit.say("console-runs-waits-of", names=names)).classes("muted")
            return
        if wait.options:
            with ui.element("div").classes("acts"):
                for number, option in enumerate(wait.options):
                    self._draw_option(wait.question, number, option)
        if "text" in wait.takes:
            self._draw_answer(wait.question)
        if set(wait.takes) - {"text"}:
            ui.label(visit.say("console-runs-answer-telegram")).classes("muted small")
        if wait.until:
            ui.label(visit.say("console-runs-waits-until", at=wait.until)).classes("muted small")

    def _draw_option(self, question: str, number: int, option: str) -> None:
        async def choose() -> None:
            await self.answer(question, option=number)

        ui.button(option[:200], on_click=choose, color=None).props("outline no-caps").classes("act")

    def _draw_answer(self, question: str) -> None:
        visit = self._visit
        with ui.element("div").classes("job-answer"):
            field = ui.textarea(
                label=visit.say("console-runs-answer"),
                value=self._drafts.get(question, ""),
                on_change=lambda event: self._drafts.update({question: str(event.value or "")}),
            ).props(f"outlined dense autogrow maxlength={LONGEST_ANSWER}")

            async def send() -> None:
                if await self.answer(question, text=str(field.value or "")):
                    field.set_value("")

            ui.button(visit.say("console-runs-send"), icon="send", on_click=send, color=None).props("unelevated no-caps").classes(
                "act-main"
            )


class WaitsView:
    """What is still waited for stays as it is: somebody may be typing there."""

    def __init__(self, visit: Visit, controls: Controls) -> None:
        self._visit, self._controls = visit, controls
        self._place = ui.element("div").classes("live")
        with self._place:
            self._head = ui.element("div")
            self._list = ui.element("div")
        self._drawn: list[tuple[Wait, bool, ui.element]] = []

    def show(self, open_waits: OpenWaits) -> None:
        visit = self._visit
        self._head.clear()
        if open_waits.waits:
            with self._head:
                show_heading(visit.say("console-runs-waits"))
                if open_waits.is_paused:
                    ui.label(visit.say("console-runs-is-paused")).classes("muted")
        current = [(wait, open_waits.may_answer(wait)) for wait in open_waits.waits]
        for gone in [one for one in self._drawn if one[:2] not in current]:
            self._drawn.remove(gone)
            gone[2].delete()
        for wait, may_answer in current:
            if all((wait, may_answer) != one[:2] for one in self._drawn):
                with self._list, build_panel().classes("job-wait") as panel:
                    self._controls.draw_wait(wait, may_answer=may_answer)
                self._drawn.append((wait, may_answer, panel))
