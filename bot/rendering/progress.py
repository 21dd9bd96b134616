"""How far a turn is, in words of code: steps with ticks, then the answer as far as it has come. Ring 3, pure; no THOUGHT, no ACTION."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, joined, quoted, spans
from bot.rendering.untappable import dead
from orchestrator.messages import Notice

MAX_STEPS = 6
"""More are counted: who looks wants to see where it is now."""
_STATES = frozenset({"running", "done", "waiting", "refused", "unknown", "planned"})


def progress_text(steps: Sequence[Mapping[str, Any]], note: Notice | None, text: str, tr: Translator) -> Spans:
    """The steps so far, what is being counted, and the words of the answer; empty while there is nothing to say."""
    left_out = len(steps) - MAX_STEPS
    lines = [spans(tr.say("step-earlier", count=left_out))] if left_out > 0 else []
    lines.extend(step_line(step, tr) for step in steps[-MAX_STEPS:])
    if note is not None:
        lines.append(spans(tr.notice(note)))
    return joined([joined(lines, "\n"), spans(text)], "\n\n")


def step_line(step: Mapping[str, Any], tr: Translator) -> Spans:
    """«✓ нашёл сделки», «⏳ меняю сделку «Ромашка»»: the record is a link where its address is known."""
    state = str(step.get("state") or "running")
    words = _words(step, "done" if state == "done" else "doing", tr)
    line = tr.say(f"step-{state if state in _STATES else 'running'}", words=words)
    title = dead(str(step.get("title") or ""))
    if not title:
        return spans(line)
    before, _, after = line.partition(words)
    return spans(before, words, " ", Span(quoted(title), url=str(step.get("url") or "")), after)


def _words(step: Mapping[str, Any], tense: str, tr: Translator) -> str:
    """Verb and object; an action that has no pair of tenses is named as it stands on a card."""
    verb, entity = str(step.get("verb") or ""), str(step.get("entity") or "")
    if verb == "batch":
        return tr.say(f"{tense}-batch")
    number = "many" if verb == "list" else "one"
    if tr.knows(f"{tense}-{verb}"):
        what = _first_known((f"{number}-{entity}", f"{number}-other"), tr)
        return f"{tr.say(f'{tense}-{verb}')} {tr.say(what)}"
    code = f"verb-{verb}-{entity}"
    if tr.knows(code):
        return tr.say(code)
    return f"{tr.say(f'{tense}-other')} {step.get('method') or ''}".strip()


def _first_known(codes: Iterable[str], tr: Translator) -> str:
    return next(code for code in codes if tr.knows(code))
