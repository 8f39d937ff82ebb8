/** What the host is sent and answers, by docs/openapi.yaml. Written by clients/generate.py: do not edit. */

/** Nothing is sent earlier, and deadlines count from then. At most 366 days ahead */
export type NotBefore = string | Date;

/** Nothing is sent then or later; what was not accepted by then ends. Later than notBefore, at most 366 days ahead */
export type ExpiresAt = string | Date;

export interface NewIntent {
  /** At most 255 bytes, no control characters */
  intentId: string;
  submissionTarget: string;
  /** Any JSON value, kept byte for byte */
  payload?: unknown | undefined;
  /** This intent's own, instead of the request's header. One that is not valid is ignored */
  traceparent?: string | undefined;
  /** Goes with traceparent */
  tracestate?: string | undefined;
  notBefore?: NotBefore | undefined;
  expiresAt?: ExpiresAt | undefined;
  /** 1 to 255 characters */
  orderingKey?: string | undefined;
}

/** Who handed it in, if it did not come over HTTP */
export type SubmittedBy = string;

export interface Intent {
  intentId: string;
  submissionTarget: string;
  createdAt: string;
  status: "pending" | "accepted" | "rejected" | "exhausted" | "cancelled" | (string & {});
  notBefore?: NotBefore;
  expiresAt?: ExpiresAt;
  submittedBy?: SubmittedBy;
  completedAt?: string;
  rejectedReason?: string;
  exhaustedReason?: "deadline_exceeded" | "max_attempts" | "one_shot" | "worker_lost" | "restored" | "ended_by_operator" | "expired" | (string & {});
}

export type NewIntents = Array<NewIntent>;

export interface BatchResult {
  /** What POST /v1/intents would have answered */
  status: number;
  intent?: Intent;
  /** As in Error */
  error?: Record<string, unknown>;
}

export interface Batch {
  results: Array<BatchResult>;
}

export interface IntentPage {
  items: Array<Intent>;
  /** The cursor of the next page; null: there is none */
  next: string | null;
}

/** Of a delivery to a channel: what came back */
export interface AttemptAnswer {
  status?: number;
  /** At most the first KiB */
  body?: string;
  /** That was connected to, with its port */
  address?: string;
  /** From the request's start to the answer's first byte */
  firstByteMs?: number;
}

export interface Attempt {
  attemptNumber: number;
  startedAt: string;
  finishedAt: string | null;
  outcomeStatus: "accepted" | "rejected" | "deferred" | "error" | "unknown" | (string & {});
  outcomeReason: string | null;
  error: string | null;
  /** Whether it counts against maxAttempts. It does if its end was seen and no outage of the target caused it; deferred counts too */
  counts: boolean;
  /** The protocol's own, such as 503 of HTTP or 451 of SMTP */
  code: number | null;
  /** The destination's id for it */
  providerRef: string | null;
  /** Whether the receiver may have what nobody saw it take; null of attempts that did not record it */
  mayHaveBeenSent: boolean | null;
  /** Of a delivery to a channel: what came back */
  answer?: AttemptAnswer;
}

export interface HistoryNotDelivered {
  /** The provider's word, such as permanent-failure */
  status: string;
  failedAt: string | null;
  noticedAt: string;
  /** The provider's id */
  providerRef: string | null;
}

export interface History {
  intent: Intent;
  attempts: Array<Attempt>;
  /** What the provider said after it had accepted the intent (failure_check). Absent if it said nothing */
  notDelivered?: Array<HistoryNotDelivered>;
}

export interface Cancel {
  reason?: string | undefined;
}

export interface Reschedule {
  notBefore: string | Date;
}

export interface CancelMany {
  target: string;
  olderThanSeconds?: number | undefined;
  reason?: string | undefined;
  dryRun?: boolean | undefined;
  /** The `next` of the answer before */
  cursor?: string | undefined;
}

export interface CancelledMany {
  count: number;
  dryRun: boolean;
  /** Ask again with this as cursor; null: that was all */
  next?: string | null;
}

export interface NewSubmissionAttachment {
  /** Unique in the organisation */
  attachmentId: string;
  name: string;
  contentType: string;
  /** bytes */
  size: number;
  /** 2048 bytes at most, no control characters; a bucket by Google's rules, no segment . or .. in the key */
  objectUri: string;
}

