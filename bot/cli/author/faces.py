"""What the commands of authors ask of one kind of definitions, beside its form and its tests: its files, and how it is tried here."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bot.cli.ops import Language
from bot.plugins.loading import find_part_of_kind, list_kinds, load_plugins
from bot.plugins.plugin import Slot
from orchestrator.definitions.kinds import Reference, list_no_references
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from bot.i18n.translate import Translator
    from orchestrator.documents.document import Document
    from orchestrator.domain.finding import Finding


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of definitions, and the kind of the parts that they name: which file is which."""

    whole: str
    part: str = ""
    """"" for a kind whose definitions have no parts of another kind."""
    key_field: str = ""
    """The field of a whole that holds its key; "" if the name of its file is its key."""
    part_key_field: str = ""
    folder: str = ""
    """The folder beside wholes in which parts may stand."""
    is_part: Callable[[Mapping[str, object]], bool] = lambda _data: False
    """Returns whether a document is meant as a part."""
    list_parts: Callable[[object], Iterable[Reference]] = list_no_references
    """Returns the parts that a document names."""
    part_refusal: str = ""
    """Why a part is not taken where a whole is needed; "" to take it as a whole with mistakes."""
    find_unknown: "Callable[[Document, Collection[str]], Iterable[Finding]] | None" = None
    """Returns what is wrong with the names of others of its own kind, which are files beside it with these keys; None if it names none."""

    def find_kind(self, document: object) -> str:
        """Return whether a document is meant as a part or as a whole."""
        return self.part if isinstance(document, Mapping) and self.is_part(document) else self.whole


@dataclass(frozen=True, kw_only=True)
class TryOptions:
    """With what a definition is tried in the terminal."""

    params: tuple[str, ...] = ()
    """Values of its start, such as client=Romashka."""
    inputs: tuple[str, ...] = ()
    """What the person answers, in order."""
    inputs_file: Path | None = None
    """Answers, or all that a test says."""
    answers_file: Path | None = None
    """What models answer, so that none is asked."""
    queries_file: Path | None = None
    """What reads of the portal give."""
    asks_model: bool = False
    language: Language = "ru"
    as_json: bool = False

    def list_given(self) -> list[str]:
        """Return the options that only some kinds take and that are given, as they are typed."""
        given = {
            "--param": self.params,
            "--input": self.inputs,
            "--inputs": self.inputs_file,
            "--answers": self.answers_file,
            "--queries": self.queries_file,
            "--model": self.asks_model,
        }
        return [name for name, content in given.items() if content]


@dataclass(frozen=True, kw_only=True)
class LiveFace:
    """Plays definitions of one kind in the terminal with their real engine, and shows what happens."""

    play: "Callable[[Any, TryOptions, Translator], bool]"
    """Plays what the face of tests built and returns whether it ended well. Raises SettingsError."""
    takes: frozenset[str]
    """The options that it takes, as `TryOptions.list_given` names them."""


FAMILY: Final = Slot("family", Family)
LIVE_FACE: Final = Slot("live", LiveFace)


def find_family(kind: str) -> Family:
    """Return how files of this kind are told apart; of most kinds there is nothing to tell."""
    return find_part_of_kind(FAMILY, kind) or Family(whole=kind)


def refuse_missing(kind: str, what: str, slot: Slot[Any]) -> SettingsError:
    """Return the error that this kind does not offer what a command needs, with the kinds that do."""
    places = {place for plugin in load_plugins() for place in plugin.parts}
    others = [other for other in list_kinds() if f"{slot.name}/{other}" in places and other != kind]
    known = f"; these do: {', '.join(others)}" if others else ""
    return SettingsError(f"definitions of the kind {kind} {what}: their engine does not offer it{known}")
