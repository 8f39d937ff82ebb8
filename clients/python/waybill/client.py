"""The client: each method is one operation of docs/openapi.yaml, and answers with the JSON that it describes."""
import datetime
import ssl
import time
import uuid
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from . import errors, types
from ._transport import REPEATED, Transport, encoded, pause_before

Time = Union[str, datetime.datetime]  # RFC 3339, or with a time zone

ENDS = ("accepted", "rejected", "exhausted", "cancelled")
MAX_ITEMS, MAX_BYTES = 1000, 900_000  # of one request of a batch; a host takes 1 MiB by default


def has_ended(intent: Mapping[str, Any]) -> bool:
    """Also of an intent whose status this client does not know: not yet."""
    return intent.get("status") in ENDS


@dataclass(frozen=True)
class BatchOutcome:
    """Of one item: the intent as it is stored, or why it was refused."""

    id: str
    intent: Optional[types.Intent] = None
    error: Optional[errors.WaybillError] = None


class Client:
    """Calls one host, or a load balancer in front of several. Safe from any thread; close it, or use it in a `with`.

    timeout: seconds for one request, from its first byte to the answer's last. time_limit: seconds for a call with all its repetitions:
    after 429, 502, 503, 504 and lost connections it is made again, under the same id. max_idle: how many connections are kept.
    """

    def __init__(self, url: str, token: Optional[str] = None, *, timeout: float = 10.0, time_limit: float = 60.0,
                 organisation: str = "default", max_idle: int = 16, tls: Optional[ssl.SSLContext] = None) -> None:
        self.organisation = organisation
        self._transport = Transport(url, token, timeout, time_limit, max_idle, tls)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the idle connections; a later call opens new ones."""
        self._transport.close()

    # ---- intents ----
    def submit(self, target: str, payload: Any = None, *, intent_id: Optional[str] = None, wait_seconds: int = 0,
               not_before: Optional[Time] = None, expires_at: Optional[Time] = None, ordering_key: Optional[str] = None,
               traceparent: Optional[str] = None, tracestate: Optional[str] = None, time_limit: Optional[float] = None) -> types.Intent:
        """Stored when this returns. Without an id one is made; the answer and every error have it. With wait_seconds (0 to 60) the answer
        waits for the end, or for that of the first attempt; time_limit does not count these seconds."""
        item = given(intentId=new_id(intent_id), submissionTarget=target, payload=payload, notBefore=time_text(not_before),
                     expiresAt=time_text(expires_at), orderingKey=ordering_key)
        return self._hand_in(item["intentId"], "/v1/intents", item, traceparent, tracestate, time_limit, wait_seconds)

    def submit_batch(self, items: Iterable[Mapping[str, Any]], *, time_limit: Optional[float] = None) -> List[BatchOutcome]:
        """Many intents, as types.NewIntent but for intentId, which is made where there is none. Each is stored or refused by itself:
        look at every outcome's error. Sent in several requests where one would be too large; in the items' order."""
        whole: List[Dict[str, Any]] = [{**item, "intentId": new_id(item.get("intentId"))} for item in items]
        end = time.monotonic() + (self._transport.time_limit if time_limit is None else time_limit)
        outcomes: List[BatchOutcome] = []
        for part in parts(whole):
            outcomes += self._batch(part, end)
        return outcomes

    def list(self, *, target: Optional[str] = None, status: Optional[str] = None, since: Optional[Time] = None,
             until: Optional[Time] = None, page_size: Optional[int] = None) -> Iterator[types.Intent]:
        """All intents that fit, the newest first, fetched page by page."""
        return self._pages("/v1/intents", {"target": target, "status": status, "since": time_text(since), "until": time_text(until),
                                           "limit": page_size})

    def get(self, intent_id: str) -> types.Intent:
        return self._transport.call("GET", f"/v1/intents/{segment(intent_id)}")

    def history(self, intent_id: str) -> types.History:
        return self._transport.call("GET", f"/v1/intents/{segment(intent_id)}/history")

    def cancel(self, intent_id: str, *, reason: Optional[str] = None) -> types.Intent:
        """Also if it was cancelled before. errors.Conflict if it is under way or has ended otherwise; its `intent` says how it is."""
        return self._transport.call("POST", f"/v1/intents/{segment(intent_id)}/cancel", given(reason=reason))

    def cancel_all(self, target: str, *, older_than_seconds: Optional[int] = None, reason: Optional[str] = None,
                   dry_run: bool = False) -> int:
        """Cancels what waits for a target; returns how many, or would be."""
        count, cursor = 0, None
        while True:
            answer = self._transport.call("POST", "/v1/intents:cancel", given(target=target, olderThanSeconds=older_than_seconds,
                                                                              reason=reason, dryRun=dry_run, cursor=cursor))
            count += answer["count"]
            cursor = answer.get("next")
            if cursor is None:
                return count

    def reschedule(self, intent_id: str, not_before: Time) -> types.Intent:
        """Gives it another time. errors.Conflict if it no longer waits for one."""
        return self._transport.call("PATCH", f"/v1/intents/{segment(intent_id)}", {"notBefore": time_text(not_before)})

    # ---- events ----
    def publish(self, rule: str, snapshot: Any, *, event_id: Optional[str] = None, suppress_delivery: Optional[bool] = None,
                not_before: Optional[Time] = None, expires_at: Optional[Time] = None, ordering_key: Optional[str] = None,
                traceparent: Optional[str] = None, tracestate: Optional[str] = None, time_limit: Optional[float] = None) -> types.EventState:
        """An event of a rule of the client's organisation; each channel of the rule gets it."""
        event = {**given(eventId=new_id(event_id), suppressDelivery=suppress_delivery, notBefore=time_text(not_before),
                         expiresAt=time_text(expires_at), orderingKey=ordering_key), "snapshot": snapshot}
        path = f"/orgs/{segment(self.organisation)}/alert-rules/{segment(rule)}/events"
        return self._hand_in(event["eventId"], path, event, traceparent, tracestate, time_limit)

    # ---- forms and pipelines ----
    def submit_form(self, form_id: str, fields: Mapping[str, Any], *, submission_id: Optional[str] = None,
                    attachments: Optional[Sequence[types.NewSubmissionAttachment]] = None, finalize: Optional[bool] = None,
                    retention_expires_at: Optional[Time] = None, not_before: Optional[Time] = None, expires_at: Optional[Time] = None,
                    traceparent: Optional[str] = None, tracestate: Optional[str] = None,
                    time_limit: Optional[float] = None) -> types.SubmissionState:
        """With finalize it is complete; else finalize() it later."""
        form = given(submissionId=new_id(submission_id), formId=form_id, fields=fields, attachments=attachments, finalize=finalize,
                     retentionExpiresAt=time_text(retention_expires_at), notBefore=time_text(not_before), expiresAt=time_text(expires_at))
        return self._hand_in(form["submissionId"], "/v1/submissions", form, traceparent, tracestate, time_limit)

    def finalize(self, submission_id: str) -> types.SubmissionState:
        """Declares a form's submission complete."""
        return self._transport.call("POST", f"/v1/submissions/{segment(submission_id)}/finalize", {})

    def submit_job(self, pipeline: str, payload: Any, *, submission_id: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None,
                   not_before: Optional[Time] = None, expires_at: Optional[Time] = None, traceparent: Optional[str] = None,
                   tracestate: Optional[str] = None, time_limit: Optional[float] = None) -> types.PipelineState:
        """A submission to a pipeline of the registry: a job, or a case that people decide."""
        job = {**given(submissionId=new_id(submission_id), metadata=metadata, notBefore=time_text(not_before),
                       expiresAt=time_text(expires_at)), "payload": payload}
        return self._hand_in(job["submissionId"], f"/v1/pipelines/{segment(pipeline)}/submissions", job, traceparent, tracestate, time_limit)

    def post_form(self, answers: Any, *, submission_id: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None,
                  traceparent: Optional[str] = None, tracestate: Optional[str] = None, time_limit: Optional[float] = None) -> types.FormPost:
        """A submission of each pipeline whose file has the path /forms."""
        post = {**given(submissionId=new_id(submission_id), metadata=metadata), "answers": answers}
        return self._hand_in(post["submissionId"], "/forms", post, traceparent, tracestate, time_limit)

    def get_submission(self, submission_id: str) -> types.AnySubmission:
        return self._transport.call("GET", f"/v1/submissions/{segment(submission_id)}")

    def list_submissions(self, *, form_id: Optional[str] = None, status: Optional[str] = None, since: Optional[Time] = None,
                         until: Optional[Time] = None, pipeline: Optional[str] = None, state: Optional[str] = None,
                         reference: Optional[str] = None, page_size: Optional[int] = None
                         ) -> Iterator[Union[types.FormListItem, types.PipelineListItem]]:
        """Those of forms and pipelines that fit, the newest first, fetched page by page."""
        return self._pages("/v1/submissions", {"formId": form_id, "status": status, "since": time_text(since), "until": time_text(until),
                                               "pipeline": pipeline, "state": state, "reference": reference, "limit": page_size})

    # ---- how ----
    def _hand_in(self, id_: str, path: str, body: Dict[str, Any], traceparent: Optional[str], tracestate: Optional[str],
                 time_limit: Optional[float], wait_seconds: int = 0) -> Any:
        try:
            return self._transport.call("POST", path, body, {"waitSeconds": wait_seconds or None},
                                        given(traceparent=traceparent, tracestate=tracestate), float(wait_seconds), time_limit)
        except errors.WaybillError as error:
            error.id = id_
            raise

    def _pages(self, path: str, query: Dict[str, Any]) -> Iterator[Any]:
        cursor: Optional[str] = None
        while True:
            page = self._transport.call("GET", path, query={**query, "cursor": cursor})
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def _batch(self, items: List[Dict[str, Any]], end: float) -> List[BatchOutcome]:
        """Those that were not acknowledged are sent again, the others are not."""
        done: Dict[int, BatchOutcome] = {}
        attempt = 0
        while True:
            open_ = [at for at in range(len(items)) if at not in done or may_be_repeated(done[at])]
            try:
                left = max(end - time.monotonic(), 0.001)
                results = self._transport.call("POST", "/v1/intents:batch", [items[at] for at in open_], limit=left)["results"]
                if len(results) != len(open_):
                    raise errors.Unreachable("the answer has not one result for each item")
                done.update((at, outcome_of(items[at]["intentId"], result)) for at, result in zip(open_, results))
            except errors.WaybillError as error:
                done.update((at, BatchOutcome(items[at]["intentId"], error=error)) for at in open_)
                return [done[at] for at in range(len(items))]
            pause = pause_before(attempt, None)
            attempt += 1
            if not any(may_be_repeated(outcome) for outcome in done.values()) or time.monotonic() + pause >= end:
                return [done[at] for at in range(len(items))]
            time.sleep(pause)


