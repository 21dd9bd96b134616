"""Counts sentences that begin with an order to change the CRM, and that is not taken back.

What counts is where the order stands: «Запиши в 410: …» is one, «Клиент просит: запишите …» none. The count only lets additions run
without a card.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import RUSSIAN_SMALL_LETTERS, fold

_WORDS: Final = load_lexicon("orders")
_FENCE: Final = "```"
LONGEST_LINE: Final = 300
LONGEST_DICTATION: Final = 1500
_LONGEST_LOOKED_AT: Final = LONGEST_DICTATION + 100
_LONGEST_SENTENCE: Final = 600
_MOST_SENTENCES: Final = 100
_MOST_OPENINGS: Final = 6
_MOST_BETWEEN: Final = 6
_MOST_ORDERS: Final = 20
"""The rest of a longer message asks."""
_FEWEST_BEFORE: Final = 3
"""Fewer words are mostly a name: «Наташа, запиши»."""


def _join(*keys: str) -> str:
    return "|".join(_WORDS.join_patterns(key) for key in keys)


def _compile(*keys: str, before: str = r"(?<!\w)", after: str = r"(?!\w)") -> re.Pattern[str]:
    return re.compile(rf"{before}(?:{_join(*keys)}){after}")


_VERB: Final = _compile("verbs")
_NEED: Final = re.compile(rf"(?:{_join('needs')})(?!\w)")
_INFINITIVE: Final = re.compile(rf"(?<!\w)(?:{_join('infinitives')})(?!\w)")
_OTHER_WISH: Final = _compile("other_wishes")
_ANSWER: Final = re.compile(rf"\s+(?:(?!(?:{_join('things')})(?!\w))\w+\s+)?(?:{_join('answers')})(?!\w)(?![^:]*:)")
_OPENING: Final = re.compile(rf"(?:{_join('openings')})(?!\w)")
_FIRST: Final = re.compile(rf"(?:{_join('places', 'times', 'objects')})(?!\w)")
_JOINT: Final = re.compile(rf"(?:,\s*|(?<!\w)(?:{_join('joints')})\s+)(?:(?:{_join('joints', 'openings')})\s+){{0,2}}$")
_READING: Final = re.compile(rf"(?:{_join('readings')})(?!\w)")
_NOUN: Final = re.compile(
    rf"(?:(?:{_join('nouns')})(?!\w)\s+[^:\n]|(?:{_join('new_things')})(?!\w))(?:[^:\n]|:(?=[0-9])){{0,80}}:(?![0-9])"
)
_BARE: Final = re.compile(rf"(?:{_join('bare_notes', 'bare_tasks')}|(?:{_join('new_things')})(?:{_join('reached_by')}))")
_NEEDED: Final = re.compile(_join("needed"))
_HEADING: Final = re.compile(rf"(?:{_join('headings')})\s*:\s+")
_OF_SPEAKER: Final = re.compile(rf"(?:\s+\w+)?\s+(?:{_join('of_speaker')})(?!\w)")
_DASH: Final = re.compile(rf"\s[—–-]\s+(?:(?:{_join('joints', 'openings')})\s+){{0,2}}$")
_HAPPENED: Final = _compile("happened")
_HAPPENED_TO_SELF: Final = _compile("happened_to_self")
_REFERENCE: Final = re.compile(rf"{_join('references')}\W*$")
_WORK: Final = re.compile(rf"(?:{_join('works')})(?!\w)")
_ABOUT_RECORD: Final = re.compile(rf"(?:\s+\w+)?(?:\s+(?:{_join('places')}|a|the))?\s+(?:(?:{_join('things')})(?!\w)|[0-9#№«])")
_TYPED: Final = re.compile(rf"[{RUSSIAN_SMALL_LETTERS}]{{5,12}}(?!\w)")
_VOWELS: Final = _WORDS.read_words("vowels")
_WANTED: Final = re.compile(rf"(?:{_join('wanted')})(?!\w)(?!.*(?:{_join('verbs')})(?!\w))")
_ASSIGNMENT: Final = re.compile(rf"(?:{_join('fields')})(?!\w)\s+[^—–:;?!,\n]{{2,60}}?(?:{_join('giving')})\s*\w")
_NOUNS: Final = (_NOUN, _BARE, _NEEDED, _WANTED, _ASSIGNMENT)
_RECORD: Final = rf"(?:[#№]\s?)?[0-9]{{1,9}}(?![0-9%]|[:.-][0-9]|\s[0-9]|\s?(?:{_join('counted')})(?!\w))"
_SEVERAL: Final = re.compile(rf"(?<!\w)(?:{_join('several')})\s+{_RECORD}(?:(?:,?\s(?:{_join('joints')})\s|,\s?){_RECORD})+")
_KINDS: Final = re.compile(rf"(?:{_join('kinds')})(?!\w)")
_NUMBER: Final = re.compile(r"[0-9]+")
_FOREIGN: Final = _compile("reported", "conditions", "denials")
_CONDITION: Final = _compile("conditions", "denials")
_OTHERS: Final = _compile("reported", "received")
_DENIED: Final = re.compile(rf"(?:{_join('denials')})(?!\w)")
_TEXT_WORK: Final = _compile("text_work", before="")
_SIGNED: Final = _compile("signed", after="")
_QUOTATION: Final = re.compile(r"«[^«»]*»|“[^“”]*”|„[^“”]*[“”]|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…;])\s+|\n+")
_LIST: Final = _compile("lists")
_NOTED_LIST: Final = re.compile(rf"(?:{_join('noting')})\s+(?!(?:{_join('lists')})(?!\w))")
_BULLET: Final = re.compile(r"\s*(?:[-–—*•]|[0-9]{1,2}[.)])\s")
_AGAIN: Final = re.compile(rf"\W*(?:(?:{_join('openings')})[\s,]+)?(?:{_join('again')})(?:[\s,]+(?:{_join('openings')}))?\W*")
_OWNER: Final = _compile("owners")
_STAGE: Final = _compile("stages")
_SPACING: Final = re.compile(r"[^\w<>\[\]{}#«»]*")
_DIVIDING: Final = re.compile(r"[:;!?()<>\[\]{}]|,(?! ?(?:№ ?)?[0-9])")
_WORD: Final = re.compile(r"[\w@.+%-]*\w|«»")
_COLON: Final = re.compile(r":(?![0-9])")
_LONGEST_JOINT: Final = 60
_RETOLD: Final = _compile("asking")
_TO_SEVERAL: Final = _WORDS.read_words("plural_ending")
"""Of an order to several people or a polite one, as letters have it."""


def count_orders(text: str) -> int:
    """0 if the message asks, forbids, takes its order back, or works on a text."""
    first, _, below = text.strip()[:_LONGEST_LOOKED_AT].partition("\n")
    dictated = below if first.rstrip().endswith(":") else ""  # what is to be noted gives no orders, but may be a list of tasks
    spoken = _QUOTATION.sub(" «» ", "\n".join(map(fold, [first] if dictated else [first, *below.split("\n")])))
    if _SIGNED.search(spoken) or _TEXT_WORK.match(spoken, _skip_openings(spoken)):
        return 0
    if _WORK.match(spoken, _skip_openings(spoken)):
        spoken = spoken[_find_beside_work(spoken) :]
    sentences = [sentence[:_LONGEST_SENTENCE] for sentence in _SENTENCE_END.split(spoken)]
    if len(sentences) > _MOST_SENTENCES or any(is_broken_off(_QUOTATION.sub(" «» ", fold(line))) for line in dictated.split("\n")):
        return 0
    sentences[0] = _mend_typo(sentences[0])
    orders, dictates = 0, False
    for number, sentence in enumerate(sentences):
        if is_take_back(sentence) or _asks_or_takes_back(sentence, dictates=dictates):
            orders = 0
        elif (more := _count_in_sentence(sentence)) and (orders or not _is_of_others(sentences[:number], sentence)):
            orders, dictates = orders + more, _find_colon(sentence) is not None
    if orders and _LIST.search(spoken) and not _NOTED_LIST.search(spoken):
        orders = max(orders, sum(1 for line in dictated.split("\n") if _BULLET.match(line)))
    return min(orders, _MOST_ORDERS)


def names_owner(text: str) -> bool:
    return _OWNER.search(fold(text)) is not None


def names_stage(text: str) -> bool:
    return _STAGE.search(fold(text)) is not None


def gives_order(text: str) -> bool:
    return count_orders(text) > 0


def speaks_of_change(text: str) -> bool:
    folded = fold(text[:_LONGEST_LOOKED_AT])
    return _VERB.search(folded) is not None or _INFINITIVE.search(folded) is not None


def asks_again(text: str) -> bool:
    return _AGAIN.fullmatch(fold(text)) is not None


def is_plain(text: str) -> bool:
    """One line of 300 letters, or 1,500 that begin with an order; of several lines the first must end with a colon."""
    stripped = text.strip()
    first, broken, _ = stripped.partition("\n")
    if not broken and len(stripped) <= LONGEST_LINE:
        return _FENCE not in stripped
    return (
        _FENCE not in stripped
        and len(stripped) <= LONGEST_DICTATION
        and (not broken or first.rstrip().endswith(":"))
        and _begins_with_order(first)
    )


def _begins_with_order(line: str) -> bool:
    first = _SENTENCE_END.split(_QUOTATION.sub(" «» ", fold(line)))[0][:_LONGEST_SENTENCE]
    return _find_first_order(first, _skip_openings(first), may_follow_fact=False) is not None


def _asks_or_takes_back(sentence: str, *, dictates: bool) -> bool:
    """What is dictated may tell of a question."""
    end = _find_first_order(sentence, _skip_openings(sentence))
    colon = _find_colon(sentence)
    if colon is not None:
        spoken, content = sentence[end:colon], sentence[colon + 1 :]
    else:
        spoken, content = ("", sentence) if dictates and not end else (sentence[end or 0 :], "")
    if sentence.rstrip().endswith("?") and not _RETOLD.search(content):
        return True
    return takes_back(spoken) or is_broken_off(content)


def _find_colon(sentence: str) -> int | None:
    end = _find_first_order(sentence, _skip_openings(sentence))
    colon = _COLON.search(sentence, end - 1) if end else None
    return colon.start() if colon else None


def _find_beside_work(text: str) -> int:
    """Where an order about a record joins one to work on a text, or the end: «Отправь КП и поставь задачу»."""
    for verb in _VERB.finditer(text[:LONGEST_LINE]):
        if re.search(r"[:\n«]", text[: verb.start()]):
            break
        joint = _JOINT.search(text, max(0, verb.start() - _LONGEST_JOINT), verb.start())
        if joint and joint[0].strip(" ,") and not verb[0].endswith(_TO_SEVERAL) and _ABOUT_RECORD.match(text, verb.end()):
            return verb.start()
    return len(text)


def _mend_typo(sentence: str) -> str:
    start = _skip_openings(sentence)
    typed = _TYPED.match(sentence, start)
    if typed is None or _VERB.match(sentence, start):
        return sentence
    rest = sentence[typed.end() :]
    for vowel in _VOWELS:
        mended = f"{typed[0][0]}{vowel}{typed[0][1:]}"
        order = _VERB.match(f"{mended}{rest}")
        if order and order.end() >= len(mended):
            return f"{sentence[:start]}{mended}{rest}"
    return sentence


def _is_of_others(before: list[str], sentence: str) -> bool:
    """As in «Написали из Кедра. Добавьте нас …»."""
    end = _find_first_order(sentence, _skip_openings(sentence))
    return sentence[:end].endswith(_TO_SEVERAL) and any(map(_OTHERS.search, before))


def _count_in_sentence(sentence: str) -> int:
    """0 if it begins with no order and joins none to a fact."""
    end = _find_first_order(sentence, _skip_openings(sentence))
    if end is None:
        return 0
    return _count_records(sentence) + sum(1 for _ in _list_joined(sentence, end))


def _count_records(sentence: str) -> int:
    several = _SEVERAL.search(sentence)
    if several is None:
        return 1
    numbers: list[str] = _NUMBER.findall(several[0])
    if _KINDS.match(several[0]):
        return len(numbers)
    return sum(1 for _ in takewhile(lambda number: len(number) == len(numbers[0]), numbers))


def _list_joined(sentence: str, end: int) -> Iterator[int]:
    """Where orders stand that are joined to the one before `end`; in what is dictated, only by a word («…, и напомни»)."""
    colon = _COLON.search(sentence, end - 1)
    dictation = colon.end() if colon else len(sentence)
    for verb in _VERB.finditer(sentence, end):
        joint = _JOINT.search(sentence, max(end, verb.start() - _LONGEST_JOINT), verb.start())
        if verb.start() < dictation:
            if joint:
                yield verb.start()
        elif joint and joint[0].strip(" ,") and not verb[0].endswith(_TO_SEVERAL):
            yield verb.start()
        else:
            return


def _skip_openings(sentence: str, place: int = 0) -> int:
    place = _end(_BULLET, sentence, place)
    for _ in range(_MOST_OPENINGS):
        place = _end(_SPACING, sentence, place)
        opening = _OPENING.match(sentence, place)
        if opening is None:
            break
        place = opening.end()
    return _end(_SPACING, sentence, place)


def _end(pattern: re.Pattern[str], sentence: str, place: int) -> int:
    match = pattern.match(sentence, place)
    return match.end() if match else place


def _find_first_order(sentence: str, start: int, *, may_follow_fact: bool = True) -> int | None:
    """Where the first order ends, also one behind a fact; None if there is none."""
    if _DENIED.match(sentence, start):
        return None
    if noun := next(filter(None, (pattern.match(sentence, start) for pattern in _NOUNS)), None):
        end = len(sentence) if noun.re is _WANTED else noun.end()
        return None if _FOREIGN.search(sentence, start, end) else noun.end()
    if need := _NEED.match(sentence, start):
        return _find_needed(sentence, need.end())
    if heading := _HEADING.match(sentence, start):
        verb = _VERB.match(sentence, _skip_openings(sentence, heading.end()))
        if verb and not verb[0].endswith(_TO_SEVERAL) and not _FOREIGN.search(heading[0]) and not _OF_SPEAKER.match(sentence, verb.end()):
            return verb.end()
    verb = _VERB.search(sentence, start)
    if verb is None or _ANSWER.match(sentence, verb.end()):
        return None
    if verb.start() == start or (_FIRST.match(sentence, start) and _is_near(sentence, start, verb.start())):
        return verb.end()
    may_follow = may_follow_fact and not verb[0].endswith(_TO_SEVERAL)
    return verb.end() if may_follow and _follows_fact(sentence, start, verb) else None


def _find_needed(sentence: str, start: int) -> int | None:
    infinitive = _INFINITIVE.search(sentence, start)
    if infinitive is None or _OTHER_WISH.search(sentence, start, infinitive.start()):
        return None
    return infinitive.end() if _is_near(sentence, start, infinitive.start()) else None


def _is_near(sentence: str, start: int, end: int) -> bool:
    between = sentence[start:end]
    return _DIVIDING.search(between) is None and len(_WORD.findall(between)) <= _MOST_BETWEEN and not _FOREIGN.search(between)


def _follows_fact(sentence: str, start: int, verb: re.Match[str]) -> bool:
    """«Созвонились с Кедром, запиши …». A fact that tells what others say is noted as it stands: «Звонил, просят скидку, запиши»."""
    before = sentence[start : verb.start()]
    if ":" in before:
        return False
    fact, comma, clause = before.rpartition(",")
    joint = _JOINT.search(before)
    length = len(_WORD.findall(fact))
    if _FOREIGN.search(before):
        noted = (joint or _DASH.search(before)) and length >= _FEWEST_BEFORE and _REFERENCE.match(sentence, verb.end())
        return bool(noted) and not _CONDITION.search(before)
    if _READING.match(before) and joint:
        return True
    if dash := _DASH.search(before):
        return _HAPPENED.search(before, 0, dash.start()) is not None and not _OF_SPEAKER.match(sentence, verb.end())
    if not comma or (length < _FEWEST_BEFORE and not _HAPPENED_TO_SELF.search(fact)):
        return False
    begun = clause.lstrip()
    return joint is not None or (_FIRST.match(begun) is not None and len(_WORD.findall(begun)) <= _MOST_BETWEEN)


_LONGEST_CLAUSE: Final = 60
_CLAUSES_IN_A_ROW: Final = 2


_CANCELLED: Final = re.compile(rf"(?:^|[.,!;…–—-]+\s*|\s{{2,}})(?:(?:{_join('before_cancelled')})\s*,?\s*)?(?:{_join('cancelled')})(?!\w)")
_FORBIDDEN: Final = re.compile(rf"(?<!\w)(?:{_join('forbidden')})")
_WRITING_FORBIDDEN: Final = re.compile(rf"(?<!\w)(?:{_join('writing_forbidden')})(?!\w)")
_BESIDE: Final = _join("before_cancelled", "beside_cancelled")
_WHOLE: Final = re.compile(
    rf"(?:(?:{_BESIDE})\s+){{0,4}}(?:{_join('cancelled', 'withdrawn')}|(?:{_join('forbidden')})\w*)(?:\s+(?:{_BESIDE})){{0,4}}"
)
_EMPTY: Final = re.compile(rf"(?:{_BESIDE})(?:\s+(?:{_BESIDE})){{0,4}}")
_CLAUSE_END: Final = re.compile(r"[.,!;:…–—]+|\s-+\s|^\s*-|\s{2,}|$")
_DICTATED_END: Final = re.compile(r"(?<=[.!…;])\s+")


def is_take_back(sentence: str) -> bool:
    """The folded sentence says nothing else."""
    clauses = _split_clauses(sentence)
    return any(map(_WHOLE.fullmatch, clauses)) and all(_WHOLE.fullmatch(clause) or _EMPTY.fullmatch(clause) for clause in clauses)


def takes_back(rest: str) -> bool:
    """`rest` is the folded text behind the order.

    In dictated text («клиент сказал нет») only a whole sentence counts, or two such clauses in a row.
    """
    return _CANCELLED.search(rest) is not None or _FORBIDDEN.search(rest) is not None or any(map(_WHOLE.fullmatch, _split_clauses(rest)))


def is_broken_off(dictated: str) -> bool:
    """A folded line that is dictated takes its order back."""
    if _WRITING_FORBIDDEN.search(dictated) or any(map(is_take_back, _DICTATED_END.split(dictated))):
        return True
    in_a_row = 0
    for clause in _split_clauses(dictated):
        in_a_row = in_a_row + 1 if _WHOLE.fullmatch(clause) else 0
        if in_a_row == _CLAUSES_IN_A_ROW:
            return True
    return False


def _split_clauses(text: str) -> list[str]:
    """Of a long clause only the beginning, which takes back nothing."""
    return [clause[:_LONGEST_CLAUSE] for part in _CLAUSE_END.split(text) if (clause := part.strip(" ?()\"'"))]
