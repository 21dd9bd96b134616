from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field, StrictStr

from orchestrator.domain.file_path import format_folder, format_path
from orchestrator.domain.frozen import LateModel
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method

KIND: Final = "file"
MAX_TEXT: Final = 65_536
"""A person must be able to read it on the card."""
CREATE, WRITE, APPEND, DELETE = "file.create", "file.write", "file.append", "file.delete"


def _check_text(text: str) -> str:
    if "\0" in text:
        msg = "it contains the character NUL, so it is no text"
        raise ValueError(msg)
    try:
        text.encode()
    except UnicodeEncodeError:
        msg = "it contains half of a character"
        raise ValueError(msg) from None
    return text


FilePath = Annotated[StrictStr, AfterValidator(format_path)]
FolderPath = Annotated[StrictStr, AfterValidator(format_folder)]
Text = Annotated[StrictStr, Field(max_length=MAX_TEXT), AfterValidator(_check_text)]


class KindParams(LateModel):
    """Parameters of a method: unknown names are refused, and errors do not quote values."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class FileName(KindParams):
    path: FilePath


class FolderName(KindParams):
    """Empty for the folder of files itself."""

    path: FolderPath = ""


class FileText(KindParams):
    path: FilePath
    text: Text


METHODS: Final[Mapping[str, KindMethod]] = {
    method.spec.name: method
    for method in (
        build_kind_method("file.read", "R", "get", FileName, entity="file"),
        build_kind_method("file.list", "R", "list", FolderName, entity="file"),
        build_kind_method(CREATE, "W", "add", FileText, entity="file", safe_create=True),
        build_kind_method(WRITE, "W", "update", FileText, entity="file"),
        build_kind_method(APPEND, "W", "update", FileText, entity="file"),
        build_kind_method(DELETE, "D", "delete", FileName, entity="file"),
    )
}
