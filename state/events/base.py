"""The base class of events, and helpers for folds: functions that apply an event to its session's state.

To add one, see CONTRIBUTING.md. A text field must be `Personal` (encrypted) or listed as clear.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict

from state.events import personal
from state.model.card import Card
from state.model.session_state import SessionState
from state.stored import JsonObject

Fold = Callable[[SessionState, dict[str, Any], str], None]
"""Changes a state in place by an event's data and ISO time; validates nothing."""

DEFAULT_ENGINE: Final = "crm_agent"
type_names: dict[str, type["Event"]] = {}


class Event(BaseModel):
    """An entry of a stream, the ordered record of a session or run; `V` is the version of its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
    V: ClassVar[int] = 1
    blanks: ClassVar[Mapping[str, Any]] = {}
    """What missing personal fields get."""
    later: ClassVar[frozenset[str]] = frozenset()
    """Fields added when records were stored already; not stored at their default."""
    unstored: ClassVar[Mapping[str, Any]] = {}
    filled: ClassVar[Mapping[str, Any]] = {}
    models: ClassVar[tuple[str, ...]] = ()
    containers: ClassVar[Mapping[str, Callable[[], Any]]] = {}
    """Fields whose default is empty, with their makers; pydantic is slow to find out."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Raises TypeError if a field is neither personal nor clear."""
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
        """Build from stored data without validation, so that reports can read damaged records.

        Reading a missing field raises AttributeError.
        """
        nested = {
            name: cls.model_fields[name].annotation.model_construct(**data[name])  # type: ignore[union-attr]  # `models` lists classes
            for name in cls.models
            if isinstance(data.get(name), Mapping)
        }
        empty = {name: make() for name, make in cls.containers.items() if name not in data}
        return cls.model_construct(**{**empty, **data, **nested})  # type: ignore[return-value]  # pydantic's plugin gives the base class


def keep_last(mapping: dict[str, Any], keep: int) -> None:
    while len(mapping) > keep:
        del mapping[next(iter(mapping))]


def pick_values(data: JsonObject, names: tuple[str, ...]) -> dict[str, Any]:
    """Leave out empty values."""
    return {name: data[name] for name in names if data.get(name)}


def forget_planned(state: SessionState, card: Card) -> None:
    state.agent.next_planned_actions = [item for item in state.agent.next_planned_actions if not is_step_of(item, card)]


def is_step_of(step: JsonObject, card: Card) -> bool:
    own = bool(card.slot) and step.get("slot") == card.slot
    return own or step.get("confirmation_id") == card.confirmation_id
