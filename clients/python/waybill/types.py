"""What the host is sent and answers, by docs/openapi.yaml. Written by clients/generate.py: do not edit."""
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

__all__ = [
    "AnySubmission",
    "Attempt",
    "AttemptAnswer",
    "Batch",
    "BatchResult",
    "Cancel",
    "CancelMany",
    "CancelledMany",
    "Error",
    "ErrorError",
    "EventState",
    "ExpiresAt",
    "FormListItem",
    "FormPost",
    "History",
    "HistoryNotDelivered",
    "Intent",
    "IntentPage",
    "NewEvent",
    "NewFormPost",
    "NewIntent",
    "NewIntents",
    "NewPipelineSubmission",
    "NewSubmission",
    "NewSubmissionAttachment",
    "NotBefore",
    "PipelineListItem",
    "PipelineState",
    "PipelineSubmission",
    "PipelineSubmissionAudit",
    "PipelineSubmissionDecision",
    "PipelineSubmissionDelivery",
    "PipelineSubmissionDeliveryFailure",
    "Reschedule",
    "RoutingResult",
    "RoutingResultItem",
    "Submission",
    "SubmissionAttachment",
    "SubmissionAudit",
    "SubmissionDelivery",
    "SubmissionPage",
    "SubmissionState",
    "SubmissionStatus",
    "SubmittedBy",
]


NotBefore = str
"""Nothing is sent earlier, and deadlines count from then. At most 366 days ahead"""


ExpiresAt = str
"""Nothing is sent then or later; what was not accepted by then ends. Later than notBefore, at most 366 days ahead"""


class _NewIntentRequired(TypedDict):
    intentId: str
    """At most 255 bytes, no control characters"""
    submissionTarget: str


class NewIntent(_NewIntentRequired, total=False):
    payload: Any
    """Any JSON value, kept byte for byte"""
    traceparent: str
    """This intent's own, instead of the request's header. One that is not valid is ignored"""
    tracestate: str
    """Goes with traceparent"""
    notBefore: NotBefore
    expiresAt: ExpiresAt
    orderingKey: str
    """1 to 255 characters"""


SubmittedBy = str
"""Who handed it in, if it did not come over HTTP"""


class _IntentRequired(TypedDict):
    intentId: str
    submissionTarget: str
    createdAt: str
    status: Literal["pending", "accepted", "rejected", "exhausted", "cancelled"]


class Intent(_IntentRequired, total=False):
    notBefore: NotBefore
    expiresAt: ExpiresAt
    submittedBy: SubmittedBy
    completedAt: str
    rejectedReason: str
    exhaustedReason: Literal["deadline_exceeded", "max_attempts", "one_shot", "worker_lost", "restored", "ended_by_operator", "expired"]


NewIntents = List[NewIntent]


class _BatchResultRequired(TypedDict):
    status: int
    """What POST /v1/intents would have answered"""


class BatchResult(_BatchResultRequired, total=False):
    intent: Intent
    error: Dict[str, Any]
    """As in Error"""


class Batch(TypedDict):
    results: List[BatchResult]


class IntentPage(TypedDict):
    items: List[Intent]
    next: Optional[str]
    """The cursor of the next page; null: there is none"""


class AttemptAnswer(TypedDict, total=False):
    """Of a delivery to a channel: what came back"""

    status: int
    body: str
    """At most the first KiB"""
    address: str
    """That was connected to, with its port"""
    firstByteMs: float
    """From the request's start to the answer's first byte"""


class _AttemptRequired(TypedDict):
    attemptNumber: int
    startedAt: str
    finishedAt: Optional[str]
    outcomeStatus: Literal["accepted", "rejected", "deferred", "error", "unknown"]
    outcomeReason: Optional[str]
    error: Optional[str]
    counts: bool
    """Whether it counts against maxAttempts. It does if its end was seen and no outage of the target caused it; deferred counts too"""
    code: Optional[int]
    """The protocol's own, such as 503 of HTTP or 451 of SMTP"""
    providerRef: Optional[str]
    """The destination's id for it"""
    mayHaveBeenSent: Optional[bool]
    """Whether the receiver may have what nobody saw it take; null of attempts that did not record it"""


class Attempt(_AttemptRequired, total=False):
    answer: AttemptAnswer
    """Of a delivery to a channel: what came back"""


class HistoryNotDelivered(TypedDict):
    status: str
    """The provider's word, such as permanent-failure"""
    failedAt: Optional[str]
    noticedAt: str
    providerRef: Optional[str]
    """The provider's id"""


