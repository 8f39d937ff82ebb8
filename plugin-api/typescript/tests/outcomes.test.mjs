// What answers and replies are judged as, and what an outcome takes from them. I4
import assert from "node:assert/strict";
import { bodyOf, fields, it, response } from "./host_side.mjs";
import {
  accepted, Answer, deferred, ERRORS, judge, REACHES, Reader, rejected, Reply, STAGES, transient,
} from "../waybill_plugin.mjs";
import { readOutcome } from "../waybill_testing.mjs";

const answer = (status = 200, more = {}) => new Answer(bodyOf(response(1, status, more)));

function reply(stage = "data", code = 250, { error = null, reach = "answered", recipients = [] } = {}) {
  return new Reply(fields((frame) => {
    frame.u64(1).i32(ERRORS.get(error)).i32(REACHES.get(reach)).i32(STAGES.get(stage)).i32(code).text("Ok")
      .text(error === null ? "" : "as scripted").u32(recipients.length);
    for (const one of recipients) frame.i32(one).text(`said ${one}`);
    return frame;
  }), recipients.map((_, n) => `${n}@test`));
}

it("a status means what it does for most", () => {
  for (const [status, verdict, reason, scope] of [
    [200, "accepted", "", "this_job"], [204, "accepted", "", "this_job"],
    [302, "transient", "invalid_answer", "this_job"], [0, "transient", "invalid_answer", "this_job"],
    [400, "rejected", "refused", "this_job"], [404, "rejected", "refused", "this_job"],
    [401, "transient", "unauthorized", "whole_target"], [403, "transient", "unauthorized", "whole_target"],
    [408, "transient", "try_later", "this_job"], [425, "transient", "try_later", "this_job"],
    [429, "transient", "try_later", "whole_target"], [500, "transient", "server_error", "this_job"],
    [502, "transient", "server_error", "whole_target"], [503, "transient", "server_error", "whole_target"],
    [504, "transient", "server_error", "whole_target"]]) {
    const outcome = judge(answer(status, { retryAfterMs: 7000 }), "refused");
    assert.deepEqual([outcome.verdict, outcome.reason, outcome.scope], [verdict, reason, scope], `status ${status}`);
    assert.deepEqual([outcome.reach, outcome.code], ["answered", status]);
    assert.equal(outcome.retryAfter, verdict === "accepted" ? null : 7);
  }
});

it("without an answer the reach is the host's", () => {
  for (const [error, reach, reason, scope] of [
    ["resolve", "not_sent", "resolve_failed", "whole_target"], ["connect", "not_sent", "connect_failed", "whole_target"],
    ["tls", "not_sent", "tls_failed", "whole_target"], ["timeout", "maybe_sent", "timeout", "this_job"],
    ["timeout", "not_sent", "timeout", "whole_target"], ["broken", "maybe_sent", "connection_broken", "this_job"],
    ["refused", "not_sent", "refused_by_host", "this_job"], ["cancelled", "not_sent", "cancelled", "this_job"]]) {
    const outcome = judge(answer(0, { error, reach }), "refused");
    assert.deepEqual([outcome.verdict, outcome.reason, outcome.reach, outcome.scope, outcome.detail],
                     ["transient", reason, reach, scope, "as scripted"]);
  }
});

it("a reply means what it does for most", () => {
  for (const [given, verdict, reason, scope] of [
    [reply("data", 250, { recipients: [250, 250] }), "accepted", "", "this_job"],
    [reply("connect", 421), "transient", "try_later", "whole_target"],
    [reply("connect", 554), "transient", "relay_refused", "whole_target"],
    [reply("auth", 535), "transient", "relay_login_refused", "whole_target"],
    [reply("auth", 454), "transient", "try_later", "whole_target"],
    [reply("auth", 0, { error: "broken", reach: "not_sent" }), "transient", "relay_login_refused", "whole_target"],
    [reply("mail", 530), "transient", "relay_login_refused", "whole_target"],
    [reply("mail", 550), "rejected", "refused", "this_job"], [reply("mail", 451), "transient", "try_later", "this_job"],
    [reply("rcpt", 550, { recipients: [550] }), "rejected", "refused", "this_job"],
    [reply("rcpt", 450, { recipients: [550, 450] }), "transient", "try_later", "this_job"],
    [reply("data", 554, { recipients: [250] }), "rejected", "refused", "this_job"],
    [reply("data", 451, { recipients: [250] }), "transient", "try_later", "this_job"],
    [reply("none", 0, { error: "connect", reach: "not_sent" }), "transient", "connect_failed", "whole_target"],
    [reply("none", 0, { error: "broken", reach: "maybe_sent" }), "transient", "connection_broken", "this_job"]]) {
    const outcome = judge(given, "refused");
    assert.deepEqual([outcome.verdict, outcome.reason, outcome.scope], [verdict, reason, scope], `${given}`);
    assert.equal(outcome.reach, given.reach);
  }
});

it("of several recipients those who have it are told", () => {
  const outcome = judge(reply("data", 250, { recipients: [250, 450, 550] }), "refused");
  assert.deepEqual([outcome.verdict, outcome.reason, outcome.code], ["transient", "some_recipients_later", 450]);
  assert.deepEqual(outcome.result.accepted, ["0@test"]);
  assert.deepEqual(outcome.result.refused.map((one) => one.address), ["1@test", "2@test"]);
});

it("each kind has its reach", () => {
  assert.deepEqual([accepted(), rejected("a"), transient("a"), deferred("a")].map((one) => one.reach),
                   ["answered", "answered", "maybe_sent", "not_sent"]);
});

it("an answer gives its reach and code", () => {
  const busy = answer(503, { retryAfterMs: 1500 });
  for (const [outcome, retryAfter] of [[transient("busy", busy), 1.5], [rejected("busy", busy), null], [accepted(busy), null],
                                       [deferred("busy", busy), null]])
    assert.deepEqual([outcome.reach, outcome.code, outcome.retryAfter], ["answered", 503, retryAfter]);
});

it("what is said beside it counts more", () => {
  const outcome = transient("busy", answer(503, { retryAfterMs: 1500 }), { reach: "maybe_sent", code: 7, retryAfter: 2 });
  assert.deepEqual([outcome.reach, outcome.code, outcome.retryAfter], ["maybe_sent", 7, 2]);
});

it("what is too long is cut and a detail is one line", () => {
  const given = { detail: `a\nb\t${"c".repeat(10_000)}`, providerRef: "r".repeat(10_000), artifact: Buffer.alloc(2 << 20, "a"),
                  result: "ü".repeat(1 << 20) };
  const body = accepted(given).message(1).subarray(8);
  const read = new Reader(body);
  for (const skip of ["u64", "u32", "i32", "i32", "i32", "i32", "i64", "string"]) read[skip]();
  const detail = read.string();
  assert.deepEqual([detail.length, detail.slice(0, 5)], [4096, "a b c"]);
  assert.equal(read.string().length, 4096);
  assert.equal(read.bytes().length, (1 << 20) + 1);  // one byte more than the host takes, so that it sees that
  read.string();
  assert.equal(read.bytes().length, (1 << 20) + 1);
});

it("what leaves is what was said", () => {
  const given = { reach: "maybe_sent", scope: "whole_target", code: 7, retryAfter: 1.5, detail: "d ü", providerRef: "r",
                  result: { a: [1] }, artifact: Buffer.from("a"), artifactType: "text/plain" };
  const came = readOutcome(transient("later", given).message(1).subarray(8));
  assert.deepEqual({ ...came, artifact: String(came.artifact) },
                   { verdict: "transient", reason: "later", ...given, artifact: "a" });
});
