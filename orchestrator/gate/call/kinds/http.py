"""Reading needs the policy to list the host; sending asks, and says where it goes. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.domain.http_address import Address, is_listed, parse_address
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.http_methods import KIND, MARK, METHODS
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import refuse
from state.stored import JsonObject


def _normalize_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    """A write gets the key by which the other side can tell a repetition."""
    params = validate_params(request, {name: value for name, value in proposed.items() if name != MARK or value != request.effect_id})
    if MARK in params:
        params.pop(MARK)
    return params if "R" in request.method.spec.classes else {**params, MARK: request.effect_id}


def _drop_marks(params: JsonObject) -> JsonObject:
    return {name: value for name, value in params.items() if name != MARK}


def _check_host(call: Call, policy: Policy) -> Refuse | None:
    site = parse_address(call.params["url"]).site
    return None if is_listed(site, policy.http_hosts) else refuse("gate-http-host", host=str(site))


def may_be_fetched(address: Address, policy: Policy) -> bool:
    """The host must be listed; without https also as a private one."""
    site = address.site
    is_open = KIND in policy.open_kinds and is_listed(site, policy.http_hosts)
    return is_open and (site.scheme == "https" or is_listed(site, policy.http_private_hosts))


def list_titles(call: Call, policy: Policy) -> Mapping[str, str]:
    """Under "" stands the title of the host itself."""
    site = parse_address(call.params["url"]).site
    opened_party = next((party for entry, party in policy.http_hosts.items() if is_listed(site, (entry,))), None)
    return {**opened_party.fields, "": opened_party.title} if opened_party is not None else {}


HTTP: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="web",
    normalize=_normalize_params,
    drop_marks=_drop_marks,
    guard=_check_host,
    list_titles=list_titles,
    outward="gate-http-outward",
)
