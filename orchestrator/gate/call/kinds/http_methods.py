"""The methods of the kind `http`."""

from typing import Final

from orchestrator.gate.call.kinds.http_params import Delete, Get, Send
from orchestrator.gate.call.kinds.method import build_kind_method

KIND: Final = "http"
ENTITY: Final = "page"
METHODS: Final = {
    method.spec.name: method
    for method in (
        build_kind_method("http.get", "R", "get", Get, entity=ENTITY),
        build_kind_method("http.post", "N", "action", Send, entity=ENTITY),
        build_kind_method("http.put", "N", "action", Send, entity=ENTITY),
        build_kind_method("http.patch", "N", "action", Send, entity=ENTITY),
        build_kind_method("http.delete", "D", "delete", Delete, entity=ENTITY),
    )
}
