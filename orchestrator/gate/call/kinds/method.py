from dataclasses import dataclass

from pydantic import BaseModel

from bitrix.catalogue.catalogue import Method, MethodClass, Verb


@dataclass(frozen=True, kw_only=True)
class KindMethod:
    spec: Method
    params: type[BaseModel]
    """Accepts exactly what may be sent: unknown names are forbidden, every size has a limit."""
    counted: str = ""
    """The parameter that is a list of things of which each counts as one change."""


def build_kind_method(
    name: str, letter: MethodClass, verb: Verb, params: type[BaseModel], *, entity: str = "", safe_create: bool = False, counted: str = ""
) -> KindMethod:
    """`name` is spelled with its kind: "mongo.find_one"."""
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
