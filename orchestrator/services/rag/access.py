"""`access.yaml`: the roles that may read a folder. What it does not say clearly is closed, and if it cannot be read, everything."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal

from orchestrator.documents.reading import read_document
from orchestrator.services.rag.index.port import PUBLIC

FILE_NAMES: Final = ("access.yaml", "access.yml")
CLOSED: Final = "-"
EVERYBODY: Final = "everybody"
ROLES: Final = frozenset({"manager", "lead", "admin"})
LARGEST: Final = 200_000
_WHOLE: Final = frozenset({".", "/", "./"})

AccessCode = Literal["unreadable", "bad_roles", "bad_folder", "missing_folder", "unknown_role"]


@dataclass(frozen=True, slots=True)
class AccessProblem:
    code: AccessCode
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Access:
    classes: Mapping[str, str] = field(default_factory=dict)
    """By `fold_name` of the path; "" is the whole."""
    is_closed: bool = False
    """The file cannot be understood."""
    problems: Sequence[AccessProblem] = ()

    def find_class(self, path: str) -> str:
        """The nearest named folder decides."""
        if self.is_closed:
            return CLOSED
        parts = fold_name(path).split("/")[:-1]
        for length in range(len(parts), -1, -1):
            class_ = self.classes.get("/".join(parts[:length]))
            if class_ is not None:
                return class_
        return PUBLIC

    def find_missing(self, folders: AbstractSet[str]) -> list[AccessProblem]:
        return [AccessProblem("missing_folder", {"folder": name}) for name in self.classes if name and name not in folders]


def fold_name(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def close_everything(reason: str) -> Access:
    return Access(is_closed=True, problems=(AccessProblem("unreadable", {"reason": reason}),))


def parse_access(data: bytes) -> Access:
    if len(data) > LARGEST:
        return close_everything(f"more than {LARGEST} bytes")
    if not data.strip():  # a program that saves a file empties it first, and a full disk leaves it so
        return close_everything("it is empty")
    reading = read_document(data, "yaml")
    if reading.document is None:
        fault = next((finding for finding in reading.findings if finding.severity == "error"), None)
        return close_everything("no table" if fault is None else f"line {fault.line}")
    content = reading.document.data
    if not isinstance(content, Mapping):
        return close_everything("no table")
    return _build_access(content)


def _build_access(content: Mapping[object, object]) -> Access:
    classes: dict[str, str] = {}
    problems: list[AccessProblem] = []
    for key, value in content.items():
        folder = _find_folder(key)
        if folder is None:
            return Access(is_closed=True, problems=(AccessProblem("bad_folder", {"folder": str(key)[:100]}),))
        access_class = _find_class(value)
        if access_class is None or classes.get(folder, access_class) != access_class:
            problems.append(AccessProblem("bad_roles", {"folder": folder or "."}))
            access_class = CLOSED
        roles = set(access_class.split(",")) - ROLES - {PUBLIC, CLOSED}
        problems.extend(AccessProblem("unknown_role", {"role": role, "folder": folder or "."}) for role in sorted(roles))
        classes[folder] = access_class
    return Access(classes, problems=tuple(problems))


def _find_folder(key: object) -> str | None:
    """As it is compared; None if it is none inside of the documents."""
    if not isinstance(key, str) or not key.strip():
        return None
    if key.strip() in _WHOLE:
        return ""
    path = PurePosixPath(key.strip().replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        return None
    return fold_name(str(path))


def _find_class(value: object) -> str | None:
    """None if it is no list of roles."""
    if value == EVERYBODY:
        return PUBLIC
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        return None
    roles = sorted({str(one).strip() for one in value})
    if any("," in role or role == CLOSED for role in roles):
        return None
    if EVERYBODY in roles:
        return PUBLIC
    return ",".join(roles) if roles else CLOSED


def select_classes(classes: Iterable[str], roles: Iterable[str]) -> frozenset[str]:
    """What somebody with these roles may read."""
    owned = set(roles)
    return frozenset(class_ for class_ in classes if class_ == PUBLIC or (class_ != CLOSED and owned & set(class_.split(","))))
