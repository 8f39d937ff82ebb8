"""What calls of the client raise."""
from typing import Any, Dict, Optional


class WaybillError(Exception):
    """The base of all. `id` is that of what was handed in, also one that the client made: submit it again under this one."""

    id: Optional[str] = None


class Unreachable(WaybillError):
    """No whole answer came within the time limit. What was handed in may be stored all the same; submit it again under its id."""


class ApiError(WaybillError):
    """The host refused. `code` and `message` are those of its answer; `body` is all of it, empty if it was no JSON object."""

    def __init__(self, status: int, code: str, message: str, body: Dict[str, Any], retry_after: Optional[float] = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.body = body
        self.retry_after = retry_after

    @property
    def intent(self) -> Optional[Dict[str, Any]]:
        """Of a Conflict about an intent: how it is now, if the host says so."""
        found = self.body.get("intent")
        if found is None and isinstance(self.body.get("error"), dict):
            found = self.body["error"].get("intent")
        return found if isinstance(found, dict) else None


class InvalidRequest(ApiError):
    """400: the message names the field."""


class Unauthorized(ApiError):
    """401: no valid token."""


class Forbidden(ApiError):
    """403: the token is not for this."""


class NotFound(ApiError):
    """404"""


class Conflict(ApiError):
    """409: the id came before with other content (idempotency_conflict), or the state does not allow it."""


class TooLarge(ApiError):
    """413: more than limits.body_bytes."""


class RateLimited(ApiError):
    """429, until the time limit was over."""


class ServerError(ApiError):
    """5xx; 502, 503 and 504 until the time limit was over. What was handed in may be stored all the same."""


class Unavailable(ServerError):
    """503, until the time limit was over."""


_BY_STATUS = {400: InvalidRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 413: TooLarge, 429: RateLimited,
              503: Unavailable}


def api_error(status: int, body: Any, retry_after: Optional[float] = None) -> ApiError:
    """From a body as the host sends it, or from whatever a proxy sent."""
    whole = body if isinstance(body, dict) else {}
    told = whole.get("error")
    told = told if isinstance(told, dict) else {}
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    return kind(status, str(told.get("code", "unknown")), str(told.get("message", "the answer does not say why")), whole, retry_after)
