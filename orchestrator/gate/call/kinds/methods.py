"""What a method of another kind than a portal call is: its row, and the class that checks its parameters."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from bitrix.catalogue.catalogue import Method, MethodClass, Verb


class KindParams(BaseModel):
    """The parameters of a method. What the class accepts is what may be sent, nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


@dataclass(frozen=True, kw_only=True)
class KindMethod:
    """A method of a kind: its row, and the class of its parameters."""

    spec: Method
    params: type[KindParams]


def build_kind_method(
    name: str, letter: MethodClass, verb: Verb, entity: str, params: type[KindParams], *, safe_create: bool = False
) -> KindMethod:
    """Return a method by its full name, such as file.write, the letter of its class, its verb and what it is about."""
    spec = Method(
        name=name,
        classes=(letter,),
        verb=verb,
        entity=entity,
        idempotent=letter == "R",
        safe_create=safe_create,
        fields_at="",
        params=("*",),
        owner="self",
    )
    return KindMethod(spec=spec, params=params)
