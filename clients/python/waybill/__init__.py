"""A client of Waybill, the durable dispatcher: submit, follow and cancel what it sends, and verify its webhooks.

    with waybill.Client("http://localhost:8080", token=TOKEN) as client:
        intent = client.submit("orders.webhook", {"parcel": "is here"})

See README.md beside this package, and docs/http-api.md of Waybill for what the fields mean.
"""
from . import errors, types, webhooks
from ._version import __version__
from .client import BatchOutcome, Client, has_ended
from .webhooks import Verified, verify

__all__ = ["BatchOutcome", "Client", "Verified", "__version__", "errors", "has_ended", "types", "verify", "webhooks"]
