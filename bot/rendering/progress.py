"""Renders the progress of a running turn (processing of a request): its steps with ticks, then the answer so far. Pure.

The text of the answer arrives without the model's THOUGHT and ACTION blocks.
"""

from collections.abc import Iterable, Sequence

from bot.i18n.translate import Translator
from bot.rendering.defang_links import disable_links
from bot.rendering.markdown import render_markdown
from bot.rendering.spans import Span, Spans, build_spans, join_blocks
from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice
from orchestrator.language.text import quote

MAX_STEPS = 6
"""Maximum number of steps shown; of earlier ones only the number is shown."""
_STATES = frozenset({"running", "done", "waiting", "refused", "unknown", "planned"})


class Step(View):
    """One step of a turn, parsed from the arguments of a progress notice with the code "step"."""

    state: str = ""
    verb: str = ""
    entity: str = ""
    title: str = ""
    url: str = ""
    method: str = ""


def render_progress(steps: Sequence[Step], note: Notice | None, text: str, tr: Translator) -> Spans:
    """Return the steps so far, the notice `note` and the answer so far (`text`); empty if there is nothing to show."""
    left_out = len(steps) - MAX_STEPS
    lines = [build_spans(tr.translate("step-earlier", count=left_out))] if left_out > 0 else []
    lines.extend(render_step(step, tr) for step in steps[-MAX_STEPS:])
    if note is not None:
        lines.append(build_spans(tr.translate_notice(note)))
    return join_blocks([join_blocks(lines, "\n"), render_markdown(text, locale=tr.locale)], "\n\n")


def render_step(step: Step, tr: Translator) -> Spans:
    """Return the line of a step, such as «✓ нашёл сделки» or «⏳ меняю сделку «Ромашка»», with a link if the record's address is known."""
    words = _find_step_words(step, "done" if step.state == "done" else "doing", tr)
    line = tr.translate(f"step-{step.state if step.state in _STATES else 'running'}", words=words)
    title = disable_links(step.title)
    if not title:
        return build_spans(line)
    before, _, after = line.partition(words)
    return build_spans(before, words, " ", Span(quote(title, tr.locale), url=step.url), after)


def _find_step_words(step: Step, tense: str, tr: Translator) -> str:
    """Return what the step does, as verb and object, such as «нашёл сделки»; `tense` is "done" or "doing".

    A method with words of its own, such as «Отвязать контакт от сделки», has one form for both tenses. A step for which there are no words
    is named by its method.
    """
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
