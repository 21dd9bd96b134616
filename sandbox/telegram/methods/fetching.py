"""getUpdates, setWebhook, deleteWebhook, getWebhookInfo: the two ways to receive updates, never both at once."""

import re

from sandbox.telegram.storage import updates
from sandbox.telegram.wire import ApiError, JsonObject, Params, bad_request
from sandbox.telegram.world import Wake, World

_LONGEST_POLL = 50
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
WEBHOOK = "webhook"


async def get_updates(world: World, params: Params) -> list[JsonObject]:
    """Return waiting updates, or wait for one. Raises `ApiError` 409 if a webhook is set or another poller comes."""
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
    """Send updates to an address from now on; an empty one is deleteWebhook. Plain http is accepted, because this is loopback."""
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
    """Return to polling; waiting updates stay unless the bot drops them."""
    _maybe_drop(world, params)
    world.db.remember(WEBHOOK, None)
    world.announce_webhook()
    return True


def get_webhook_info(world: World, _params: Params) -> JsonObject:
    """Return where updates go, how many wait, and the last failure."""
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
    """Store the list of update kinds the bot asks for; a missing list leaves it unchanged."""
    if not params.has("allowed_updates"):
        return
    allowed = params.structure("allowed_updates") or []
    if not isinstance(allowed, list):
        raise bad_request("can't parse allowed updates JSON object")
    world.db.remember("allowed_updates", [str(kind) for kind in allowed])


def _maybe_drop(world: World, params: Params) -> None:
    if params.flag("drop_pending_updates"):
        updates.drop_all(world.db)
