"""Renders the progress of a running turn: steps, then the answer so far. Pure."""

from collections.abc import Iterable, Sequence

from bot.i18n.translate import Translator
from bot.rendering.defang_links import disable_links
from bot.rendering.markdown import render_markdown
from bot.rendering.spans import Span, Spans, build_spans, join_blocks
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from orchestrator.language.text import quote

MAX_STEPS = 6
"""Earlier steps are counted."""
_STATES = frozenset({"running", "done", "waiting", "refused", "unknown", "planned"})


class Step(View):
    state: str = ""
    verb: str = ""
    entity: str = ""
    title: str = ""
    url: str = ""
    method: str = ""


def render_progress(steps: Sequence[Step], note: Notice | None, text: str, tr: Translator) -> Spans:
    """Empty if there is nothing to show."""
    left_out = len(steps) - MAX_STEPS
    lines = [build_spans(tr.translate("step-earlier", count=left_out))] if left_out > 0 else []
    lines.extend(render_step(step, tr) for step in steps[-MAX_STEPS:])
    if note is not None:
        lines.append(build_spans(tr.translate_notice(note)))
    return join_blocks([join_blocks(lines, "\n"), render_markdown(text, locale=tr.locale)], "\n\n")


def render_step(step: Step, tr: Translator) -> Spans:
    """«✓ нашёл сделки», «⏳ меняю сделку «Ромашка»»."""
    words = _find_step_words(step, "done" if step.state == "done" else "doing", tr)
    line = tr.translate(f"step-{step.state if step.state in _STATES else 'running'}", words=words)
    title = disable_links(step.title)
    if not title:
        return build_spans(line)
    before, _, after = line.partition(words)
    return build_spans(before, words, " ", Span(quote(title, tr.locale), url=step.url), after)


def _find_step_words(step: Step, tense: str, tr: Translator) -> str:
    """`tense` is "done" or "doing"."""
    verb, entity = step.verb, step.entity
    if verb == "batch":
        return tr.translate(f"{tense}-batch")
    if act := tr.find_act(step.method):
        return act
    number = "many" if verb == "list" else "one"
    if tr.has_message(f"{tense}-{verb}"):
        what = _find_first_known((f"{number}-{entity}", f"{number}-other"), tr)
        return f"{tr.translate(f'{tense}-{verb}')} {tr.translate(what)}"
    return tr.describe_call(step.method, verb, entity) or f"{tr.translate(f'{tense}-other')} {step.method}".strip()


def _find_first_known(codes: Iterable[str], tr: Translator) -> str:
    return next(code for code in codes if tr.has_message(code))
