"""Normalizes parameters to the portal's spelling, or refuses them; adds only what the catalogue prescribes. Pure."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.gate.call import fields, targets
from orchestrator.gate.call.effect import Refuse
from orchestrator.gate.call.reasons import refuse
from state.canonical import NotCanonical, check
from state.stored import JsonObject

MAX_DEPTH = 16
_RESERVED = frozenset({"auth", "access_token", "ap", "aplogin", "sessid", "method", "rest_user_id"})
_FIELD_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_OPTIONS = frozenset({"REGISTER_SONET_EVENT", "REGISTER_HISTORY_EVENT"})
_YES = frozenset({"Y", "1", "true", "True"})
_RECORDS = frozenset({*names.CRM.values(), "item"})
_OWN_NUMBER = "id"
_MOST_NAMED = 12
_ORIGIN = frozenset({"originatorid", "originid", "originversion"})


class Refusal(Exception):
    """The call has no one exact form; `verdict` is the refusal for the person."""

    def __init__(self, verdict: Refuse) -> None:
        self.verdict = verdict
        super().__init__(verdict.detail)


def build_refusal(code: str, **args: object) -> Refusal:
    return Refusal(replace(refuse(code, **args), is_form=True))


def build_shape_refusal(param: str, expected: str, *, foreign_text: bool = False) -> Refusal:
    refusal = refuse("gate-param-invalid", param=param, expected=expected)
    return Refusal(replace(refusal, detail=f"{refusal.reason.args['param']} must be {expected}.", foreign_text=foreign_text, is_form=True))


def parse_params(params: JsonObject) -> dict[str, object]:
    """Raises Refusal if nested too deep, or if JSON parsers read it differently."""
    try:
        plain = {name: _copy(value, depth=1) for name, value in params.items()}
        check(plain)
    except ValueError as error:  # for an integer of thousands of digits str() fails too
        raise build_refusal("gate-params", why=error) from None
    return plain


def normalize_names(spec: Method, params: JsonObject) -> dict[str, object]:
    """The order matters: task.* methods read parameters by position.

    Raises Refusal for unknown, reserved and duplicate names.
    """
    known = spec.param_names
    result: dict[str, object] = {}
    for spelling, value in params.items():
        if spelling.lower() in _RESERVED:
            raise build_refusal("gate-param-reserved", param=spelling)
        name = known.get(spelling.lower(), spelling)
        if spelling.lower() not in known and ("*" not in spec.params or not set(spelling) <= _FIELD_SIGNS):
            raise build_refusal("gate-param-unknown", method=spec.name, param=spelling, hint=build_param_hint(spelling, known.values()))
        if name.lower() in {given.lower() for given in result}:
            raise build_refusal("gate-param-twice", param=name)
        result[name] = value
    return sort_params(spec, {**result, **spec.forced})


def sort_params(spec: Method, params: JsonObject) -> dict[str, object]:
    ordered = {name: params[name] for name in spec.param_names.values() if name in params}
    return {**ordered, **params}


def convert_ids(spec: Method, params: JsonObject) -> dict[str, object]:
    result = {name: _to_id(value) if name.lower().endswith("id") else value for name, value in params.items()}
    for path in spec.target:
        head, _, rest = path.partition(".")
        inner = result.get(head)
        if rest and isinstance(inner, Mapping) and rest in inner:
            result[head] = {**inner, rest: _to_id(inner[rest])}
    return result


def normalize_fields(spec: Method, params: JsonObject, *, entity: Entity | None, marks: Mapping[str, str]) -> dict[str, object]:
    """Spells field names as the method's family does.

    `marks` are the only origin marks that a caller may write. Raises Refusal for malformed or duplicate names and the record's own number.
    """
    if spec.reads_only:
        return dict(params)
    if "params" in spec.params:
        _check_options(params.get("params"))
    if not spec.fields_at or (spec.fields_at not in params and spec.fields_at not in spec.required):
        return dict(params)
    field_values = params.get(spec.fields_at)
    if field_values in (None, "", [], {}) and spec.fields_at in spec.required:
        raise build_refusal("gate-param-missing", method=spec.name, param=spec.fields_at)
    if not isinstance(field_values, Mapping):
        raise build_refusal("gate-param-invalid", param=spec.fields_at, expected="a map of field names to values")
    result: dict[str, object] = {}
    seen: set[str] = set()
    for name, value in field_values.items():
        if not name or not set(name) <= _FIELD_SIGNS:
            raise build_refusal("gate-param-invalid", param=f"{spec.fields_at}.{name}", expected="a plain field name")
        key = fields.to_field_key(name, entity.name if entity else "")
        _check_own_field(name, key, value, marks)
        if key in seen:
            raise build_refusal("gate-param-twice", param=name)
        seen.add(key)
        result[_normalize_field_name(spec, name, entity, originals=params.get("useOriginalUfNames") == "Y")] = value
    return {**params, spec.fields_at: result}


def _check_own_field(name: str, key: str, value: object, marks: Mapping[str, str]) -> None:
    if key in _ORIGIN and marks.get(key) != value:
        raise build_refusal("gate-origin", param=name)
    if key == _OWN_NUMBER:
        raise build_refusal("gate-param-reserved", param=name)


def check_inner_names(spec: Method, params: JsonObject) -> None:
    """Raises Refusal for {"price": 1, "PRICE": 900}: a card would show one value, and the portal might write the other."""
    for name, value in () if spec.reads_only else params.items():
        _check_names_inside(value, name, is_element=name != spec.fields_at)


def _check_names_inside(value: object, path: str, *, is_element: bool = True) -> None:
    if isinstance(value, list):
        for item in value:
            _check_names_inside(item, path)
        return
    if not isinstance(value, Mapping):
        return
    seen: set[str] = set()
    for name, item in value.items():
        inner, key = f"{path}.{name}", fields.to_field_key(name)
        if is_element and key in seen:
            raise build_refusal("gate-param-twice", param=inner)
        seen.add(key)
        _check_names_inside(item, inner)


def check_required(spec: Method, params: JsonObject) -> None:
    for path in spec.required:
        value = targets.get_at_path(params, path)
        if value is None or value == "" or (value in ({}, []) and path == "cmd"):
            code = "gate-responsible" if spec.responsible and path.endswith(spec.responsible) else "gate-param-missing"
            raise build_refusal(code, method=spec.name, param=path)


def build_hint(misspelt: str, names: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(misspelt.lower(), by_lower, n=1, cutoff=0.75)
    return f" Did you mean {by_lower[close[0]]}?" if close else ""


def build_param_hint(misspelt: str, names: Iterable[str]) -> str:
    """With all there are, if none is like it."""
    known = list(names)
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return build_hint(misspelt, known) or (f" It takes: {', '.join(known[:_MOST_NAMED])}{more}." if known else "")


def _copy(value: object, *, depth: int) -> object:
    if depth > MAX_DEPTH:
        msg = f"nested deeper than {MAX_DEPTH}"
        raise NotCanonical(msg)
    if isinstance(value, Mapping):
        return {key: _copy(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item, depth=depth + 1) for item in value]
    return value


def _to_id(value: object) -> object:
    if isinstance(value, str) and (number := targets.as_id(value)) is not None:
        return number
    return value


def _check_options(options: object) -> None:
    """A call with an option switched off could hide its change from the record's history. Raises Refusal."""
    if not options:
        return
    if not isinstance(options, Mapping):
        raise build_refusal("gate-param-invalid", param="params", expected="a map of options")
    for name, value in options.items():
        if name.upper() not in _OPTIONS or str(value) not in _YES:
            raise build_refusal("gate-param-reserved", param=f"params.{name}")


def _normalize_field_name(spec: Method, name: str, entity: Entity | None, *, originals: bool) -> str:
    """The portal silently ignores a name in the other family's spelling."""
    in_items = spec.name.startswith("crm.item.")
    info = fields.find_field_info(entity, name)
    if entity is None or (info is not None and info.kind == "multifield"):
        return name
    if info is None:
        return _normalize_own_name(name, in_items=in_items, originals=originals) if entity.name.partition(":")[0] in _RECORDS else name
    upper = entity.by_key[fields.to_field_key(name, entity.name)]
    return names.to_universal(upper, entity.name) if in_items else upper


def _normalize_own_name(name: str, *, in_items: bool, originals: bool) -> str:
    if not names.is_custom_field(name):
        return name
    return names.to_universal(name) if in_items and not originals else names.to_classic(name)