class _HistoryRequired(TypedDict):
    intent: Intent
    attempts: List[Attempt]


class History(_HistoryRequired, total=False):
    notDelivered: List[HistoryNotDelivered]
    """What the provider said after it had accepted the intent (failure_check). Absent if it said nothing"""


class Cancel(TypedDict, total=False):
    reason: str


class Reschedule(TypedDict):
    notBefore: str


class _CancelManyRequired(TypedDict):
    target: str


class CancelMany(_CancelManyRequired, total=False):
    olderThanSeconds: int
    reason: str
    dryRun: bool
    cursor: str
    """The `next` of the answer before"""


class _CancelledManyRequired(TypedDict):
    count: int
    dryRun: bool


class CancelledMany(_CancelledManyRequired, total=False):
    next: Optional[str]
    """Ask again with this as cursor; null: that was all"""


class NewSubmissionAttachment(TypedDict):
    attachmentId: str
    """Unique in the organisation"""
    name: str
    contentType: str
    size: int
    """bytes"""
    objectUri: str
    """2048 bytes at most, no control characters; a bucket by Google's rules, no segment . or .. in the key"""


class _NewSubmissionRequired(TypedDict):
    submissionId: str
    """At most 255 bytes, no control characters"""
    formId: str
    fields: Dict[str, Any]
    """What the form holds, kept byte for byte; as the form's fields_schema wants it"""


class NewSubmission(_NewSubmissionRequired, total=False):
    attachments: List[NewSubmissionAttachment]
    retentionExpiresAt: str
    """In the future. Then its contents are erased; default: retention.forms from now"""
    finalize: bool
    """Finalize it in the same call"""
    notBefore: NotBefore
    expiresAt: ExpiresAt


SubmissionStatus = Literal["received", "processing", "routed", "failed", "purged"]


class SubmissionState(TypedDict):
    submissionId: str
    status: SubmissionStatus


class FormListItem(TypedDict):
    submissionId: str
    formId: str
    status: SubmissionStatus
    reason: Optional[str]
    createdAt: str
    completedAt: Optional[str]


class PipelineListItem(TypedDict):
    submissionId: str
    pipeline: str
    version: int
    state: str
    metadata: Dict[str, Any]
    createdAt: str
    endedAt: Optional[str]
    blockedAt: Optional[str]


class SubmissionPage(TypedDict):
    items: List[Union[FormListItem, PipelineListItem]]
    next: Optional[str]
    """The cursor of the next page; null: there is none"""


class RoutingResultItem(TypedDict):
    actionType: str
    status: Literal["pending", "accepted", "rejected", "exhausted", "deferred", "cancelled"]
    reason: Optional[str]
    attempts: int


RoutingResult = Dict[str, RoutingResultItem]
"""By action_order"""


class SubmissionAttachment(TypedDict, total=False):
    attachmentId: str
    name: str
    contentType: str
    size: int
    clamavStatus: Literal["pending", "clean", "infected"]
    scannedAt: Optional[str]


class SubmissionDelivery(TypedDict, total=False):
    actionOrder: int
    actionType: str
    status: Literal["waiting", "due", "claimed", "accepted", "rejected", "exhausted", "deferred", "cancelled"]
    reason: Optional[str]
    attempts: int
    replay: int
    """The number of this replay of its action; 0 for the original"""
    providerRef: str
    result: Optional[Dict[str, Any]]
    """The plugin's own: for mail, who accepted and who refused"""
    history: List[Attempt]
    nextAttemptAt: str
    endedAt: Optional[str]


class _SubmissionAuditRequired(TypedDict):
    action: str
    fromState: Optional[str]
    toState: Optional[str]
    trigger: str
    actor: str
    actorType: Literal["system", "worker", "admin"]
    metadata: Optional[Dict[str, Any]]
    createdAt: str


class SubmissionAudit(_SubmissionAuditRequired, total=False):
    before: Any
    """Of a dead letter's edit, until the submission is purged: the fields or the destination as it was"""
    after: Any
    """The same after the edit"""


class _SubmissionRequired(TypedDict):
    submissionId: str
    formId: str
    status: SubmissionStatus
    createdAt: str
    finalizedAt: Optional[str]
    completedAt: Optional[str]
    retentionExpiresAt: str
    reason: Optional[str]
    """Of a failure: action_failed, infected_attachment, retention_expired. Of a purged submission also never_finalized"""
    routingResult: RoutingResult
    attachments: List[SubmissionAttachment]
    deliveries: List[SubmissionDelivery]
    audit: List[SubmissionAudit]


