"""Makes the answer to a parsed request. Before any step has run, a rule answers; afterwards a second rule or a report does."""

import re
from dataclasses import replace

from sandbox.model.answers import Answer, say, write
from sandbox.model.lexicon import load
from sandbox.model.reading import Observation, Request
from sandbox.model.rules import after, calls, gullible, talk
from sandbox.model.rules.book import FOLLOWERS, first
from sandbox.model.text import fold
from sandbox.model.wishes import Target, Wish, wishes

_LONGEST = 4096
_QUESTIONS = "which."
_COURTESY = re.compile(
    r"^(?:(?:большое )?спасибо|привет\w*|здравствуй\w*|добр(?:ый|ое|ой) (?:день|утро|вечер)"
    r"|thanks|thank you|hi|hello|hey|good (?:morning|day|afternoon|evening))\s?[,.!]+\s+(?=\w)"
)


def reply(request: Request) -> tuple[str, str]:
    """Return the text of the answer and the name of the rule that made it. Equal requests get equal answers."""
    if request.dialect == "plain" and (prepared := calls.prepare_call(request)):
        return prepared.say, prepared.rule
    answer = think(request)
    if request.dialect == "plain":
        return say("plain", request.lang, said=answer.say), answer.rule
    return write(answer, request.lang), answer.rule


def think(request: Request) -> Answer:
    """Return the answer to a request as an object; `reply` turns it into text."""
    polite = _COURTESY.match(fold(request.text))
    if polite:
        request = replace(request, text=request.text[polite.end() :])
    request = _with_question_answered(request)
    if request.observations:
        return _go_on(request, request.observations[-1])
    return _begin(request)[0]


def _begin(request: Request) -> tuple[Answer, Wish]:
    """Return the first answer to a message, and the wish (a part of the message, or all of it) that it serves.

    A message that is longer than a Telegram message may be is not understood.
    """
    whole = Wish(request.text or request.pasted, request.lang, request)
    if len(whole.text) > _LONGEST:
        return talk.unknown(whole), whole
    parts = wishes(request)
    if len(parts) > 1 and (joint := _several(parts, whole)):
        return joint
    return first(whole) or talk.unknown(whole), whole


def _several(parts: tuple[Wish, ...], whole: Wish) -> tuple[Answer, Wish] | None:
    """Return one answer with the steps of several wishes, and the wish that it serves.

    `parts` are the wishes of a message. `whole` is the message as one wish, which is returned if the answer serves several. A wish that
    must read before it writes is served alone. The answer asks the person to repeat each wish that it does not serve. Return None if at
    most one wish has steps, unless that one must read first.
    """
    answers: list[tuple[Wish, Answer | None]] = []
    about: Target | None = None
    for part in parts:
        wish = replace(part, inherited=about)
        answer = first(wish)
        answers.append((wish, answer))
        about = _record_of(answer) or about
    able = [(wish, answer) for wish, answer in answers if answer and answer.steps]
    # A wish that needs two steps (read, then write) is served alone; the rest has to be asked for again.
    chosen = next(([pair] for pair in able if pair[1].rule in FOLLOWERS), able)
    if len(able) < 2 and chosen is able:
        return None
    later = [wish.text.strip(" .") for wish, answer in answers if (wish, answer) not in chosen]
    said = [answer.say for _, answer in chosen] + [say("later", whole.lang, words=words) for words in later]
    rule = chosen[0][1].rule if len(chosen) == 1 else "several"
    steps = tuple(step for _, answer in chosen for step in answer.steps)
    return Answer(rule=rule, say="\n".join(said), steps=steps), chosen[0][0] if len(chosen) == 1 else whole


def _record_of(answer: Answer | None) -> Target | None:
    """Return the record that an answer's steps are about, or None. The next wish in the message may then leave the record out."""
    for step in answer.steps if answer else ():
        fields = step.params.get("fields")
        place = fields.get("ENTITY_ID") if isinstance(fields, dict) else None
        record = step.params.get("id", step.params.get("ownerId", place))
        if isinstance(record, int | str) and step.method.startswith("crm."):
            return record
    return None


def _go_on(request: Request, seen: Observation) -> Answer:
    """Return the answer after steps have run; `seen` is their latest results.

    If a step did not succeed, report that. After the first results, the follower of the rule (its second part) or the gullible rule may
    propose more steps. Otherwise report the results.
    """
    plan, wish = _begin(replace(request, observations=()))
    wish = replace(wish, request=request)
    if seen.is_decided and (after.stopped(seen) or len(request.observations) > 1 or plan.rule not in FOLLOWERS):
        return Answer(rule="after.cards", say="")
    if after.stopped(seen):
        return after.stopped_report(wish, seen, earlier=request.observations[:-1])
    if len(request.observations) == 1:
        follower = FOLLOWERS.get(plan.rule)
        further = (follower(wish, seen) if follower else None) or gullible.fooled(wish, seen)
        if further:
            return further.named(plan.rule if follower else "gullible")
    return after.report(wish, seen, headline=_headline(plan))


def _headline(plan: Answer) -> str:
    """Return the sentence above a list of found records: the text of the answer that proposed this list, or "" if it is no list."""
    return plan.say if len(plan.steps) == 1 and plan.steps[0].method.endswith(".list") else ""


def _with_question_answered(request: Request) -> Request:
    """Return the request with the person's previous message put in front of its text, if the text only answers the model's question.

    Any other request is returned unchanged.
    """
    if not _asked_back(request.said_before):
        return request
    alone = first(Wish(request.text, request.lang, request))
    if alone and alone.rule != "deal.bare":
        return request
    return replace(request, text=f"{request.asked_before.rstrip(' .!?')} {request.text}")


def _asked_back(said: str) -> bool:
    questions = (text for key, texts in load("speech").items() if key.startswith(_QUESTIONS) for text in texts.values())
    return any(question in said for question in questions)
