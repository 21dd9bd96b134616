"""What both implementations of the index share: how problems and texts are stored, and which words of a question are looked for."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import orjson
from pydantic import TypeAdapter

from orchestrator.services.rag.document import Passage, Problem
from orchestrator.services.rag.index.port import FileRecord, PassageVectors, Vectors

MOST_TERMS: Final = 24
_PROBLEM: Final = TypeAdapter(Problem)
_COMMON: Final = 0.35
"""The share of passages above which a word says too little to be looked for, if the question has others."""
_COMMON_FROM: Final = 50
_LEAST_TOTAL: Final = 50
"""Words are weighed as in an index of at least so many passages: in one of a few, a word that stands nowhere outweighs all others."""


def write_problem(problem: Problem | None) -> tuple[str, str]:
    """Return (code, details as JSON) of a problem."""
    return ("", "") if problem is None else (problem.code, orjson.dumps(dict(problem.details)).decode())


def read_problem(code: str, details: str) -> Problem | None:
    """Return the problem that `write_problem` wrote."""
    return _PROBLEM.validate_python({"code": code, "details": orjson.loads(details or "{}")}) if code else None


LOAD_FILES: Final = "SELECT path, name, size, mtime_ns, digest, access, problem, details FROM documents"
"""The query whose rows `read_files` reads."""


def read_files(rows: Iterable[Sequence[Any]]) -> dict[str, FileRecord]:
    """Return what the rows of `LOAD_FILES` say of each file, by path."""
    return {
        path: FileRecord(
            path=path, name=name, size=size, mtime_ns=mtime, digest=digest, access=access, problem=read_problem(problem, details)
        )
        for path, name, size, mtime, digest, access, problem, details in rows
    }


def hash_passage(passage: Passage) -> str:
    """Return the hash of what is embedded of a passage."""
    return hashlib.sha256(build_embedded_text(passage.title, passage.text).encode("utf-8", "replace")).hexdigest()


def build_embedded_text(title: str, text: str) -> str:
    """Return the text of a passage whose vector is made."""
    return f"{title}\n{text}"


class Wording:
    """The terms of a question with how telling each is in this index."""

    def __init__(self, terms: Sequence[str], total: int, counts: Mapping[str, int]) -> None:
        """Weigh the terms; `counts` says in how many of the `total` passages each stands."""
        self._weights = {term: _calculate_weight(total, counts.get(term, 0)) for term in terms}
        known = sorted((term for term in terms if counts.get(term)), key=lambda term: counts[term])
        rare = [term for term in known if counts[term] <= _COMMON * total] if total >= _COMMON_FROM else known
        self.terms: list[str] = (rare or known)[:MOST_TERMS]

    def find_weight(self, term: str) -> float:
        """Return how telling a term is: the logarithm of how rarely it stands in passages."""
        return self._weights[term]

    def calculate_coverage(self, present: AbstractSet[str]) -> float:
        """Return which part of the question's weight the terms that are present have; terms that no document has count too."""
        total = sum(self._weights.values())
        return sum(weight for term, weight in self._weights.items() if term in present) / total if total else 0.0


def _calculate_weight(total: int, count: int) -> float:
    return math.log(1 + (max(total, _LEAST_TOTAL) - count + 0.5) / (count + 0.5))


def build_vectors(rows: Sequence[tuple[int, str, Vectors]]) -> PassageVectors:
    """Return the vectors of rows (id, access, vector) with the length 1; those of another size than the first are left out."""
    kept = [row for row in rows if len(row[2]) == len(rows[0][2])]
    matrix = np.stack([row[2] for row in kept]).astype(np.float32) if kept else np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return PassageVectors(np.array([row[0] for row in kept], dtype=np.int64), [row[1] for row in kept], matrix / np.maximum(norms, 1e-12))
