"""Shows a flow that is played in the terminal: for people with signs and sentences, for programs one event a line."""

import sys

from bot.cli.author.trying import PROGRAM_ERROR, write_text
from bot.cli.ops import escape_text, write_json_lines
from bot.i18n.translate import Translator
from bot.rehearsing.words import cut_text, render_plain_reply
from engines.flows.terminal.trying import Attempt, TriedFlow, Watcher
from orchestrator.domain.outputs import Text
from orchestrator.rehearsals.rehearsal import Happening
from state.canonical import dumps


class PeopleWatcher(Watcher):
    """Writes sentences to stdout."""

    def __init__(self, tr: Translator) -> None:
        """Write in the language of `tr`."""
        self._tr = tr

    def begin(self, attempt: Attempt) -> None:
        """Write which step is being done."""
        tries = f" ({attempt.number}/{attempt.step.max_attempts})" if attempt.number > 1 else ""
        write_text(f"⏳ {attempt.step.name or attempt.step.id}{tries}")

    def finish(self, attempt: Attempt, answer: str) -> None:
        """Write that the step is done, and what its agent said."""
        said = cut_text(answer).strip()
        told = (f"\n{said}" if "\n" in said else f" {said}") if said else f" {self._tr.translate('author-empty')}"
        write_text(f"{'✅' if said else '❌'} {attempt.step.name or attempt.step.id}:{told}")

    def fail(self, attempt: Attempt, why: str) -> None:
        """Write that there is no answer."""
        write_text(f"❌ {attempt.step.name or attempt.step.id}: {self._tr.translate('author-no-answer', why=why)}")

    def note(self, happening: Happening) -> None:
        """Write an effect as the plan that it is, or why the flow failed."""
        if happening.kind == "effect":
            told = self._tr.translate("author-planned", method=happening.data["method"])
            write_text(f"[{happening.place.step}] {told} {cut_text(dumps(happening.data['params']))}")
        elif happening.reply is not None:
            write_text(render_plain_reply(happening.reply, self._tr))
            if happening.data == PROGRAM_ERROR:
                write_text(cut_text(happening.text))

    def end(self, tried: TriedFlow) -> None:
        """Write the result as a chat shows it, and how the flow ended."""
        if tried.problem:
            sys.stderr.write(escape_text(self._tr.translate("author-unfinished", why=tried.problem)) + "\n")
            return
        if tried.result.reply is not None:
            quoted = tried.result.reply.parts  # the answers of the steps have been shown already
            result = tried.result.reply.model_copy(update={"parts": tuple(one for one in quoted if isinstance(one, Text))})
            write_text(f"\n{render_plain_reply(result, self._tr)}\n")
        write_text("— " + self._tr.translate("author-ended", outcome=tried.result.status))


class ProgramWatcher(Watcher):
    """Writes JSON to stdout, an object a line."""

    def begin(self, attempt: Attempt) -> None:
        """Write the event `step`."""
        self._tell("step", attempt)

    def finish(self, attempt: Attempt, answer: str) -> None:
        """Write the event `answer`."""
        self._tell("answer", attempt, text=answer)

    def fail(self, attempt: Attempt, why: str) -> None:
        """Write the event `no_answer`."""
        self._tell("no_answer", attempt, why=why)

    def note(self, happening: Happening) -> None:
        """Write the event by the name of its kind."""
        write_json_lines([{"event": happening.kind, "step": happening.place.step, "text": happening.text, "data": happening.data}])

    def end(self, tried: TriedFlow) -> None:
        """Write the event `end`."""
        outcome = "unfinished" if tried.problem else tried.result.status
        told = {"event": "end", "outcome": outcome, "code": tried.result.code, "problem": tried.problem}
        write_json_lines([{**told, "result": tried.result.value.data}])

    def _tell(self, event: str, attempt: Attempt, **more: str) -> None:
        write_json_lines([{"event": event, "step": attempt.step.id, "visit": attempt.visit, "attempt": attempt.number, **more}])
