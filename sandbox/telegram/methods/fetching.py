"""The methods getUpdates, setWebhook, deleteWebhook and getWebhookInfo. A bot gets its updates by polling or by webhook, never both."""

import re

from sandbox.telegram.storage import updates
from sandbox.telegram.wire import ApiError, JsonObject, Params, bad_request
from sandbox.telegram.world import Wake, World

_LONGEST_POLL = 50
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
WEBHOOK = "webhook"


async def get_updates(world: World, params: Params) -> list[JsonObject]:
    """Return the waiting updates, or wait for one until the timeout.

    Raises `ApiError` 409 if a webhook is set, or if another poller comes while this one waits.
    """
    if world.db.setting(WEBHOOK):
        raise ApiError(
            409,
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        )
    world.poll.wake(Wake.CONFLICT)
    _remember_allowed(world, params)
    updates.confirm_below(world.db, params.integer("offset"))
    limit = min(max(params.integer("limit", 100), 1), 100)
    waiting = world.fetch_updates(limit)
    seconds = min(params.integer("timeout"), _LONGEST_POLL)
    if waiting or seconds <= 0 or world.closing.is_set():
        return world.hand_out(waiting)
    match await world.poll.wait(seconds):
        case Wake.CONFLICT | Wake.WEBHOOK as reason:
            raise ApiError(409, f"Conflict: {reason.value}")
        case _:
            return world.hand_out(world.fetch_updates(limit))


def set_webhook(world: World, params: Params) -> bool:
    """Store the address to which updates are sent from now on, and return True. An empty address deletes the webhook.

    Telegram requires https; plain http is accepted here, because everything runs on this machine.
    """
    url = params.text("url")
    if not url:
        return delete_webhook(world, params)
    if not url.startswith(("https://", "http://")):
        raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
    secret = params.text("secret_token")
    if secret and not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    _remember_allowed(world, params)
    _maybe_drop(world, params)
    world.db.remember(WEBHOOK, {"url": url, "secret": secret, "max_connections": params.integer("max_connections", 40)})
    world.poll.wake(Wake.WEBHOOK)
    world.announce_webhook()
    return True


def delete_webhook(world: World, params: Params) -> bool:
    """Delete the webhook, so that the bot can poll, and return True.

    Waiting updates are kept, unless the call says `drop_pending_updates`.
    """
    _maybe_drop(world, params)
    world.db.remember(WEBHOOK, None)
    world.announce_webhook()
    return True


def get_webhook_info(world: World, _params: Params) -> JsonObject:
    """Return the address of the webhook, the number of waiting updates, and the last failure of a delivery."""
    webhook = world.db.setting(WEBHOOK) or {}
    info: JsonObject = {
        "url": webhook.get("url", ""),
        "has_custom_certificate": False,
        "pending_update_count": updates.count(world.db, world.clock()),
    }
    for name in ("max_connections", "last_error_date", "last_error_message"):
        if webhook.get(name):
            info[name] = webhook[name]
    if allowed := world.db.setting("allowed_updates"):
        info["allowed_updates"] = allowed
    return info


def _remember_allowed(world: World, params: Params) -> None:
    """Store the parameter `allowed_updates`, the kinds of updates that the bot wants. Without the parameter nothing changes."""
    if not params.has("allowed_updates"):
        return
    allowed = params.structure("allowed_updates") or []
    if not isinstance(allowed, list):
        raise bad_request("can't parse allowed updates JSON object")
    world.db.remember("allowed_updates", [str(kind) for kind in allowed])


def _maybe_drop(world: World, params: Params) -> None:
    if params.flag("drop_pending_updates"):
        updates.drop_all(world.db)
