"""Makes the answer to a parsed request. Before any step has run, a rule answers; afterwards a second rule or a report does."""

import re
from collections.abc import Sequence
from dataclasses import replace

from sandbox.model.answers import Answer, say, write
from sandbox.model.groups import find_grouping
from sandbox.model.lexicon import load
from sandbox.model.reading import Observation, Request
from sandbox.model.rounds import Round, divide
from sandbox.model.rules import after, calls, documents, gullible
from sandbox.model.rules.book import FOLLOWERS, first
from sandbox.model.text import fold
from sandbox.model.wishes import Wish

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
    request = _with_list_before(documents.restore_question(_with_question_answered(request)))
    rounds = divide(replace(request, observations=()))
    return _go_on(request, rounds) if request.observations else rounds[0].answer


def _go_on(request: Request, rounds: Sequence[Round]) -> Answer:
    """Return the answer after steps have run; the observations of the request tell which rounds are over.

    A round is over when its plan has results, or its second plan if its rule has a follower. Then the next one begins. A step that did not
    succeed ends the turn, unless people have decided about it on a card.
    """
    number = begun = 0
    answer = rounds[0].answer
    for place, seen in enumerate(request.observations):
        now = rounds[number]
        further = _follow(request, now, seen) if place == begun else None
        if further is not None:
            answer = further
        elif number + 1 < len(rounds) and (seen.is_decided or not after.stopped(seen)):
            number, begun = number + 1, place + 1
            answer = _begin(rounds[number], _report(request, now, seen))
        else:
            earlier = request.observations[begun:place]
            answer = _end(request, rounds[number:], seen, earlier)
    return answer


def _follow(request: Request, now: Round, seen: Observation) -> Answer | None:
    """Return the second plan of a round after the results of its first one; None if it has none, or if a step did not succeed.

    The second plan is that of the rule's follower, or what the gullible rule proposes.
    """
    follower = FOLLOWERS.get(now.answer.rule)
    if after.stopped(seen) or (seen.is_decided and follower is None):
        return None
    wish = replace(now.wish, request=request)
    further = (follower(wish, seen) if follower else None) or gullible.fooled(wish, seen)
    return further.named(now.answer.rule if follower else "gullible") if further else None


def _begin(following: Round, told: str) -> Answer:
    """Return the plan of the next round, below the words about the round before it."""
    return replace(following.answer, say="\n\n".join(filter(None, [told, following.answer.say])))


def _end(request: Request, rounds: Sequence[Round], seen: Observation, earlier: Sequence[Observation]) -> Answer:
    """Return the last words of a turn: what came of the first of the given rounds, and which wishes have to be asked for again."""
    if seen.is_decided:
        return Answer(rule="after.cards", say="")
    wish = replace(rounds[0].wish, request=request)
    if not after.stopped(seen):
        told = after.report(wish, seen, headline=_headline(rounds[0].answer))
        return replace(told, say="\n".join([told.say, *(say("later", request.lang, words=words) for words in rounds[0].unserved)]))
    answer = after.stopped_report(wish, seen, earlier=earlier)
    lost = [say("later", request.lang, words=one.wish.words) for one in rounds[1:]]
    return replace(answer, say="\n".join([answer.say, *lost]))


def _report(request: Request, now: Round, seen: Observation) -> str:
    """Return what came of a round; "" if the cards have said it."""
    return "" if seen.is_decided else after.report(replace(now.wish, request=request), seen, headline=_headline(now.answer)).say


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


def _with_list_before(request: Request) -> Request:
    """Return the request with the list of the message before it, if its text is only «а по стадиям?»; otherwise unchanged.

    Messages of that sort that came before it are passed over.
    """
    grouping = find_grouping(request.text)
    if grouping is None or not grouping.stands_alone:
        return request
    for asked in request.asked_earlier:
        before = find_grouping(asked)
        if before is None or not before.stands_alone:
            return replace(request, text=f"{(before.rest if before else asked).rstrip(' .!?')} {grouping.words}")
    return request


def _asked_back(said: str) -> bool:
    questions = (text for key, texts in load("speech").items() if key.startswith(_QUESTIONS) for text in texts.values())
    return any(question in said for question in questions)
