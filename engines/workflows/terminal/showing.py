"""Shows a workflow that is played in the terminal: for people with signs and sentences, for programs one event a line."""

import sys
from collections.abc import Mapping

from bot.cli.author.trying import write_text
from bot.cli.ops import escape_text, write_json_lines
from bot.i18n.translate import Translator
from bot.rehearsing.words import cut_text, render_plain_reply
from engines.workflows.core.execution import STOPPED
from engines.workflows.rehearsal.playing import WorkflowPlayed
from engines.workflows.terminal.trying import Watcher
from engines.workflows.trial import describe_operation
from orchestrator.engines.shared.rendering import render_plain
from orchestrator.rehearsals.rehearsal import Happening
from state.stored import JsonObject


class PeopleWatcher(Watcher):
    """Writes sentences to stdout. Tuums run side by side: whenever another one speaks, a line begins with its title."""

    def __init__(self, tr: Translator, titles: Mapping[str, str]) -> None:
        """Write in the language of `tr`, with tuums by these titles."""
        self._tr, self._titles = tr, titles
        self._speaker = ""
        """The tuum whose line is open, "" for none."""
        self._shown: dict[str, str] = {}
        """What each tuum has shown last."""

    def begin(self, tuum: str) -> None:
        """Write that a model is being asked."""
        self._write(f"⏳ {self._titles[tuum]}")

    def add(self, tuum: str, piece: str) -> None:
        """Write a piece behind those before it."""
        if self._speaker != tuum:
            self._close_line()
            write_text(f"[{self._titles[tuum]}] ", end="")
            self._speaker = tuum
        write_text(piece, end="")

    def show(self, tuum: str, text: str, update: JsonObject) -> None:
        """Write what is shown; of a text that has only become longer, what is new."""
        content = text or str(update.get("Content", ""))
        before = self._shown.get(tuum, "")
        if before and content.startswith(before) and self._speaker == tuum:
            self.add(tuum, content[len(before) :])
        else:
            self._close_line()
            self.add(tuum, content)
        self._shown[tuum] = content

    def answer(self, tuum: str, text: str, *, was_shown: bool) -> None:
        """Write an answer that has not been shown while it came."""
        if not was_shown:
            self._write(f"[{self._titles[tuum]}] {cut_text(text).strip() or self._tr.translate('author-empty')}")

    def fail(self, tuum: str, why: str) -> None:
        """Write that there is no answer."""
        self._write(f"❌ {self._titles[tuum]}: {self._tr.translate('author-no-answer', why=why)}")

    def finish(self, tuum: str) -> None:
        """Write that the tuum has ended."""
        self._write(f"✅ {self._titles[tuum]}")

    def note(self, happening: Happening) -> None:
        """Write why the workflow failed; what it proposes is written at the end."""
        if happening.kind == "failure" and happening.reply is not None:
            self._write(render_plain_reply(happening.reply, self._tr))

    def end(self, played: WorkflowPlayed) -> None:
        """Write the text of the result, what is proposed, what finished, and how it ended."""
        self._close_line()
        if played.problem:
            sys.stderr.write(escape_text(self._tr.translate("author-unfinished", why=played.problem)) + "\n")
            return
        result = played.result
        if result.raw_text:
            write_text(f"\n{render_plain(result.raw_text)}\n")
        if result.error_message and result.error_code != STOPPED:  # of one that stopped itself they are the sentence above
            write_text(cut_text(result.error_message))
        if played.proposed:
            write_text(self._tr.translate("workflow-cli-proposed", count=len(played.proposed)))
            for operation in played.proposed:
                write_text(f"  • {describe_operation(operation, self._tr)}")
        if result.finished:
            write_text(self._tr.translate("workflow-cli-finished", names=", ".join(self._titles[one] for one in result.finished)))
        write_text("— " + self._tr.translate("author-ended", outcome="done" if result.is_success else "failed"))

    def _write(self, line: str) -> None:
        self._close_line()
        write_text(line)

    def _close_line(self) -> None:
        if self._speaker:
            write_text("")
        self._speaker = ""


class ProgramWatcher(Watcher):
    """Writes JSON to stdout, an object a line."""

    def begin(self, tuum: str) -> None:
        """Write the event `ask`."""
        _tell("ask", tuum)

    def add(self, tuum: str, piece: str) -> None:
        """Write the event `text`."""
        _tell("text", tuum, added=piece)

    def show(self, tuum: str, text: str, update: JsonObject) -> None:
        """Write the event `display` with the update in the seed's names."""
        del text
        _tell("display", tuum, displayUpdate=update)

    def answer(self, tuum: str, text: str, *, was_shown: bool) -> None:
        """Write the event `answer`."""
        del was_shown
        _tell("answer", tuum, text=text)

    def fail(self, tuum: str, why: str) -> None:
        """Write the event `no_answer`."""
        _tell("no_answer", tuum, why=why)

    def finish(self, tuum: str) -> None:
        """Write the event `tuum`."""
        _tell("tuum", tuum)

    def note(self, happening: Happening) -> None:
        """Write the event by the name of its kind."""
        _tell(happening.kind, happening.place.step, node=happening.place.node, text=happening.text, data=happening.data)

    def end(self, played: WorkflowPlayed) -> None:
        """Write the event `end` with the result in the seed's names."""
        outcome = "unfinished" if played.problem else "done" if played.result.is_success else "failed"
        result = played.result.model_dump(mode="json", by_alias=True, exclude_none=True)
        write_json_lines([{"event": "end", "outcome": outcome, "problem": played.problem, "result": result}])


def _tell(event: str, tuum: str, **more: object) -> None:
    write_json_lines([{"event": event, "tuum": tuum, **more}])
