"""The base class of events, and helpers for folds. A fold is a function that applies one event to the state of its session.

An event is named in the past tense, frozen and versioned; to add one, see CONTRIBUTING.md, "a new event". Fields that may hold what people
wrote are marked `Personal` and are encrypted when stored. A class cannot be defined if it has a text field that is neither `Personal` nor
listed as clear (readable without a key). How events are stored and read is in `state/events/codec.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict

from state.events import personal
from state.model.card import Card
from state.model.session_state import SessionState
from state.stored import JsonObject

Fold = Callable[[SessionState, dict[str, Any], str], None]
"""A function that applies an event to a state in place: it gets the state, the event's data and its time (ISO). It validates nothing."""

DEFAULT_ENGINE: Final = "crm_agent"
"""The engine that stored calls, cards and messages mean which name none."""
type_names: dict[str, type["Event"]] = {}


class Event(BaseModel):
    """The base class of all journal events. `V` is the version of the class's fields.

    An event is one entry of a stream, which is the journal's ordered record of one session or of one run (work outside of any session; so
    far no code starts one).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    V: ClassVar[int] = 1
    blanks: ClassVar[Mapping[str, Any]] = {}
    """The values that its personal fields get when they are missing in the stored data."""
    later: ClassVar[frozenset[str]] = frozenset()
    """Names of fields that the class got after records of it had been stored.

    At their default value they are not stored, so that a record of an earlier program reads as it was written.
    """
    unstored: ClassVar[Mapping[str, Any]] = {}
    """The default values of the fields in `later`."""
    filled: ClassVar[Mapping[str, Any]] = {}
    """The part of `blanks` that reading fills in: that of fields which every record has."""
    models: ClassVar[tuple[str, ...]] = ()
    """Names of its fields that are pydantic models."""
    containers: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    """Its fields whose default is an empty list or dict, with what makes one; pydantic takes a while to find that out."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Register the subclass by its name. Raises TypeError if a field is neither marked personal nor clear (readable without a key)."""
        super().__pydantic_init_subclass__(**kwargs)
        for name in personal.list_undecided(cls.model_fields):
            raise TypeError(f"{cls.__name__}.{name}: mark it Personal, or list it as CLEAR if nobody's words can ever be in it")
        cls.blanks = personal.build_blanks(cls.model_fields)
        cls.unstored = {name: cls.model_fields[name].get_default(call_default_factory=True) for name in cls.later}
        cls.filled = {name: blank for name, blank in cls.blanks.items() if name not in cls.later}
        cls.models = tuple(
            name
            for name, field in cls.model_fields.items()
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        )
        factories = {name: field.default_factory for name, field in cls.model_fields.items()}
        cls.containers = {name: dict if made is dict else list for name, made in factories.items() if made is dict or made is list}
        type_names[cls.__name__] = cls

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Build the event without validation from `data`, which the store has read, decrypted and converted to the newest version.

        So a report can read as much as possible of a damaged record: a missing field has its default, and a missing field without a default
        raises AttributeError when it is read. Use `decode` to validate.
        """
        nested = {
            name: cls.model_fields[name].annotation.model_construct(**data[name])  # type: ignore[union-attr]  # `models` lists classes
            for name in cls.models
            if isinstance(data.get(name), Mapping)
        }
        empty = {name: make() for name, make in cls.containers.items() if name not in data}
        return cls.model_construct(**{**empty, **data, **nested})  # type: ignore[return-value]  # pydantic's plugin gives the base class


def keep_last(mapping: dict[str, Any], keep: int) -> None:
    """Remove the oldest entries of `mapping` until it has at most `keep`."""
    while len(mapping) > keep:
        del mapping[next(iter(mapping))]


def pick_values(data: JsonObject, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a dict of the entries of `data` whose key is in `names` and whose value is not empty."""
    return {name: data[name] for name in names if data.get(name)}


def forget_planned(state: SessionState, card: Card) -> None:
    """Remove from the steps in `state` that the model still plans those that wait on `card`, which is decided."""
    state.agent.next_planned_actions = [item for item in state.agent.next_planned_actions if not is_step_of(item, card)]


def is_step_of(step: JsonObject, card: Card) -> bool:
    """Return whether a planned step waits on `card`: the card was made for it, or it asks for what the card already asks for."""
    own = bool(card.slot) and step.get("slot") == card.slot
    return own or step.get("confirmation_id") == card.confirmation_id
