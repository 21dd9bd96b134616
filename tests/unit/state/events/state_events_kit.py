"""Events of every class, filled at random: for tests of the fold and of the way to disk and back."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel

from state import events
from state.events import codec

for _module in iter_modules(events.__path__, "state.events."):
    import_module(_module.name)  # a class of events is known once its module is imported
CORE = {name: cls for name, cls in codec.type_names.items() if cls.__module__.startswith("state.events.")}

words = st.sampled_from(["a", "b", "c", "c1", "c2", "Ромашка"])


def value_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Small values of the type of an event's field, from few enough words that events meet each other."""
    if get_origin(annotation) is Literal:
        return st.sampled_from(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return event_of(annotation)
    if get_origin(annotation) is dict:
        return st.dictionaries(words, value_of(get_args(annotation)[1]), max_size=2)
    if get_origin(annotation) is list:
        return st.lists(value_of(get_args(annotation)[0]), max_size=2)
    if get_args(annotation):
        return st.one_of(*(value_of(arm) for arm in get_args(annotation)))
    simple = {int: st.integers(0, 9), float: st.just(0.5), bool: st.booleans(), type(None): st.none()}
    return simple.get(annotation, words)


def event_of(cls: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Events of one class with every field filled."""
    fields = {name: value_of(field.annotation) for name, field in cls.model_fields.items()}
    if "bindings" in fields:
        pairs = st.fixed_dictionaries({"event": words, "handler": words})
        fields |= dict.fromkeys(("bound", "unbound", "bindings"), st.lists(pairs, max_size=2))
    return st.builds(cls, **fields)