export interface NewSubmission {
  /** At most 255 bytes, no control characters */
  submissionId: string;
  formId: string;
  /** What the form holds, kept byte for byte; as the form's fields_schema wants it */
  fields: Record<string, unknown>;
  attachments?: Array<NewSubmissionAttachment> | undefined;
  /** In the future. Then its contents are erased; default: retention.forms from now */
  retentionExpiresAt?: string | Date | undefined;
  /** Finalize it in the same call */
  finalize?: boolean | undefined;
  notBefore?: NotBefore | undefined;
  expiresAt?: ExpiresAt | undefined;
}

export type SubmissionStatus = "received" | "processing" | "routed" | "failed" | "purged" | (string & {});

export interface SubmissionState {
  submissionId: string;
  status: SubmissionStatus;
}

export interface FormListItem {
  submissionId: string;
  formId: string;
  status: SubmissionStatus;
  reason: string | null;
  createdAt: string;
  completedAt: string | null;
}

export interface PipelineListItem {
  submissionId: string;
  pipeline: string;
  version: number;
  state: string;
  metadata: Record<string, unknown>;
  createdAt: string;
  endedAt: string | null;
  blockedAt: string | null;
}

export interface SubmissionPage {
  items: Array<FormListItem | PipelineListItem>;
  /** The cursor of the next page; null: there is none */
  next: string | null;
}

export interface RoutingResultItem {
  actionType: string;
  status: "pending" | "accepted" | "rejected" | "exhausted" | "deferred" | "cancelled" | (string & {});
  reason: string | null;
  attempts: number;
}

/** By action_order */
export type RoutingResult = Record<string, RoutingResultItem>;

export interface SubmissionAttachment {
  attachmentId?: string;
  name?: string;
  contentType?: string;
  size?: number;
  clamavStatus?: "pending" | "clean" | "infected" | (string & {});
  scannedAt?: string | null;
}

export interface SubmissionDelivery {
  actionOrder?: number;
  actionType?: string;
  status?: "waiting" | "due" | "claimed" | "accepted" | "rejected" | "exhausted" | "deferred" | "cancelled" | (string & {});
  reason?: string | null;
  attempts?: number;
  /** The number of this replay of its action; 0 for the original */
  replay?: number;
  providerRef?: string;
  /** The plugin's own: for mail, who accepted and who refused */
  result?: Record<string, unknown> | null;
  history?: Array<Attempt>;
  nextAttemptAt?: string;
  endedAt?: string | null;
}

export interface SubmissionAudit {
  action: string;
  fromState: string | null;
  toState: string | null;
  trigger: string;
  actor: string;
  actorType: "system" | "worker" | "admin" | (string & {});
  metadata: Record<string, unknown> | null;
  createdAt: string;
  /** Of a dead letter's edit, until the submission is purged: the fields or the destination as it was */
  before?: unknown;
  /** The same after the edit */
  after?: unknown;
}

export interface Submission {
  submissionId: string;
  formId: string;
  status: SubmissionStatus;
  createdAt: string;
  finalizedAt: string | null;
  completedAt: string | null;
  retentionExpiresAt: string;
  notBefore?: NotBefore;
  expiresAt?: ExpiresAt;
  submittedBy?: SubmittedBy;
  /** Of a failure: action_failed, infected_attachment, retention_expired. Of a purged submission also never_finalized */
  reason: string | null;
  /** If the form has such an action: its status, as in routingResult */
  happyfoxStatus?: string;
  happyfoxTicketId?: string | null;
  routingResult: RoutingResult;
  attachments: Array<SubmissionAttachment>;
  deliveries: Array<SubmissionDelivery>;
  audit: Array<SubmissionAudit>;
}

export interface PipelineSubmissionDecision {
  to: string;
  trigger: string;
  role: "member" | "admin" | "owner" | (string & {});
}

export interface PipelineSubmissionDeliveryFailure {
  attempt: number;
  startedAt: string;
  outcome: "rejected" | "deferred" | "error" | "unknown" | (string & {});
  reason: string | null;
  error: string | null;
  /** The protocol's own status, such as 503; 0 without one */
  code: number;
}

export interface PipelineSubmissionDelivery {
  deliveryId: string;
  /** Of the pipeline */
  state: string;
  target: string;
  actionType: string;
  status: "waiting" | "due" | "claimed" | "accepted" | "rejected" | "exhausted" | "deferred" | "cancelled" | (string & {});
  reason: string | null;
  attempts: number;
  replay?: number;
  providerRef?: string;
  /** Any JSON value */
  result: unknown;
  nextAttemptAt?: string;
  endedAt: string | null;
  failures: Array<PipelineSubmissionDeliveryFailure>;
}

