// The messages between a host and a plugin's process. Each is a struct with its fields in the order in which they travel; most
// are structs of the plugin ABI as they are. docs/plugin-protocol.md says what each means.
#pragma once

#include <waybill/plugin.h>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plugin_protocol/wire.h"

namespace waybill::plugin_process {

inline constexpr std::uint32_t kProtocolMajor = 1;
inline constexpr std::uint32_t kProtocolMinor = 1;

// The descriptors that a plugin's process is started with.
inline constexpr int kStreamDescriptor = 3;    // both ways: everything but questions
inline constexpr int kQuestionDescriptor = 4;  // the process asks, and waits for the answer
inline constexpr int kPageDescriptor = 5;      // memory that says which call its code is inside of: see page.h
inline constexpr int kLibraryDescriptor = 6;   // of a shared library: its bytes

enum class Kind : std::uint32_t {
  // to the process
  welcome = 1,
  check = 2,
  create = 3,
  begin = 4,
  cancel = 5,
  end = 6,
  response = 7,
  reply = 8,
  fire = 9,
  destroy = 10,
  settle = 11,
  ping = 12,
  // from the process
  sandboxed = 100,
  hello = 101,
  checked = 102,
  created = 103,
  complete = 104,
  fetch = 105,
  abort_fetch = 106,
  submit = 107,
  abort_submission = 108,
  timer = 109,
  cancel_timer = 110,
  failure = 111,
  next_page = 112,
  log = 113,
  count = 114,
  fault = 115,
  settled = 116,
  pong = 117,
  // questions, and the answer to each
  sign = 201,
  signature = 202,
  secret = 203,
  render = 204,
  render_text = 205,
  link = 206,
  find_client = 207,
  forget_token = 208,
  count_first = 209,
  answer = 250
};

// What a call asks of its sender.
enum class Asked : std::uint32_t { send = 0, compose = 1, status = 2, probe = 3, failures = 4 };

// Abilities beside send, as bits of Created::abilities.
enum : std::uint32_t { kComposes = 1, kTellsStatus = 2, kProbes = 4, kListsFailures = 8 };

struct Welcome {
  static constexpr Kind kKind = Kind::welcome;
  std::uint32_t major = kProtocolMajor;
  std::uint32_t minor = kProtocolMinor;
  std::string_view version;  // of the host
};

// The first that comes, from the process's own part, before any code of the plugin runs.
struct Sandboxed {
  static constexpr Kind kKind = Kind::sandboxed;
  std::vector<wb_str> missing;  // what this machine does not allow, in words
};

struct Hello {
  static constexpr Kind kKind = Kind::hello;
  std::uint32_t major = kProtocolMajor;
  std::uint32_t minor = kProtocolMinor;
  std::string_view descriptor;  // JSON; empty: the one beside the plugin
  std::string_view refusal;     // why it cannot be used, and, after a line break, what would help; empty: it can
  std::uint32_t again = 0;      // since minor 1. 1: after `destroy` it can be told `create` once more
};

inline constexpr std::uint32_t kSettings = 1;  // what Check is about
inline constexpr std::uint32_t kDestination = 2;

struct Check {
  static constexpr Kind kKind = Kind::check;
  std::uint32_t what = kSettings;
  std::string_view action_type;
  std::string_view json;
};

struct ReportedProblem {
  wb_str path{}, message{};
};

struct Checked {
  static constexpr Kind kKind = Kind::checked;
  std::uint32_t count = 0;
  std::vector<ReportedProblem> problems;
};

struct Create {
  static constexpr Kind kKind = Kind::create;
  std::string_view action_type;
  std::string_view settings;
};

struct Created {
  static constexpr Kind kKind = Kind::created;
  std::uint32_t ok = 0;
  std::uint32_t abilities = 0;
  std::vector<ReportedProblem> problems;
};

struct Begin {
  static constexpr Kind kKind = Kind::begin;
  std::uint64_t call = 0;
  std::uint32_t asked = 0;
  wb_job job{};
  std::int64_t since = 0;  // of failures
  wb_str page{};           // of failures
};

struct Cancel {
  static constexpr Kind kKind = Kind::cancel;
  std::uint64_t call = 0;
};

struct End {
  static constexpr Kind kKind = Kind::end;
  std::uint64_t call = 0;
};

struct Destroy {
  static constexpr Kind kKind = Kind::destroy;
};

// Since minor 1, for tests and checks: the process says when its code does nothing until something comes.
struct Settle {
  static constexpr Kind kKind = Kind::settle;
  std::uint64_t id = 0;
};

// Since minor 1: answered as soon as it is read, whatever is under way.
struct Ping {
  static constexpr Kind kKind = Kind::ping;
  std::uint64_t id = 0;
};

struct Pong {
  static constexpr Kind kKind = Kind::pong;
  std::uint64_t id = 0;
};

struct Settled {
  static constexpr Kind kKind = Kind::settled;
  std::uint64_t id = 0;
};

struct Complete {
  static constexpr Kind kKind = Kind::complete;
  std::uint64_t call = 0;
  std::uint32_t is_outcome = 1;  // 0: the plugin completed the call with nothing that could be read
  wb_outcome outcome{};
};

struct Fetch {
  static constexpr Kind kKind = Kind::fetch;
  std::uint64_t call = 0, id = 0;
  wb_http_request request{};  // its lists are the two below
  std::vector<wb_header> headers;
  std::vector<wb_body_secret> body_secrets;
};

struct AbortFetch {
  static constexpr Kind kKind = Kind::abort_fetch;
  std::uint64_t id = 0;
};

struct Response {
  static constexpr Kind kKind = Kind::response;
  std::uint64_t id = 0;
  wb_http_response response{};  // its list is the one below
  std::vector<wb_header> headers;
};

struct Submit {
  static constexpr Kind kKind = Kind::submit;
  std::uint64_t call = 0, id = 0;
  std::uint32_t is_too_long = 0;  // 1: a text of it is longer than that of any mail, and is left out
  wb_smtp_message message{};      // its list is the one below
  std::vector<wb_str> recipients;
};

struct AbortSubmission {
  static constexpr Kind kKind = Kind::abort_submission;
  std::uint64_t id = 0;
};

struct Reply {
  static constexpr Kind kKind = Kind::reply;
  std::uint64_t id = 0;
  wb_smtp_reply reply{};  // its list is the one below
  std::vector<wb_smtp_recipient> recipients;
};

struct Timer {
  static constexpr Kind kKind = Kind::timer;
  std::uint64_t call = 0, id = 0;
  std::int64_t delay_ms = 0;
};

struct CancelTimer {
  static constexpr Kind kKind = Kind::cancel_timer;
  std::uint64_t id = 0;
};

struct Fire {
  static constexpr Kind kKind = Kind::fire;
  std::uint64_t id = 0;
};

struct Failure {
  static constexpr Kind kKind = Kind::failure;
  std::uint64_t call = 0;
  wb_failure failure{};
};

struct NextPage {
  static constexpr Kind kKind = Kind::next_page;
  std::uint64_t call = 0;
  wb_str name{};
};

struct Log {
  static constexpr Kind kKind = Kind::log;
  std::uint64_t call = 0;
  std::int32_t level = 0;
  wb_str text{};
  std::vector<wb_field> fields;
};

struct Count {
  static constexpr Kind kKind = Kind::count;
  wb_str name{};
  std::uint64_t by = 0;
};

// A rule that the plugin broke and its process saw.
struct Fault {
  static constexpr Kind kKind = Kind::fault;
  std::uint64_t call = 0;
  std::uint32_t threw = 0;  // 1: the plugin's code threw an exception inside the call, which the host ends
  wb_str word{};            // such as "fetch_off_strand"
};

struct Sign {
  static constexpr Kind kKind = Kind::sign;
  std::uint64_t call = 0;
  wb_str secret{};
  std::vector<wb_str> parts;
};

struct Signature {
  static constexpr Kind kKind = Kind::signature;
  std::uint64_t call = 0;
  std::int32_t algorithm = 0;
  wb_str secret{};
  std::vector<wb_str> parts;
};

struct SecretValue {
  static constexpr Kind kKind = Kind::secret;
  std::uint64_t call = 0;
  wb_str name{};
};

struct Render {
  static constexpr Kind kKind = Kind::render;
  wb_str template_id{}, data{};
};

struct RenderText {
  static constexpr Kind kKind = Kind::render_text;
  wb_str text{}, data{};
};

struct Link {
  static constexpr Kind kKind = Kind::link;
  wb_str object{};
  std::int64_t ttl_seconds = 0;
};

struct FindClient {
  static constexpr Kind kKind = Kind::find_client;
  wb_str client{};
};

struct ForgetToken {
  static constexpr Kind kKind = Kind::forget_token;
  wb_str client{};
};

struct CountFirst {
  static constexpr Kind kKind = Kind::count_first;
  wb_str name{};
  std::uint64_t by = 0;
};

struct Answer {
  static constexpr Kind kKind = Kind::answer;
  std::int32_t status = 0;     // as the service's function returns
  std::vector<wb_str> values;  // what it gives its sink: MACs, values, a URL; of a template: name and text in turn
};

// ---- fields, in the order in which they travel ----

template <class Type, class Message>
concept Is = std::same_as<std::remove_const_t<Type>, Message>;

void visit(auto& a, Is<wb_header> auto& m) { a(m.name, m.value); }
void visit(auto& a, Is<wb_field> auto& m) { a(m.key, m.value); }
void visit(auto& a, Is<wb_body_secret> auto& m) { a(m.offset, m.name, m.form); }
void visit(auto& a, Is<wb_smtp_recipient> auto& m) { a(m.code, m.text); }
void visit(auto& a, Is<ReportedProblem> auto& m) { a(m.path, m.message); }

void visit(auto& a, Is<wb_job> auto& m) {
  a(m.attempt, m.maybe_sent_before, m.deadline_ms, m.action_id, m.target, m.idempotency_key, m.destination, m.payload, m.context,
    m.artifact_type, m.artifact, m.provider_ref, m.progress);
}
void visit(auto& a, Is<wb_outcome> auto& m) {
  a(m.verdict, m.reach, m.scope, m.code, m.retry_after_ms, m.reason, m.detail, m.provider_ref, m.result, m.artifact_type,
    m.artifact);
}
void visit(auto& a, Is<wb_http_request> auto& m) {
  a(m.timeout_ms, m.max_response_bytes, m.method, m.url, m.body, m.basic_user, m.basic_password, m.sigv4_region, m.sigv4_service,
    m.sigv4_key_id, m.sigv4_secret_key);
}
void visit(auto& a, Is<wb_http_response> auto& m) {
  a(m.error, m.reach, m.status, m.truncated, m.retry_after_ms, m.body, m.error_text);
}
void visit(auto& a, Is<wb_smtp_message> auto& m) { a(m.timeout_ms, m.tls, m.relay, m.user, m.password, m.from, m.data); }
void visit(auto& a, Is<wb_smtp_reply> auto& m) { a(m.error, m.reach, m.stage, m.code, m.text, m.error_text); }
void visit(auto& a, Is<wb_failure> auto& m) { a(m.failed_at, m.provider_ref, m.idempotency_key, m.reason, m.detail); }

void visit(auto& a, Is<Welcome> auto& m) { a(m.major, m.minor, m.version); }
void visit(auto& a, Is<Sandboxed> auto& m) { a(m.missing); }
void visit(auto& a, Is<Hello> auto& m) {
  a(m.major, m.minor, m.descriptor, m.refusal);
  if (m.minor >= 1) a(m.again);
}
void visit(auto& a, Is<Check> auto& m) { a(m.what, m.action_type, m.json); }
void visit(auto& a, Is<Checked> auto& m) { a(m.count, m.problems); }
void visit(auto& a, Is<Create> auto& m) { a(m.action_type, m.settings); }
void visit(auto& a, Is<Created> auto& m) { a(m.ok, m.abilities, m.problems); }
void visit(auto& a, Is<Begin> auto& m) { a(m.call, m.asked, m.job, m.since, m.page); }
void visit(auto& a, Is<Cancel> auto& m) { a(m.call); }
void visit(auto& a, Is<End> auto& m) { a(m.call); }
void visit(auto&, Is<Destroy> auto&) {}
void visit(auto& a, Is<Settle> auto& m) { a(m.id); }
void visit(auto& a, Is<Settled> auto& m) { a(m.id); }
void visit(auto& a, Is<Ping> auto& m) { a(m.id); }
void visit(auto& a, Is<Pong> auto& m) { a(m.id); }
void visit(auto& a, Is<Complete> auto& m) { a(m.call, m.is_outcome, m.outcome); }
void visit(auto& a, Is<Fetch> auto& m) { a(m.call, m.id, m.request, m.headers, m.body_secrets); }
void visit(auto& a, Is<AbortFetch> auto& m) { a(m.id); }
void visit(auto& a, Is<Response> auto& m) { a(m.id, m.response, m.headers); }
void visit(auto& a, Is<Submit> auto& m) { a(m.call, m.id, m.is_too_long, m.message, m.recipients); }
void visit(auto& a, Is<AbortSubmission> auto& m) { a(m.id); }
void visit(auto& a, Is<Reply> auto& m) { a(m.id, m.reply, m.recipients); }
void visit(auto& a, Is<Timer> auto& m) { a(m.call, m.id, m.delay_ms); }
void visit(auto& a, Is<CancelTimer> auto& m) { a(m.id); }
void visit(auto& a, Is<Fire> auto& m) { a(m.id); }
void visit(auto& a, Is<Failure> auto& m) { a(m.call, m.failure); }
void visit(auto& a, Is<NextPage> auto& m) { a(m.call, m.name); }
void visit(auto& a, Is<Log> auto& m) { a(m.call, m.level, m.text, m.fields); }
void visit(auto& a, Is<Count> auto& m) { a(m.name, m.by); }
void visit(auto& a, Is<Fault> auto& m) { a(m.call, m.threw, m.word); }
void visit(auto& a, Is<Sign> auto& m) { a(m.call, m.secret, m.parts); }
void visit(auto& a, Is<Signature> auto& m) { a(m.call, m.algorithm, m.secret, m.parts); }
void visit(auto& a, Is<SecretValue> auto& m) { a(m.call, m.name); }
void visit(auto& a, Is<Render> auto& m) { a(m.template_id, m.data); }
void visit(auto& a, Is<RenderText> auto& m) { a(m.text, m.data); }
void visit(auto& a, Is<Link> auto& m) { a(m.object, m.ttl_seconds); }
void visit(auto& a, Is<FindClient> auto& m) { a(m.client); }
void visit(auto& a, Is<ForgetToken> auto& m) { a(m.client); }
void visit(auto& a, Is<CountFirst> auto& m) { a(m.name, m.by); }
void visit(auto& a, Is<Answer> auto& m) { a(m.status, m.values); }

}  // namespace waybill::plugin_process
