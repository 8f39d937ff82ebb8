"""For receivers: whether a webhook is Waybill's, by Standard Webhooks (https://www.standardwebhooks.com)."""
import base64
import binascii
import hashlib
import hmac
import re
import time
from typing import Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)
_PREFIX = "whsec_"

Headers = Union[Mapping[str, str], Iterable[Tuple[str, str]]]


class VerificationError(Exception):
    """The base of all: do not trust the body. Answer 400 or 401."""


class MissingHeader(VerificationError):
    """webhook-id, webhook-timestamp or webhook-signature is not there, or is there twice."""


class MalformedHeader(VerificationError):
    """webhook-timestamp is no number of seconds."""


class OutsideWindow(VerificationError):
    """webhook-timestamp is too old or too far ahead: a replay, or a clock is wrong."""


class WrongSignature(VerificationError):
    """No signature fits one of the secrets."""


class Verified(NamedTuple):
    """The id is the same in every attempt: remember it, and drop what you had before."""

    id: str
    timestamp: int


def verify(headers: Headers, body: Union[bytes, str], secrets: Union[str, Iterable[str]], *, window: Optional[float] = 300.0,
           now: Optional[float] = None) -> Verified:
    """Returns the webhook's id, or raises a VerificationError.

    body: the bytes as they came, before any parsing. secrets: one or, during a rotation, several: `whsec_` and base64, or any other text,
    which is used as it is. window: how many seconds the timestamp may differ from the clock; None accepts any. Raises ValueError for a
    secret that cannot be one.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("verify needs a secret")
    found = {name: _header(headers, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
    stamp = found["webhook-timestamp"]
    if not _SECONDS.fullmatch(stamp):
        raise MalformedHeader("webhook-timestamp is no number of seconds")
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{found['webhook-id']}.{stamp}.".encode() + content
    given = [part[3:].encode() for part in found["webhook-signature"].split(" ") if part.startswith("v1,")]
    fits = False
    for key in keys:
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        for signature in given:  # all of them, so that the time does not tell which one fits
            fits = hmac.compare_digest(expected, signature) or fits
    if not fits:
        raise WrongSignature("no signature fits")
    if window is not None and abs((time.time() if now is None else now) - int(stamp)) > window:
        raise OutsideWindow(f"webhook-timestamp is more than {window:g} seconds away")
    return Verified(found["webhook-id"], int(stamp))


def _key(secret: str) -> bytes:
    if not secret:
        raise ValueError("a secret is empty")
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        key = base64.b64decode(secret[len(_PREFIX):], validate=True)
    except binascii.Error:
        raise ValueError("a secret begins with whsec_, but the rest is not base64") from None
    if not key:
        raise ValueError("a secret is empty")
    return key


def _header(headers: Headers, name: str) -> str:
    pairs: Iterable[Tuple[str, str]] = headers.items() if isinstance(headers, Mapping) else headers
    values: List[str] = [value for key, value in pairs if key.lower() == name]
    if len(values) != 1 or not values[0]:
        raise MissingHeader(f"{name} is " + ("there twice" if len(values) > 1 else "missing"))
    return values[0]
