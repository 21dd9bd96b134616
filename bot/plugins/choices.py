"""What a field may hold, for forms and for completion: data in, choices out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bot.i18n.translate import Translator, split_method
from orchestrator.domain.finding import Path

OWN_FIELDS: Final = ("deal", "lead", "contact", "company", "task", "activity")


@dataclass(frozen=True, slots=True)
class Choice:
    """`label` is what people read, `hint` what else is to be known of it."""

    value: str
    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A definition that is in force."""

    key: str
    title: str = ""
    version: int = 0
    id: str = ""
    """The UUID of the version."""
    document: object = None
    """None where the kind asks for no documents."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.id, f"{self.key}@{self.version}", self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known outside of the document."""

    say: Callable[..., str]
    published: Mapping[str, Sequence[Published]] = field(default_factory=dict)
    """By kind."""
    methods: Sequence[Choice] = ()
    fields: Mapping[str, Sequence[Choice]] = field(default_factory=dict)
    """By kind of record."""

    def list_published(self, kind: str) -> tuple[Choice, ...]:
        """By their keys."""
        return tuple(Choice(one.key, one.title or one.key, one.key) for one in self.published.get(kind, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    choices: tuple[Choice, ...] = ()
    is_open: bool = False
    """Others may be typed, too."""
    inside: Mapping[str, tuple[Choice, ...]] = field(default_factory=dict)
    """Keys of an object that hold objects, with the keys of these."""
    hint: str = ""
    """In place of the schema's sentence."""


FindOffer = Callable[[Path], Offer | None]


def offer_nothing(_document: object, _known: Known) -> FindOffer:
    return lambda _path: None


def list_methods(catalogue: Catalogue, tr: Translator) -> tuple[Choice, ...]:
    """Those of which is known what they do, in words of the person, come first."""
    choices = [Choice(method.name, tr.describe_call(method.name, *split_method(method.name))) for method in catalogue]
    return tuple(sorted(choices, key=lambda choice: (not choice.label, choice.value)))


def list_fields(catalogue: Catalogue, locale: str, own: Mapping[str, Iterable[Choice]]) -> dict[str, tuple[Choice, ...]]:
    """The catalogue's, and the portal's own with the names that they have there."""
    fields: dict[str, tuple[Choice, ...]] = {}
    for kind, entity in catalogue.entities.items():
        named = {code: Choice(code, info.ru if locale == "ru" else info.en) for code, info in entity.fields.items()}
        named |= {choice.value: choice for choice in own.get(kind, ()) if choice.value not in named}
        fields[kind] = tuple(named.values())
    return fields
