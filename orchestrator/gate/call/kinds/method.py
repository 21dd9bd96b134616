"""A method of a kind of effects other than calls of the portal. Pure data, which the policy and the stored calls need too."""

from dataclasses import dataclass

from pydantic import BaseModel

from bitrix.catalogue.catalogue import Method, MethodClass, Verb


@dataclass(frozen=True, kw_only=True)
class KindMethod:
    """One method of a kind: its row, as the catalogue has one for each method of the portal, and the class of its parameters."""

    spec: Method
    params: type[BaseModel]
    """What this class accepts is what may be sent, nothing else: unknown names are forbidden, every size has a limit."""
    counted: str = ""
    """The parameter that is a list of things of which each counts as one change; "" for a method that makes one change."""


def build_kind_method(
    name: str, letter: MethodClass, verb: Verb, params: type[BaseModel], *, entity: str = "", safe_create: bool = False, counted: str = ""
) -> KindMethod:
    """Return a method with the class `letter`; `name` is spelled with its kind: "mongo.find_one"."""
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
    return KindMethod(spec=spec, params=params, counted=counted)
