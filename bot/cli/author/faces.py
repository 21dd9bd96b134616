"""What the commands of authors ask of one kind of definitions."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.cli.options import Language
from bot.plugins.loading import find_part_of_kind, list_kinds, load_plugins
from bot.plugins.plugin import Slot
from orchestrator.definitions.kinds import Reference, list_nothing
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from bot.i18n.translate import Translator
    from orchestrator.documents.document import Document
    from orchestrator.domain.finding import Finding


@dataclass(frozen=True, kw_only=True)
class Family:
    """Which files are wholes, and which are the parts that they name."""

    whole: str
    part: str = ""
    """"" if there are no parts."""
    key_field: str = ""
    """"" if the name of its file is its key."""
    part_key_field: str = ""
    folder: str = ""
    is_part: Callable[[Mapping[str, object]], bool] = lambda _data: False
    list_parts: Callable[[object], Iterable[Reference]] = list_nothing
    part_refusal: str = ""
    """Why a part is not taken where a whole is needed; "" to take it with mistakes."""
    find_unknown: "Callable[[Document, Collection[str]], Iterable[Finding]] | None" = None
    """Finds wrong names of its own kind, which are files beside it with these keys."""

    def find_kind(self, document: object) -> str:
        return self.part if isinstance(document, Mapping) and self.is_part(document) else self.whole


@dataclass(frozen=True, kw_only=True)
class TryOptions:
    params: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    """The person's answers, in order."""
    inputs_file: Path | None = None
    answers_file: Path | None = None
    """Answers of models, so that none is asked."""
    queries_file: Path | None = None
    """Answers of the portal."""
    asks_model: bool = False
    language: Language = "ru"
    as_json: bool = False

    def list_given(self) -> list[str]:
        """The options that only some kinds take, as they are typed."""
        typed_options = {
            "--param": self.params,
            "--input": self.inputs,
            "--inputs": self.inputs_file,
            "--answers": self.answers_file,
            "--queries": self.queries_file,
            "--model": self.asks_model,
        }
        return [name for name, content in typed_options.items() if content]


@dataclass(frozen=True, kw_only=True)
class LiveFace:
    play: "Callable[[Any, TryOptions, Translator], bool]"
    """Returns whether it ended well. Raises SettingsError."""
    takes: frozenset[str]
    """Options, as `TryOptions.list_given` names them."""


FAMILY: Final = Slot("family", Family)
LIVE_FACE: Final = Slot("live", LiveFace)


def find_family(kind: str) -> Family:
    return find_part_of_kind(FAMILY, kind) or Family(whole=kind)


def refuse_missing(kind: str, what: str, slot: Slot[Any]) -> SettingsError:
    """Names the kinds that offer it."""
    places = {place for plugin in load_plugins() for place in plugin.parts}
    others = [other for other in list_kinds() if f"{slot.name}/{other}" in places and other != kind]
    known = f"; these do: {', '.join(others)}" if others else ""
    return SettingsError(f"definitions of the kind {kind} {what}: their engine does not offer it{known}")