class Submission(_SubmissionRequired, total=False):
    notBefore: NotBefore
    expiresAt: ExpiresAt
    submittedBy: SubmittedBy
    happyfoxStatus: str
    """If the form has such an action: its status, as in routingResult"""
    happyfoxTicketId: Optional[str]


class PipelineSubmissionDecision(TypedDict):
    to: str
    trigger: str
    role: Literal["member", "admin", "owner"]


class PipelineSubmissionDeliveryFailure(TypedDict):
    attempt: int
    startedAt: str
    outcome: Literal["rejected", "deferred", "error", "unknown"]
    reason: Optional[str]
    error: Optional[str]
    code: int
    """The protocol's own status, such as 503; 0 without one"""


class _PipelineSubmissionDeliveryRequired(TypedDict):
    deliveryId: str
    state: str
    """Of the pipeline"""
    target: str
    actionType: str
    status: Literal["waiting", "due", "claimed", "accepted", "rejected", "exhausted", "deferred", "cancelled"]
    reason: Optional[str]
    attempts: int
    result: Any
    """Any JSON value"""
    endedAt: Optional[str]
    failures: List[PipelineSubmissionDeliveryFailure]


class PipelineSubmissionDelivery(_PipelineSubmissionDeliveryRequired, total=False):
    replay: int
    providerRef: str
    nextAttemptAt: str


class PipelineSubmissionAudit(TypedDict):
    action: str
    """state_changed; stage_skipped and stage_given_up: by a repair; not_delivered: the provider said so after it had accepted"""
    fromState: Optional[str]
    """Null: it was handed in"""
    toState: Optional[str]
    """Null: it did not move"""
    trigger: str
    actor: str
    """Of a decision: the token's name"""
    actorType: Literal["system", "worker", "admin"]
    metadata: Dict[str, Any]
    createdAt: str


class _PipelineSubmissionRequired(TypedDict):
    submissionId: str
    pipeline: str
    version: int
    """Of the pipeline, as it was when the submission began"""
    state: str
    results: Dict[str, Any]
    """By state: what its action answered, or an object of what its actions answered, by name"""
    metadata: Dict[str, Any]
    payload: Any
    createdAt: str
    endedAt: Optional[str]
    """When it came to a terminal state"""
    blockedAt: Optional[str]
    """Since when it waits for the replay of a dead letter, or for somebody to look"""
    decisions: List[PipelineSubmissionDecision]
    """That people may make now"""
    deliveries: List[PipelineSubmissionDelivery]
    """In the order in which they were made; a replay is one more"""
    audit: List[PipelineSubmissionAudit]


class PipelineSubmission(_PipelineSubmissionRequired, total=False):
    notBefore: NotBefore
    expiresAt: ExpiresAt
    submittedBy: SubmittedBy


AnySubmission = Union[Submission, PipelineSubmission]


class _NewPipelineSubmissionRequired(TypedDict):
    submissionId: str
    """At most 255 bytes, no control characters"""
    payload: Any
    """Any JSON value, kept byte for byte"""


class NewPipelineSubmission(_NewPipelineSubmissionRequired, total=False):
    metadata: Dict[str, Any]
    """Carried along; what is started by it has the same"""
    notBefore: NotBefore
    expiresAt: ExpiresAt


class PipelineState(TypedDict):
    submissionId: str
    """Of a post to /forms: its id, a hyphen and the pipeline's name"""
    pipeline: str
    state: str


class _NewFormPostRequired(TypedDict):
    answers: Any
    """Any JSON value"""


class NewFormPost(_NewFormPostRequired, total=False):
    submissionId: str
    """Without one, each post is a new one"""
    metadata: Dict[str, Any]
    """Of every submission that begins. Their payload is {answers, metadata}"""
    notBefore: NotBefore
    expiresAt: ExpiresAt


class FormPost(TypedDict):
    submissionId: str
    submissions: List[PipelineState]


class _NewEventRequired(TypedDict):
    eventId: str
    snapshot: Any
    """Any JSON value, kept byte for byte"""


class NewEvent(_NewEventRequired, total=False):
    suppressDelivery: bool
    notBefore: str
    """Nothing is sent earlier; 366 days ahead at most"""
    expiresAt: str
    """Nothing is sent later"""
    orderingKey: str
    """1 to 255 characters"""


class EventState(TypedDict):
    eventId: str
    channels: int
    """To how many it goes"""
    duplicate: bool
    """The same event was handed in before: nothing has changed"""


class ErrorError(TypedDict):
    code: str
    message: str


class Error(TypedDict):
    error: ErrorError
