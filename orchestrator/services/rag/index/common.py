"""How both indexes store problems, texts and vectors."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import orjson
from pydantic import TypeAdapter

from orchestrator.services.rag.document import Passage, Problem
from orchestrator.services.rag.index.port import FileRecord, PassageVectors, Vectors

_PROBLEM: Final = TypeAdapter(Problem)


def write_problem(problem: Problem | None) -> tuple[str, str]:
    """(code, details as JSON)."""
    return ("", "") if problem is None else (problem.code, orjson.dumps(dict(problem.details)).decode())


def read_problem(code: str, details: str) -> Problem | None:
    return _PROBLEM.validate_python({"code": code, "details": orjson.loads(details or "{}")}) if code else None


LOAD_FILES: Final = "SELECT path, name, size, mtime_ns, digest, access, problem, details FROM documents"
"""For `read_files`."""


def read_files(rows: Iterable[Sequence[Any]]) -> dict[str, FileRecord]:
    """Return what the rows of `LOAD_FILES` say of each file, by path."""
    return {
        path: FileRecord(
            path=path, name=name, size=size, mtime_ns=mtime, digest=digest, access=access, problem=read_problem(problem, details)
        )
        for path, name, size, mtime, digest, access, problem, details in rows
    }


def hash_passage(passage: Passage) -> str:
    return hashlib.sha256(build_embedded_text(passage.title, passage.text).encode("utf-8", "replace")).hexdigest()


def build_embedded_text(title: str, text: str) -> str:
    return f"{title}\n{text}"


def build_vectors(rows: Sequence[tuple[int, str, Vectors]]) -> PassageVectors:
    """Of length 1; vectors of another size than the first are left out."""
    same_size = [row for row in rows if len(row[2]) == len(rows[0][2])]
    matrix = np.stack([row[2] for row in same_size]).astype(np.float32) if same_size else np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return PassageVectors(
        np.array([row[0] for row in same_size], dtype=np.int64), [row[1] for row in same_size], matrix / np.maximum(norms, 1e-12)
    )