export interface PipelineSubmissionAudit {
  /** state_changed; stage_skipped and stage_given_up: by a repair; not_delivered: the provider said so after it had accepted */
  action: string;
  /** Null: it was handed in */
  fromState: string | null;
  /** Null: it did not move */
  toState: string | null;
  trigger: string;
  /** Of a decision: the token's name */
  actor: string;
  actorType: "system" | "worker" | "admin" | (string & {});
  metadata: Record<string, unknown>;
  createdAt: string;
}

export interface PipelineSubmission {
  submissionId: string;
  pipeline: string;
  /** Of the pipeline, as it was when the submission began */
  version: number;
  state: string;
  /** By state: what its action answered, or an object of what its actions answered, by name */
  results: Record<string, unknown>;
  metadata: Record<string, unknown>;
  notBefore?: NotBefore;
  expiresAt?: ExpiresAt;
  submittedBy?: SubmittedBy;
  payload: unknown;
  createdAt: string;
  /** When it came to a terminal state */
  endedAt: string | null;
  /** Since when it waits for the replay of a dead letter, or for somebody to look */
  blockedAt: string | null;
  /** That people may make now */
  decisions: Array<PipelineSubmissionDecision>;
  /** In the order in which they were made; a replay is one more */
  deliveries: Array<PipelineSubmissionDelivery>;
  audit: Array<PipelineSubmissionAudit>;
}

export type AnySubmission = Submission | PipelineSubmission;

export interface NewPipelineSubmission {
  /** At most 255 bytes, no control characters */
  submissionId: string;
  /** Any JSON value, kept byte for byte */
  payload: unknown;
  /** Carried along; what is started by it has the same */
  metadata?: Record<string, unknown> | undefined;
  notBefore?: NotBefore | undefined;
  expiresAt?: ExpiresAt | undefined;
}

export interface PipelineState {
  /** Of a post to /forms: its id, a hyphen and the pipeline's name */
  submissionId: string;
  pipeline: string;
  state: string;
}

export interface NewFormPost {
  /** Without one, each post is a new one */
  submissionId?: string | undefined;
  /** Any JSON value */
  answers: unknown;
  /** Of every submission that begins. Their payload is {answers, metadata} */
  metadata?: Record<string, unknown> | undefined;
  notBefore?: NotBefore | undefined;
  expiresAt?: ExpiresAt | undefined;
}

export interface FormPost {
  submissionId: string;
  submissions: Array<PipelineState>;
}

export interface NewEvent {
  eventId: string;
  /** Any JSON value, kept byte for byte */
  snapshot: unknown;
  suppressDelivery?: boolean | undefined;
  /** Nothing is sent earlier; 366 days ahead at most */
  notBefore?: string | Date | undefined;
  /** Nothing is sent later */
  expiresAt?: string | Date | undefined;
  /** 1 to 255 characters */
  orderingKey?: string | undefined;
}

export interface EventState {
  eventId: string;
  /** To how many it goes */
  channels: number;
  /** The same event was handed in before: nothing has changed */
  duplicate: boolean;
}

export interface Problem {
  code: string;
  message: string;
}

export interface ErrorAnswer {
  error: Problem;
}

/** Which of /v1/intents: Intents, newest first; pages stay exact while others arrive */
export interface ListIntentsQuery {
  target?: string | undefined;
  status?: "pending" | "accepted" | "rejected" | "exhausted" | undefined;
  /** Created then or later */
  since?: string | Date | undefined;
  /** Created before then */
  until?: string | Date | undefined;
  limit?: number | undefined;
  /** The `next` of the page before */
  cursor?: string | undefined;
}

/** Which of /v1/submissions: Submissions of forms and pipelines, newest first; pages stay exact while others arrive */
export interface ListSubmissionsQuery {
  formId?: string | undefined;
  /** Of forms */
  status?: SubmissionStatus | undefined;
  /** Created then or later; not beside pipeline, state or reference */
  since?: string | Date | undefined;
  /** Created before then; not beside pipeline, state or reference */
  until?: string | Date | undefined;
  pipeline?: string | undefined;
  /** Of pipelines */
  state?: string | undefined;
  /** The value at the pipeline's `reference`, by default metadata.reference */
  reference?: string | undefined;
  limit?: number | undefined;
  /** The `next` of the page before */
  cursor?: string | undefined;
}
