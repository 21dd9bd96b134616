"""Whether what follows an order takes it back.

In dictated text («клиент сказал нет») only a whole sentence counts, or two such clauses in a row.
"""

import re
from typing import Final

from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("orders")
_LONGEST_CLAUSE: Final = 60
_CLAUSES_IN_A_ROW: Final = 2


def _join(*keys: str) -> str:
    return "|".join(_WORDS.join_patterns(key) for key in keys)


_CANCELLED: Final = re.compile(rf"(?:^|[.,!;…–—-]+\s*|\s{{2,}})(?:(?:{_join('before_cancelled')})\s*,?\s*)?(?:{_join('cancelled')})(?!\w)")
_FORBIDDEN: Final = re.compile(rf"(?<!\w)(?:{_join('forbidden')})")
_WRITING_FORBIDDEN: Final = re.compile(rf"(?<!\w)(?:{_join('writing_forbidden')})(?!\w)")
_BESIDE: Final = _join("before_cancelled", "beside_cancelled")
_WHOLE: Final = re.compile(
    rf"(?:(?:{_BESIDE})\s+){{0,4}}(?:{_join('cancelled', 'withdrawn')}|(?:{_join('forbidden')})\w*)(?:\s+(?:{_BESIDE})){{0,4}}"
)
_EMPTY: Final = re.compile(rf"(?:{_BESIDE})(?:\s+(?:{_BESIDE})){{0,4}}")
_CLAUSE_END: Final = re.compile(r"[.,!;:…–—]+|\s-+\s|^\s*-|\s{2,}|$")
_SENTENCE_END: Final = re.compile(r"(?<=[.!…;])\s+")


def is_take_back(sentence: str) -> bool:
    """The folded sentence says nothing else."""
    clauses = _split_clauses(sentence)
    return any(map(_WHOLE.fullmatch, clauses)) and all(_WHOLE.fullmatch(clause) or _EMPTY.fullmatch(clause) for clause in clauses)


def takes_back(rest: str) -> bool:
    """`rest` is the folded text behind the order."""
    return _CANCELLED.search(rest) is not None or _FORBIDDEN.search(rest) is not None or any(map(_WHOLE.fullmatch, _split_clauses(rest)))


def is_broken_off(dictated: str) -> bool:
    """A folded line that is dictated takes its order back."""
    if _WRITING_FORBIDDEN.search(dictated) or any(map(is_take_back, _SENTENCE_END.split(dictated))):
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