def may_be_repeated(outcome: BatchOutcome) -> bool:
    return isinstance(outcome.error, errors.ApiError) and outcome.error.status in REPEATED


def outcome_of(id_: str, result: types.BatchResult) -> BatchOutcome:
    if 200 <= result["status"] < 300:
        return BatchOutcome(id_, result["intent"])
    error = errors.api_error(result["status"], {"error": result.get("error")})
    error.id = id_
    return BatchOutcome(id_, error=error)


def parts(items: List[Dict[str, Any]]) -> Iterator[List[Dict[str, Any]]]:
    part: List[Dict[str, Any]] = []
    size = 0
    for item in items:
        bytes_ = len(encoded(item)) + 1
        if part and (len(part) == MAX_ITEMS or size + bytes_ > MAX_BYTES):
            yield part
            part, size = [], 0
        part.append(item)
        size += bytes_
    if part:
        yield part


def new_id(id_: Optional[str]) -> str:
    return str(uuid.uuid4()) if id_ is None else id_


def given(**fields: Any) -> Dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def time_text(time_: Optional[Time]) -> Optional[str]:
    if not isinstance(time_, datetime.datetime):
        return time_
    if time_.tzinfo is None:
        raise ValueError("a time needs a time zone, such as datetime.timezone.utc")
    return time_.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def segment(id_: str) -> str:
    return quote(id_, safe="")
