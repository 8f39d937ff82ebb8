// Waybill's client for C++17: submit, follow and cancel what Waybill sends, and verify its webhooks. One header, libcurl and
// nothing else.
//
//   waybill::client::Client client("http://localhost:8080", token);
//   const auto intent = client.submit("orders.webhook", R"({"parcel": "is here"})");
//
// README.md beside this folder says more, also why it reads JSON and hashes by itself.
#pragma once

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <functional>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace waybill::client {

inline constexpr const char* kVersion = "1.0.0";

// ---- what calls throw; mistakes of the caller are std::invalid_argument ----

// The base of all. `id` is that of what was handed in, also one that the client made: submit it again under this one.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::string id;
};

// No whole answer came within the time limit. What was handed in may be stored all the same; submit it again under its id.
struct Unreachable : Error {
  using Error::Error;
};

// The host refused. `code` and `message` are those of its answer, `body` is all of it.
struct ApiError : Error {
  ApiError(int status_, std::string code_, const std::string& message_, std::string body_, std::chrono::seconds retry_after_)
      : Error(std::to_string(status_) + " " + code_ + ": " + message_),
        status(status_),
        code(std::move(code_)),
        message(message_),
        body(std::move(body_)),
        retry_after(retry_after_) {}
  int status;
  std::string code;
  std::string message;
  std::string body;
  std::chrono::seconds retry_after;  // 0: it does not say
};

struct InvalidRequest : ApiError {  // 400: the message names the field
  using ApiError::ApiError;
};
struct Unauthorized : ApiError {  // 401
  using ApiError::ApiError;
};
struct Forbidden : ApiError {  // 403
  using ApiError::ApiError;
};
struct NotFound : ApiError {  // 404
  using ApiError::ApiError;
};
struct Conflict : ApiError {  // 409: the id came before with other content, or the state does not allow it
  using ApiError::ApiError;
};
struct TooLarge : ApiError {  // 413
  using ApiError::ApiError;
};
struct RateLimited : ApiError {  // 429, until the time limit was over
  using ApiError::ApiError;
};
struct ServerError : ApiError {  // 5xx; 502, 503 and 504 until the time limit was over. It may be stored all the same
  using ApiError::ApiError;
};
struct Unavailable : ServerError {  // 503, until the time limit was over
  using ServerError::ServerError;
};

// A JSON value as text: what you hand in is sent in just these bytes, and what comes back is as it came.
struct Json {
  std::string text;
};

// ---- reading and writing JSON ----
namespace detail {

inline constexpr int kMaxDepth = 128;

// Moves over JSON by RFC 8259, and never beyond the text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool value(int depth = 0) {  // moves behind one; false: there is none
    space();
    if (at_ == text_.size() || depth > kMaxDepth) return false;
    switch (text_[at_]) {
      case '{':
        return list('}', depth);
      case '[':
        return list(']', depth);
      case '"':
        return string(nullptr);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  std::optional<std::string_view> next() {  // the text of the value here
    space();
    const auto begin = at_;
    if (!value()) return std::nullopt;
    return text_.substr(begin, at_ - begin);
  }

  bool string(std::string* to) {  // what it stands for is appended to `to`
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        if (to != nullptr) *to += c;
      } else if (!escape(to)) {
        return false;
      }
    }
    return false;
  }

  bool name(std::string* to) {  // of a member, with its colon
    space();
    if (!string(to)) return false;
    space();
    return take(':');
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool end() {
    space();
    return at_ == text_.size();
  }

 private:
  bool list(char close, int depth) {
    ++at_;
    space();
    if (take(close)) return true;
    do {
      if (close == '}' && !name(nullptr)) return false;
      if (!value(depth + 1)) return false;
      space();
    } while (take(','));
    return take(close);
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  bool digits() {
    const auto begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > begin;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  bool escape(std::string* to) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take('u')) return code_point(to);
    const auto found = at_ < text_.size() ? kLetters.find(text_[at_]) : std::string_view::npos;
    if (found == std::string_view::npos) return false;
    ++at_;
    if (to != nullptr) *to += kMeanings[found];
    return true;
  }

  std::optional<std::uint32_t> unit() {  // four hexadecimal digits
    std::uint32_t read = 0;
    const auto text = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read, 16);
    if (text.size() < 4 || error != std::errc() || end != text.data() + 4) return std::nullopt;
    at_ += 4;
    return read;
  }

  bool code_point(std::string* to) {
    auto code = unit();
    if (!code || (*code >= 0xDC00 && *code < 0xE000)) return false;
    if (*code >= 0xD800 && *code < 0xDC00) {
      if (!word("\\u")) return false;
      const auto low = unit();
      if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
    }
    if (to != nullptr) append_utf8(*code, *to);
    return true;
  }

  static void append_utf8(std::uint32_t code, std::string& to) {
    const auto rest = [&](int shift) { to += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
      to += static_cast<char>(code);
    } else if (code < 0x800) {
      to += static_cast<char>(0xC0 | (code >> 6));
      rest(0);
    } else if (code < 0x10000) {
      to += static_cast<char>(0xE0 | (code >> 12));
      rest(6);
      rest(0);
    } else {
      to += static_cast<char>(0xF0 | (code >> 18));
      rest(12);
      rest(6);
      rest(0);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// A value inside of a text that lives longer.
class Value {
 public:
  static std::optional<Value> of(std::string_view text) {  // none: it is not one JSON value
    Scanner scanner(text);
    const auto whole = scanner.next();
    if (!whole || !scanner.end()) return std::nullopt;
    return Value(*whole);
  }

  std::string_view text() const { return text_; }

  // take(name, value) for each member, take(value) for each item, until it says false. False: also if this is no object, or no
  // array.
  template <class Take>
  bool members(Take take) const {
    return each('{', '}', [&](Scanner& scanner) {
      std::string name;
      if (!scanner.name(&name)) return false;
      const auto value = scanner.next();
      return value && take(name, Value(*value));
    });
  }
  template <class Take>
  bool items(Take take) const {
    return each('[', ']', [&](Scanner& scanner) {
      const auto value = scanner.next();
      return value && take(Value(*value));
    });
  }

 private:
  explicit Value(std::string_view text) : text_(text) {}

  template <class Take>
  bool each(char open, char close, Take take) const {
    Scanner scanner(text_);
    if (!scanner.take(open)) return false;
    scanner.space();
    if (scanner.take(close)) return true;
    do {
      if (!take(scanner)) return false;
      scanner.space();
    } while (scanner.take(','));
    return true;
  }

  std::string_view text_;
};

// read(): false if the value is of another type, or lacks what `to` must have.
inline bool read(const Value& from, std::string& to) {
  to.clear();
  Scanner scanner(from.text());
  return scanner.string(&to);
}
inline bool read(const Value& from, std::int64_t& to) {
  const auto text = from.text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}
inline bool read(const Value& from, double& to) {
  std::istringstream text{std::string(from.text())};
  text.imbue(std::locale::classic());
  return static_cast<bool>(text >> to);
}
inline bool read(const Value& from, bool& to) {
  to = from.text() == "true";
  return to || from.text() == "false";
}
inline bool read(const Value& from, Json& to) {
  to.text = std::string(from.text());
  return true;
}
template <class T>
bool read(const Value& from, std::optional<T>& to) {
  to.reset();
  return from.text() == "null" || read(from, to.emplace());
}
template <class T>
bool read(const Value& from, std::vector<T>& to) {
  to.clear();
  return from.items([&](const Value& item) { return read(item, to.emplace_back()); });
}
template <class T>
bool read(const Value& from, std::map<std::string, T>& to) {
  to.clear();
  return from.members([&](const std::string& name, const Value& value) { return read(value, to[name]); });
}
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T, class = typename T::IsSchema>
bool read(const Value& from, T& to) {  // what this client does not know is passed over
  to = T();
  std::uint64_t missing = 0;
  int number = 0;
  T::each_field(to, [&](const char*, auto& field) {
    if (!IsOptional<std::decay_t<decltype(field)>>::value) missing |= std::uint64_t{1} << number;
    ++number;
  });
  const bool is_whole = from.members([&](const std::string& name, const Value& value) {
    bool is_good = true;
    int here = 0;
    T::each_field(to, [&](const char* known, auto& field) {
      if (name == known) {
        is_good = read(value, field);
        missing &= ~(std::uint64_t{1} << here);
      }
      ++here;
    });
    return is_good;
  });
  return is_whole && missing == 0;
}
template <class T, class Variant>
bool read_alternative(const Value& from, Variant& to) {
  T alternative;
  if (!read(from, alternative)) return false;
  to = std::move(alternative);
  return true;
}
template <class... T>
bool read(const Value& from, std::variant<T...>& to) {
  return (read_alternative<T>(from, to) || ...);
}

inline std::string json_text(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string written = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      written += std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 15];
    } else {
      if (c == '"' || c == '\\') written += '\\';
      written += c;
    }
  }
  return written + '"';
}

inline std::string write(const std::string& value) { return json_text(value); }
inline std::string write(std::int64_t value) { return std::to_string(value); }
inline std::string write(bool value) { return value ? "true" : "false"; }
template <class T, class = typename T::IsSchema>
std::string write(const T& value);
template <class T>
std::string write(const std::vector<T>& values) {
  std::string written;
  for (const auto& value : values) written += (written.empty() ? "[" : ",") + write(value);
  return values.empty() ? "[]" : written + "]";
}

class Object {  // as text
 public:
  template <class T>
  void add(const char* name, const T& value) {
    add_text(name, write(value));
  }
  void add(const char* name, const Json& value) {
    if (!Value::of(value.text)) throw std::invalid_argument(std::string(name) + " is no JSON");
    add_text(name, value.text);
  }
  template <class T>
  void add(const char* name, const std::optional<T>& value) {
    if (value) add(name, *value);
  }
  std::string text() const { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  void add_text(const char* name, const std::string& value) {
    text_ += (text_.empty() ? "{" : ",") + json_text(name) + ":" + value;
  }

  std::string text_;
};

template <class T, class>
std::string write(const T& value) {
  Object object;
  T::each_field(value, [&](const char* name, const auto& field) { object.add(name, field); });
  return object.text();
}

}  // namespace detail

// ---- what the host is sent and answers, by docs/openapi.yaml ----
// Written by clients/generate.py; do not edit it by hand, from here

// Nothing is sent earlier, and deadlines count from then. At most 366 days ahead
using NotBefore = std::string;

// Nothing is sent then or later; what was not accepted by then ends. Later than notBefore, at most 366 days ahead
using ExpiresAt = std::string;

struct NewIntent {
  // At most 255 bytes, no control characters
  std::string intent_id;
  std::string submission_target;
  // Any JSON value, kept byte for byte
  std::optional<Json> payload;
  // This intent's own, instead of the request's header. One that is not valid is ignored
  std::optional<std::string> traceparent;
  // Goes with traceparent
  std::optional<std::string> tracestate;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;
  // 1 to 255 characters
  std::optional<std::string> ordering_key;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("intentId", self.intent_id);
    visit("submissionTarget", self.submission_target);
    visit("payload", self.payload);
    visit("traceparent", self.traceparent);
    visit("tracestate", self.tracestate);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
    visit("orderingKey", self.ordering_key);
  }
};

// Who handed it in, if it did not come over HTTP
using SubmittedBy = std::string;

struct Intent {
  std::string intent_id;
  std::string submission_target;
  std::string created_at;
  // pending, accepted, rejected, exhausted, cancelled
  std::string status;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;
  std::optional<SubmittedBy> submitted_by;
  std::optional<std::string> completed_at;
  std::optional<std::string> rejected_reason;
  // deadline_exceeded, max_attempts, one_shot, worker_lost, restored, ended_by_operator, expired
  std::optional<std::string> exhausted_reason;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("intentId", self.intent_id);
    visit("submissionTarget", self.submission_target);
    visit("createdAt", self.created_at);
    visit("status", self.status);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
    visit("submittedBy", self.submitted_by);
    visit("completedAt", self.completed_at);
    visit("rejectedReason", self.rejected_reason);
    visit("exhaustedReason", self.exhausted_reason);
  }
};

using NewIntents = std::vector<NewIntent>;

struct BatchResult {
  // What POST /v1/intents would have answered
  std::int64_t status = 0;
  std::optional<Intent> intent;
  // As in Error
  std::optional<Json> error;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("status", self.status);
    visit("intent", self.intent);
    visit("error", self.error);
  }
};

struct Batch {
  std::vector<BatchResult> results;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("results", self.results);
  }
};

struct IntentPage {
  std::vector<Intent> items;
  // The cursor of the next page; null: there is none
  std::optional<std::string> next;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("items", self.items);
    visit("next", self.next);
  }
};

// Of a delivery to a channel: what came back
struct AttemptAnswer {
  std::optional<std::int64_t> status;
  // At most the first KiB
  std::optional<std::string> body;
  // That was connected to, with its port
  std::optional<std::string> address;
  // From the request's start to the answer's first byte
  std::optional<double> first_byte_ms;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("status", self.status);
    visit("body", self.body);
    visit("address", self.address);
    visit("firstByteMs", self.first_byte_ms);
  }
};

struct Attempt {
  std::int64_t attempt_number = 0;
  std::string started_at;
  std::optional<std::string> finished_at;
  // accepted, rejected, deferred, error, unknown
  std::string outcome_status;
  std::optional<std::string> outcome_reason;
  std::optional<std::string> error;
  // Whether it counts against maxAttempts. It does if its end was seen and no outage of the target caused it; deferred counts too
  bool counts = false;
  // The protocol's own, such as 503 of HTTP or 451 of SMTP
  std::optional<std::int64_t> code;
  // The destination's id for it
  std::optional<std::string> provider_ref;
  // Whether the receiver may have what nobody saw it take; null of attempts that did not record it
  std::optional<bool> may_have_been_sent;
  // Of a delivery to a channel: what came back
  std::optional<AttemptAnswer> answer;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("attemptNumber", self.attempt_number);
    visit("startedAt", self.started_at);
    visit("finishedAt", self.finished_at);
    visit("outcomeStatus", self.outcome_status);
    visit("outcomeReason", self.outcome_reason);
    visit("error", self.error);
    visit("counts", self.counts);
    visit("code", self.code);
    visit("providerRef", self.provider_ref);
    visit("mayHaveBeenSent", self.may_have_been_sent);
    visit("answer", self.answer);
  }
};

struct HistoryNotDelivered {
  // The provider's word, such as permanent-failure
  std::string status;
  std::optional<std::string> failed_at;
  std::string noticed_at;
  // The provider's id
  std::optional<std::string> provider_ref;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("status", self.status);
    visit("failedAt", self.failed_at);
    visit("noticedAt", self.noticed_at);
    visit("providerRef", self.provider_ref);
  }
};

struct History {
  Intent intent;
  std::vector<Attempt> attempts;
  // What the provider said after it had accepted the intent (failure_check). Absent if it said nothing
  std::optional<std::vector<HistoryNotDelivered>> not_delivered;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("intent", self.intent);
    visit("attempts", self.attempts);
    visit("notDelivered", self.not_delivered);
  }
};

struct Cancel {
  std::optional<std::string> reason;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("reason", self.reason);
  }
};

struct Reschedule {
  std::string not_before;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("notBefore", self.not_before);
  }
};

struct CancelMany {
  std::string target;
  std::optional<std::int64_t> older_than_seconds;
  std::optional<std::string> reason;
  std::optional<bool> dry_run;
  // The `next` of the answer before
  std::optional<std::string> cursor;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("target", self.target);
    visit("olderThanSeconds", self.older_than_seconds);
    visit("reason", self.reason);
    visit("dryRun", self.dry_run);
    visit("cursor", self.cursor);
  }
};

struct CancelledMany {
  std::int64_t count = 0;
  bool dry_run = false;
  // Ask again with this as cursor; null: that was all
  std::optional<std::string> next;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("count", self.count);
    visit("dryRun", self.dry_run);
    visit("next", self.next);
  }
};

struct NewSubmissionAttachment {
  // Unique in the organisation
  std::string attachment_id;
  std::string name;
  std::string content_type;
  // bytes
  std::int64_t size = 0;
  // 2048 bytes at most, no control characters; a bucket by Google's rules, no segment . or .. in the key
  std::string object_uri;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("attachmentId", self.attachment_id);
    visit("name", self.name);
    visit("contentType", self.content_type);
    visit("size", self.size);
    visit("objectUri", self.object_uri);
  }
};

struct NewSubmission {
  // At most 255 bytes, no control characters
  std::string submission_id;
  std::string form_id;
  // What the form holds, kept byte for byte; as the form's fields_schema wants it
  Json fields;
  std::optional<std::vector<NewSubmissionAttachment>> attachments;
  // In the future. Then its contents are erased; default: retention.forms from now
  std::optional<std::string> retention_expires_at;
  // Finalize it in the same call
  std::optional<bool> finalize;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("formId", self.form_id);
    visit("fields", self.fields);
    visit("attachments", self.attachments);
    visit("retentionExpiresAt", self.retention_expires_at);
    visit("finalize", self.finalize);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
  }
};

// received, processing, routed, failed, purged
using SubmissionStatus = std::string;

struct SubmissionState {
  std::string submission_id;
  SubmissionStatus status;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("status", self.status);
  }
};

struct FormListItem {
  std::string submission_id;
  std::string form_id;
  SubmissionStatus status;
  std::optional<std::string> reason;
  std::string created_at;
  std::optional<std::string> completed_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("formId", self.form_id);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("createdAt", self.created_at);
    visit("completedAt", self.completed_at);
  }
};

struct PipelineListItem {
  std::string submission_id;
  std::string pipeline;
  std::int64_t version = 0;
  std::string state;
  Json metadata;
  std::string created_at;
  std::optional<std::string> ended_at;
  std::optional<std::string> blocked_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("pipeline", self.pipeline);
    visit("version", self.version);
    visit("state", self.state);
    visit("metadata", self.metadata);
    visit("createdAt", self.created_at);
    visit("endedAt", self.ended_at);
    visit("blockedAt", self.blocked_at);
  }
};

struct SubmissionPage {
  std::vector<std::variant<FormListItem, PipelineListItem>> items;
  // The cursor of the next page; null: there is none
  std::optional<std::string> next;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("items", self.items);
    visit("next", self.next);
  }
};

struct RoutingResultItem {
  std::string action_type;
  // pending, accepted, rejected, exhausted, deferred, cancelled
  std::string status;
  std::optional<std::string> reason;
  std::int64_t attempts = 0;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("actionType", self.action_type);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("attempts", self.attempts);
  }
};

// By action_order
using RoutingResult = std::map<std::string, RoutingResultItem>;

struct SubmissionAttachment {
  std::optional<std::string> attachment_id;
  std::optional<std::string> name;
  std::optional<std::string> content_type;
  std::optional<std::int64_t> size;
  // pending, clean, infected
  std::optional<std::string> clamav_status;
  std::optional<std::string> scanned_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("attachmentId", self.attachment_id);
    visit("name", self.name);
    visit("contentType", self.content_type);
    visit("size", self.size);
    visit("clamavStatus", self.clamav_status);
    visit("scannedAt", self.scanned_at);
  }
};

struct SubmissionDelivery {
  std::optional<std::int64_t> action_order;
  std::optional<std::string> action_type;
  // waiting, due, claimed, accepted, rejected, exhausted, deferred, cancelled
  std::optional<std::string> status;
  std::optional<std::string> reason;
  std::optional<std::int64_t> attempts;
  // The number of this replay of its action; 0 for the original
  std::optional<std::int64_t> replay;
  std::optional<std::string> provider_ref;
  // The plugin's own: for mail, who accepted and who refused
  std::optional<Json> result;
  std::optional<std::vector<Attempt>> history;
  std::optional<std::string> next_attempt_at;
  std::optional<std::string> ended_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("actionOrder", self.action_order);
    visit("actionType", self.action_type);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("attempts", self.attempts);
    visit("replay", self.replay);
    visit("providerRef", self.provider_ref);
    visit("result", self.result);
    visit("history", self.history);
    visit("nextAttemptAt", self.next_attempt_at);
    visit("endedAt", self.ended_at);
  }
};

struct SubmissionAudit {
  std::string action;
  std::optional<std::string> from_state;
  std::optional<std::string> to_state;
  std::string trigger;
  std::string actor;
  // system, worker, admin
  std::string actor_type;
  Json metadata;
  std::string created_at;
  // Of a dead letter's edit, until the submission is purged: the fields or the destination as it was
  std::optional<Json> before;
  // The same after the edit
  std::optional<Json> after;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("action", self.action);
    visit("fromState", self.from_state);
    visit("toState", self.to_state);
    visit("trigger", self.trigger);
    visit("actor", self.actor);
    visit("actorType", self.actor_type);
    visit("metadata", self.metadata);
    visit("createdAt", self.created_at);
    visit("before", self.before);
    visit("after", self.after);
  }
};

struct Submission {
  std::string submission_id;
  std::string form_id;
  SubmissionStatus status;
  std::string created_at;
  std::optional<std::string> finalized_at;
  std::optional<std::string> completed_at;
  std::string retention_expires_at;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;
  std::optional<SubmittedBy> submitted_by;
  // Of a failure: action_failed, infected_attachment, retention_expired. Of a purged submission also never_finalized
  std::optional<std::string> reason;
  // If the form has such an action: its status, as in routingResult
  std::optional<std::string> happyfox_status;
  std::optional<std::string> happyfox_ticket_id;
  RoutingResult routing_result;
  std::vector<SubmissionAttachment> attachments;
  std::vector<SubmissionDelivery> deliveries;
  std::vector<SubmissionAudit> audit;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("formId", self.form_id);
    visit("status", self.status);
    visit("createdAt", self.created_at);
    visit("finalizedAt", self.finalized_at);
    visit("completedAt", self.completed_at);
    visit("retentionExpiresAt", self.retention_expires_at);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
    visit("submittedBy", self.submitted_by);
    visit("reason", self.reason);
    visit("happyfoxStatus", self.happyfox_status);
    visit("happyfoxTicketId", self.happyfox_ticket_id);
    visit("routingResult", self.routing_result);
    visit("attachments", self.attachments);
    visit("deliveries", self.deliveries);
    visit("audit", self.audit);
  }
};

struct PipelineSubmissionDecision {
  std::string to;
  std::string trigger;
  // member, admin, owner
  std::string role;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("to", self.to);
    visit("trigger", self.trigger);
    visit("role", self.role);
  }
};

struct PipelineSubmissionDeliveryFailure {
  std::int64_t attempt = 0;
  std::string started_at;
  // rejected, deferred, error, unknown
  std::string outcome;
  std::optional<std::string> reason;
  std::optional<std::string> error;
  // The protocol's own status, such as 503; 0 without one
  std::int64_t code = 0;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("attempt", self.attempt);
    visit("startedAt", self.started_at);
    visit("outcome", self.outcome);
    visit("reason", self.reason);
    visit("error", self.error);
    visit("code", self.code);
  }
};

struct PipelineSubmissionDelivery {
  std::string delivery_id;
  // Of the pipeline
  std::string state;
  std::string target;
  std::string action_type;
  // waiting, due, claimed, accepted, rejected, exhausted, deferred, cancelled
  std::string status;
  std::optional<std::string> reason;
  std::int64_t attempts = 0;
  std::optional<std::int64_t> replay;
  std::optional<std::string> provider_ref;
  // Any JSON value
  Json result;
  std::optional<std::string> next_attempt_at;
  std::optional<std::string> ended_at;
  std::vector<PipelineSubmissionDeliveryFailure> failures;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("deliveryId", self.delivery_id);
    visit("state", self.state);
    visit("target", self.target);
    visit("actionType", self.action_type);
    visit("status", self.status);
    visit("reason", self.reason);
    visit("attempts", self.attempts);
    visit("replay", self.replay);
    visit("providerRef", self.provider_ref);
    visit("result", self.result);
    visit("nextAttemptAt", self.next_attempt_at);
    visit("endedAt", self.ended_at);
    visit("failures", self.failures);
  }
};

struct PipelineSubmissionAudit {
  // state_changed; stage_skipped and stage_given_up: by a repair; not_delivered: the provider said so after it had accepted
  std::string action;
  // Null: it was handed in
  std::optional<std::string> from_state;
  // Null: it did not move
  std::optional<std::string> to_state;
  std::string trigger;
  // Of a decision: the token's name
  std::string actor;
  // system, worker, admin
  std::string actor_type;
  Json metadata;
  std::string created_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("action", self.action);
    visit("fromState", self.from_state);
    visit("toState", self.to_state);
    visit("trigger", self.trigger);
    visit("actor", self.actor);
    visit("actorType", self.actor_type);
    visit("metadata", self.metadata);
    visit("createdAt", self.created_at);
  }
};

struct PipelineSubmission {
  std::string submission_id;
  std::string pipeline;
  // Of the pipeline, as it was when the submission began
  std::int64_t version = 0;
  std::string state;
  // By state: what its action answered, or an object of what its actions answered, by name
  Json results;
  Json metadata;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;
  std::optional<SubmittedBy> submitted_by;
  Json payload;
  std::string created_at;
  // When it came to a terminal state
  std::optional<std::string> ended_at;
  // Since when it waits for the replay of a dead letter, or for somebody to look
  std::optional<std::string> blocked_at;
  // That people may make now
  std::vector<PipelineSubmissionDecision> decisions;
  // In the order in which they were made; a replay is one more
  std::vector<PipelineSubmissionDelivery> deliveries;
  std::vector<PipelineSubmissionAudit> audit;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("pipeline", self.pipeline);
    visit("version", self.version);
    visit("state", self.state);
    visit("results", self.results);
    visit("metadata", self.metadata);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
    visit("submittedBy", self.submitted_by);
    visit("payload", self.payload);
    visit("createdAt", self.created_at);
    visit("endedAt", self.ended_at);
    visit("blockedAt", self.blocked_at);
    visit("decisions", self.decisions);
    visit("deliveries", self.deliveries);
    visit("audit", self.audit);
  }
};

using AnySubmission = std::variant<Submission, PipelineSubmission>;

struct NewPipelineSubmission {
  // At most 255 bytes, no control characters
  std::string submission_id;
  // Any JSON value, kept byte for byte
  Json payload;
  // Carried along; what is started by it has the same
  std::optional<Json> metadata;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("payload", self.payload);
    visit("metadata", self.metadata);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
  }
};

struct PipelineState {
  // Of a post to /forms: its id, a hyphen and the pipeline's name
  std::string submission_id;
  std::string pipeline;
  std::string state;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("pipeline", self.pipeline);
    visit("state", self.state);
  }
};

struct NewFormPost {
  // Without one, each post is a new one
  std::optional<std::string> submission_id;
  // Any JSON value
  Json answers;
  // Of every submission that begins. Their payload is {answers, metadata}
  std::optional<Json> metadata;
  std::optional<NotBefore> not_before;
  std::optional<ExpiresAt> expires_at;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("answers", self.answers);
    visit("metadata", self.metadata);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
  }
};

struct FormPost {
  std::string submission_id;
  std::vector<PipelineState> submissions;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("submissionId", self.submission_id);
    visit("submissions", self.submissions);
  }
};

struct NewEvent {
  std::string event_id;
  // Any JSON value, kept byte for byte
  Json snapshot;
  std::optional<bool> suppress_delivery;
  // Nothing is sent earlier; 366 days ahead at most
  std::optional<std::string> not_before;
  // Nothing is sent later
  std::optional<std::string> expires_at;
  // 1 to 255 characters
  std::optional<std::string> ordering_key;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("eventId", self.event_id);
    visit("snapshot", self.snapshot);
    visit("suppressDelivery", self.suppress_delivery);
    visit("notBefore", self.not_before);
    visit("expiresAt", self.expires_at);
    visit("orderingKey", self.ordering_key);
  }
};

struct EventState {
  std::string event_id;
  // To how many it goes
  std::int64_t channels = 0;
  // The same event was handed in before: nothing has changed
  bool duplicate = false;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("eventId", self.event_id);
    visit("channels", self.channels);
    visit("duplicate", self.duplicate);
  }
};

struct ErrorError {
  std::string code;
  std::string message;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("code", self.code);
    visit("message", self.message);
  }
};

struct ErrorAnswer {
  ErrorError error;

  using IsSchema = void;
  template <class Self, class Visit>
  static void each_field(Self& self, Visit visit) {
    visit("error", self.error);
  }
};

// to here.

// ---- webhooks, by Standard Webhooks (https://www.standardwebhooks.com) ----

using Headers = std::vector<std::pair<std::string, std::string>>;  // names in any case

// Do not trust the body: answer 400 or 401.
struct VerificationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct MissingHeader : VerificationError {  // or it is there twice
  using VerificationError::VerificationError;
};
struct MalformedHeader : VerificationError {  // the timestamp is no number of seconds
  using VerificationError::VerificationError;
};
struct OutsideWindow : VerificationError {  // too old or too far ahead: a replay, or a clock is wrong
  using VerificationError::VerificationError;
};
struct WrongSignature : VerificationError {  // none fits one of the secrets
  using VerificationError::VerificationError;
};

struct Verified {
  std::string id;  // the same in every attempt: remember it, and drop what you had before
  std::int64_t timestamp;
};

struct VerifyOptions {
  std::optional<std::chrono::seconds> window = std::chrono::minutes(5);  // how far the timestamp may be away; none: any
  std::optional<std::int64_t> now = std::nullopt;                        // seconds since 1970; none: this machine's clock
};

namespace detail {

using Digest = std::array<unsigned char, 32>;

class Sha256 {
 public:
  static Digest of(std::string_view text) {
    Sha256 sha;
    std::string padded(text.substr(text.size() / 64 * 64));
    for (std::size_t at = 0; at + 64 <= text.size(); at += 64) sha.block(text.data() + at);
    padded += static_cast<char>(0x80);
    while (padded.size() % 64 != 56) padded += '\0';
    const std::uint64_t bits = static_cast<std::uint64_t>(text.size()) * 8;
    for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
    for (std::size_t at = 0; at < padded.size(); at += 64) sha.block(padded.data() + at);
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<unsigned char>(sha.state_[i / 4] >> (24 - i % 4 * 8));
    return digest;
  }

 private:
  static std::uint32_t turned(std::uint32_t word, int by) { return (word >> by) | (word << (32 - by)); }

  void block(const char* bytes) {
    static constexpr std::uint32_t kRounds[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
        0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
        0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
        0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    std::uint32_t words[64];
    for (int i = 0; i < 16; ++i) {
      words[i] = 0;
      for (int part = 0; part < 4; ++part) words[i] = (words[i] << 8) | static_cast<unsigned char>(bytes[i * 4 + part]);
    }
    for (int i = 16; i < 64; ++i) {
      const auto early = words[i - 15], late = words[i - 2];
      words[i] = words[i - 16] + (turned(early, 7) ^ turned(early, 18) ^ (early >> 3)) + words[i - 7] +
                 (turned(late, 17) ^ turned(late, 19) ^ (late >> 10));
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int i = 0; i < 64; ++i) {
      const auto first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
      const auto second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::uint32_t next[] = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += next[i];
  }

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

inline Digest hmac_sha256(std::string_view key, std::string_view text) {
  const auto view = [](const Digest& digest) {
    return std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
  };
  Digest hashed{};
  if (key.size() > 64) {
    hashed = Sha256::of(key);
    key = view(hashed);
  }
  std::string inner(64, '\x36'), outer(64, '\x5c');
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ key[i]);
    outer[i] = static_cast<char>(outer[i] ^ key[i]);
  }
  const auto digest = Sha256::of(inner.append(text));
  return Sha256::of(outer.append(view(digest)));
}

inline constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

template <class Bytes>
std::string encode_base64(const Bytes& bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const auto byte : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += kBase64[(bits >> (count - 6)) & 63];
  }
  if (count > 0) text += kBase64[(bits << (6 - count)) & 63];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

inline std::optional<std::string> decode_base64(std::string_view text) {  // whole groups of four, as everybody writes it
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, std::min(text.find('='), text.size()))) {
    const auto value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  if (encode_base64(bytes) != text) return std::nullopt;
  return bytes;
}

inline std::string key_of(const std::string& secret) {
  constexpr std::string_view kPrefix = "whsec_";
  if (secret.substr(0, kPrefix.size()) != kPrefix) {
    if (secret.empty()) throw std::invalid_argument("a secret is empty");
    return secret;
  }
  auto key = decode_base64(std::string_view(secret).substr(kPrefix.size()));
  if (!key || key->empty()) throw std::invalid_argument("a secret begins with whsec_, but the rest is no base64 of a key");
  return *key;
}

inline bool is_same_name(std::string_view left, std::string_view right) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [&](char a, char b) { return small(a) == small(b); });
}

inline const std::string& header_of(const Headers& headers, const char* name) {
  const std::string* found = nullptr;
  for (const auto& [key, value] : headers) {
    if (!is_same_name(key, name)) continue;
    if (found != nullptr) throw MissingHeader(std::string(name) + " is there twice");
    found = &value;
  }
  if (found == nullptr || found->empty()) throw MissingHeader(std::string(name) + " is missing");
  return *found;
}

inline bool is_equal_in_constant_time(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) difference = static_cast<unsigned char>(difference | (left[i] ^ right[i]));
  return difference == 0;
}

}  // namespace detail

// Returns the webhook's id, or throws a VerificationError. body: the bytes as they came, before any parsing. secrets: one or,
// during a rotation, several: `whsec_` and base64, or any other text, which is used as it is; std::invalid_argument for what
// cannot be one.
inline Verified verify(const Headers& headers, std::string_view body, const std::vector<std::string>& secrets,
                       const VerifyOptions& options = {}) {
  std::vector<std::string> keys;
  for (const auto& secret : secrets) keys.push_back(detail::key_of(secret));
  if (keys.empty()) throw std::invalid_argument("verify needs a secret");
  const auto& id = detail::header_of(headers, "webhook-id");
  const auto& stamp = detail::header_of(headers, "webhook-timestamp");
  const auto& signatures = detail::header_of(headers, "webhook-signature");
  std::int64_t timestamp = 0;
  const auto [end, error] = std::from_chars(stamp.data(), stamp.data() + stamp.size(), timestamp);
  if (stamp.size() > 12 || stamp[0] == '-' || error != std::errc() || end != stamp.data() + stamp.size())
    throw MalformedHeader("webhook-timestamp is no number of seconds");

  const auto text = id + "." + stamp + "." + std::string(body);
  bool fits = false;
  for (const auto& key : keys) {
    const auto expected = "v1," + detail::encode_base64(detail::hmac_sha256(key, text));
    for (std::size_t at = 0; at <= signatures.size();) {  // all of them, so that the time does not tell which one fits
      const auto space = std::min(signatures.find(' ', at), signatures.size());
      const bool is_this = detail::is_equal_in_constant_time(std::string_view(signatures).substr(at, space - at), expected);
      fits = is_this || fits;
      at = space + 1;
    }
  }
  if (!fits) throw WrongSignature("no signature fits");
  const auto now = options.now.value_or(static_cast<std::int64_t>(std::time(nullptr)));
  if (options.window && (now > timestamp ? now - timestamp : timestamp - now) > options.window->count())
    throw OutsideWindow("webhook-timestamp is outside of the window");
  return {id, timestamp};
}

// ---- requests ----

struct Options {
  std::string organisation = "default";
  std::chrono::milliseconds timeout = std::chrono::seconds(10);     // of one request, from its first byte to the answer's last
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);  // of a call with all its repetitions
  std::size_t max_idle = 16;                                        // how many connections are kept
  std::string ca_file;                                              // whom to trust for https; "": whom the system trusts
  std::function<void(std::chrono::milliseconds)> sleep;             // instead of std::this_thread::sleep_for
};

struct CallOptions {
  int wait_seconds =
      0;  // 0 to 60, of submit: answer when the intent has ended, or its first attempt; the time limit does not count them
  std::string traceparent, tracestate;
  std::optional<std::chrono::milliseconds> time_limit = std::nullopt;  // instead of the client's
};

namespace detail {

using Milliseconds = std::chrono::milliseconds;
using Query = std::vector<std::pair<const char*, std::string>>;  // "": not given

inline std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string written;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) {
      written += c;
    } else {
      written += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return written;
}

inline std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    path += separator + std::string(name) + "=" + escaped(value);
    separator = '&';
  }
  return path;
}

inline std::string new_id() {  // a UUID of version 4
  constexpr const char* kDigits = "0123456789abcdef";
  std::random_device random;
  std::uniform_int_distribution<int> any(0, 15);
  std::string id = "xxxxxxxx-xxxx-4xxx-Nxxx-xxxxxxxxxxxx";
  for (char& c : id) {
    if (c == 'x') c = kDigits[any(random)];
    if (c == 'N') c = kDigits[8 + any(random) % 4];
  }
  return id;
}

// Before repeating attempt number 0, 1, ...: never less than the host asks for, and never in step with other clients.
inline Milliseconds pause_before(int attempt, std::chrono::seconds retry_after) {
  const std::int64_t longest = std::min<std::int64_t>(200LL << std::min(attempt, 16), 10'000);
  std::random_device random;
  if (retry_after.count() > 0) return retry_after + Milliseconds(std::uniform_int_distribution<std::int64_t>(0, longest)(random));
  return Milliseconds(std::uniform_int_distribution<std::int64_t>(longest / 2, longest)(random));
}

inline bool is_repeated(std::int64_t status) { return status == 429 || status == 502 || status == 503 || status == 504; }

[[noreturn]] inline void throw_refusal(int status, const std::string& body, std::chrono::seconds retry_after) {
  ErrorError told{"unknown", "the answer does not say why"};
  ErrorAnswer whole;
  const auto value = Value::of(body);
  if (value && read(*value, whole)) told = whole.error;
  switch (status) {
    case 400:
      throw InvalidRequest(status, told.code, told.message, body, retry_after);
    case 401:
      throw Unauthorized(status, told.code, told.message, body, retry_after);
    case 403:
      throw Forbidden(status, told.code, told.message, body, retry_after);
    case 404:
      throw NotFound(status, told.code, told.message, body, retry_after);
    case 409:
      throw Conflict(status, told.code, told.message, body, retry_after);
    case 413:
      throw TooLarge(status, told.code, told.message, body, retry_after);
    case 429:
      throw RateLimited(status, told.code, told.message, body, retry_after);
    case 503:
      throw Unavailable(status, told.code, told.message, body, retry_after);
    default:
      break;
  }
  if (status >= 500) throw ServerError(status, told.code, told.message, body, retry_after);
  throw ApiError(status, told.code, told.message, body, retry_after);
}

struct Request {
  const char* method;
  std::string path;  // with the query
  std::string body;  // "": none
  Milliseconds extra{0};
  std::vector<std::string> headers{};  // lines
};

struct Answer {
  int status = 0;  // 0: there is none
  std::string body;
  std::chrono::seconds retry_after{0};
  std::string trouble;
  bool is_hopeless = false;
};

// Safe from any thread. A process that forks makes a new one in the child.
class Transport {
 public:
  Transport(std::string url, const std::string& token, Options options) : url_(std::move(url)), options_(std::move(options)) {
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (ready != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
    const bool is_web = url_.compare(0, 7, "http://") == 0 || url_.compare(0, 8, "https://") == 0;
    if (!is_web || url_.find_first_of("@?# \r\n") != std::string::npos)
      throw std::invalid_argument("the URL must be http(s)://HOST[:PORT][/PREFIX]");
    if (options_.timeout.count() <= 0 || options_.time_limit.count() <= 0)
      throw std::invalid_argument("time-outs must be greater than 0");
    while (url_.back() == '/') url_.pop_back();
    if (!token.empty()) authorization_ = line("Authorization", "Bearer " + token);
  }

  const Options& options() const { return options_; }

  void sleep(Milliseconds pause) const {
    if (options_.sleep) {
      options_.sleep(pause);
    } else {
      std::this_thread::sleep_for(pause);
    }
  }

  // Until `accept` takes the JSON of an answer. What it does not take was no whole answer.
  void call(const Request& request, Milliseconds limit, const std::function<bool(const Value&)>& accept) {
    auto left = limit + request.extra;
    for (int attempt = 0;; ++attempt) {
      const auto begun = std::chrono::steady_clock::now();
      const auto answer = once(request, std::max(std::min(options_.timeout + request.extra, left), Milliseconds(1)));
      left -= std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begun);
      const bool is_good = answer.status >= 200 && answer.status < 300;
      if (is_good) {
        const auto value = Value::of(answer.body);
        if (value && accept(*value)) return;
      } else if (answer.status != 0 && !is_repeated(answer.status)) {
        throw_refusal(answer.status, answer.body, answer.retry_after);
      }
      const auto pause = pause_before(attempt, answer.retry_after);
      if (answer.is_hopeless || pause >= left) {
        if (!is_good && answer.status != 0) throw_refusal(answer.status, answer.body, answer.retry_after);
        throw Unreachable("no answer after " + std::to_string(attempt + 1) +
                          " attempts: " + (is_good ? "the answer is not as the API has it" : answer.trouble));
      }
      sleep(pause);
      left -= pause;
    }
  }

  static std::string line(const std::string& name, const std::string& value) {
    for (const char c : value)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) throw std::invalid_argument(name + " has a control character");
    return name + ": " + value;
  }

 private:
  struct Free {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using Handle = std::unique_ptr<CURL, Free>;  // it keeps its connection

  static std::size_t append(char* bytes, std::size_t size, std::size_t count, void* to) {
    static_cast<std::string*>(to)->append(bytes, size * count);
    return size * count;
  }

  Handle take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      Handle made(curl_easy_init());
      if (!made) throw std::runtime_error("libcurl has no handle");
      return made;
    }
    auto last = std::move(idle_.back());
    idle_.pop_back();
    return last;
  }

  void give_back(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < options_.max_idle) idle_.push_back(std::move(handle));
  }

  Answer once(const Request& request, Milliseconds timeout) {
    auto handle = take();
    CURL* curl = handle.get();
    curl_easy_reset(curl);
    std::unique_ptr<curl_slist, Free> headers;
    const auto add = [&](const std::string& header) {
      auto* longer = curl_slist_append(headers.get(), header.c_str());
      if (longer == nullptr) throw std::bad_alloc();
      static_cast<void>(headers.release());
      headers.reset(longer);
    };
    for (const auto& header : {std::string("Accept: application/json"), std::string("Expect:"), authorization_})
      if (!header.empty()) add(header);
    for (const auto& header : request.headers) add(header);
    if (!request.body.empty()) {
      add("Content-Type: application/json");
      curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    }
    Answer answer;
    const auto url = url_ + request.path;
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method);
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl, CURLOPT_USERAGENT, (std::string("waybill-cpp/") + kVersion).c_str());
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, 30L);  // what lies longer may be dropped by a firewall, without a word
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transport::append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    if (!options_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, options_.ca_file.c_str());
    const auto result = curl_easy_perform(curl);
    if (result == CURLE_OK) {
      long status = 0;
      curl_off_t retry_after = 0;
      curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
      answer.status = static_cast<int>(status);
      answer.retry_after = std::chrono::seconds(retry_after);
    } else {
      answer.trouble = curl_easy_strerror(result);
      answer.is_hopeless =
          result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_URL_MALFORMAT;  // another attempt would not help
    }
    give_back(std::move(handle));
    return answer;
  }

  std::string url_, authorization_;
  Options options_;
  std::mutex mutex_;
  std::vector<Handle> idle_;
};

}  // namespace detail

// ---- the client ----

// True of the ends that this client knows. A status that it does not know has not ended.
inline bool has_ended(const Intent& intent) {
  for (const auto* end : {"accepted", "rejected", "exhausted", "cancelled"})
    if (intent.status == end) return true;
  return false;
}

// How the intent of a Conflict is now; none if the host does not say so.
inline std::optional<Intent> intent_of(const ApiError& error) {
  std::optional<Intent> found;
  const auto look = [&](const std::string& name, const detail::Value& value) {
    if (name == "intent" && !detail::read(value, found)) found.reset();
    return true;
  };
  if (const auto whole = detail::Value::of(error.body))
    whole->members([&](const std::string& name, const detail::Value& value) {
      if (name == "error") value.members(look);
      return look(name, value);
    });
  return found;
}

// Of one item: the intent as it is stored, or why it was refused.
struct BatchOutcome {
  std::string id;
  std::optional<Intent> intent;
  std::int64_t status = 0;  // as submit would have got it; 0: no answer came
  std::string code, message;
};

struct IntentFilter {  // "" for any; times in RFC 3339
  std::string target, status, since, until;
  int page_size = 0;
};

struct SubmissionFilter {
  std::string form_id, status, since, until;  // of forms
  std::string pipeline, state, reference;     // of pipelines
  int page_size = 0;
};

// What is listed, the newest first, fetched page by page: call next() until it has none, or use it in a `for`. The client must
// live longer.
template <class Page>
class Listed {
 public:
  using Item = typename decltype(Page::items)::value_type;
  using Fetch = std::function<Page(const std::string& cursor)>;

  explicit Listed(Fetch fetch) : fetch_(std::move(fetch)) {}

  std::optional<Item> next() {
    while (at_ == page_.items.size()) {
      if (is_last_) return std::nullopt;
      page_ = fetch_(cursor_);
      at_ = 0;
      is_last_ = !page_.next;
      cursor_ = page_.next.value_or("");
    }
    return std::move(page_.items[at_++]);
  }

  class Iterator {
   public:
    explicit Iterator(Listed* of) : of_(of) {
      if (of_ != nullptr) ++*this;
    }
    const Item& operator*() const { return *item_; }
    Iterator& operator++() {
      item_ = of_->next();
      return *this;
    }
    bool operator!=(const Iterator&) const { return item_.has_value(); }

   private:
    Listed* of_;
    std::optional<Item> item_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(nullptr); }

 private:
  Fetch fetch_;
  Page page_{};
  std::size_t at_ = 0;
  bool is_last_ = false;
  std::string cursor_;
};

// Calls one host, or a load balancer in front of several. Safe from any thread. After 429, 502, 503, 504 and lost connections a
// call is made again, the same bytes under the same id, until the time limit is over. An id that is empty is made; every Error
// has it.
class Client {
 public:
  explicit Client(std::string url, const std::string& token = "", Options options = {})
      : transport_(std::make_unique<detail::Transport>(std::move(url), token, std::move(options))) {}

  // ---- intents ----
  Intent submit(NewIntent intent, const CallOptions& options = {}) {
    if (intent.intent_id.empty()) intent.intent_id = detail::new_id();
    const auto wait = options.wait_seconds == 0 ? "" : std::to_string(options.wait_seconds);
    return hand_in<Intent>(intent.intent_id, detail::with_query("/v1/intents", {{"waitSeconds", wait}}), detail::write(intent),
                           options);
  }
  Intent submit(const std::string& target, const std::string& payload, const CallOptions& options = {}) {
    NewIntent intent;
    intent.submission_target = target;
    intent.payload = Json{payload};
    return submit(std::move(intent), options);
  }

  // Each is stored or refused by itself: look at every outcome's intent. Sent in several requests where one would be too large.
  std::vector<BatchOutcome> submit_batch(std::vector<NewIntent> intents,
                                         std::optional<std::chrono::milliseconds> time_limit = {}) {
    auto left = time_limit.value_or(transport_->options().time_limit);
    std::vector<BatchOutcome> outcomes;
    std::vector<Item> part;
    std::size_t bytes = 0;
    for (auto& intent : intents) {
      if (intent.intent_id.empty()) intent.intent_id = detail::new_id();
      auto text = detail::write(intent);
      if (!part.empty() && (part.size() == kMaxItems || bytes + text.size() > kMaxBytes)) {
        send(part, left, outcomes);
        part.clear();
        bytes = 0;
      }
      bytes += text.size() + 1;
      part.push_back({std::move(intent.intent_id), std::move(text)});
    }
    if (!part.empty()) send(part, left, outcomes);
    return outcomes;
  }

  Intent get(const std::string& id) { return call<Intent>({"GET", "/v1/intents/" + detail::escaped(id), ""}); }
  History history(const std::string& id) { return call<History>({"GET", "/v1/intents/" + detail::escaped(id) + "/history", ""}); }

  Listed<IntentPage> list(const IntentFilter& filter = {}) {
    return Listed<IntentPage>([this, filter](const std::string& cursor) {
      return call<IntentPage>({"GET",
                               detail::with_query("/v1/intents", {{"target", filter.target},
                                                                  {"status", filter.status},
                                                                  {"since", filter.since},
                                                                  {"until", filter.until},
                                                                  {"limit", number_or_none(filter.page_size)},
                                                                  {"cursor", cursor}}),
                               ""});
    });
  }

  // Also if it was cancelled before. Conflict if it is under way or has ended otherwise; intent_of(error) says how it is.
  Intent cancel(const std::string& id, const Cancel& how = {}) {
    return call<Intent>({"POST", "/v1/intents/" + detail::escaped(id) + "/cancel", detail::write(how)});
  }
  // Cancels what waits for a target; returns how many, or would be.
  std::int64_t cancel_all(CancelMany which) {
    std::int64_t count = 0;
    do {
      const auto part = call<CancelledMany>({"POST", "/v1/intents:cancel", detail::write(which)});
      count += part.count;
      which.cursor = part.next;
    } while (which.cursor);
    return count;
  }
  // Conflict if it no longer waits for its time.
  Intent reschedule(const std::string& id, const std::string& not_before) {
    return call<Intent>({"PATCH", "/v1/intents/" + detail::escaped(id), detail::write(Reschedule{not_before})});
  }

  // ---- events, forms and pipelines ----
  // An event of a rule of Options::organisation; each channel of the rule gets it.
  EventState publish(const std::string& rule, NewEvent event, const CallOptions& options = {}) {
    if (event.event_id.empty()) event.event_id = detail::new_id();
    const auto path =
        "/orgs/" + detail::escaped(transport_->options().organisation) + "/alert-rules/" + detail::escaped(rule) + "/events";
    return hand_in<EventState>(event.event_id, path, detail::write(event), options);
  }
  SubmissionState submit_form(NewSubmission form, const CallOptions& options = {}) {
    if (form.submission_id.empty()) form.submission_id = detail::new_id();
    return hand_in<SubmissionState>(form.submission_id, "/v1/submissions", detail::write(form), options);
  }
  // Declares a form's submission complete.
  SubmissionState finalize(const std::string& id) {
    return call<SubmissionState>({"POST", "/v1/submissions/" + detail::escaped(id) + "/finalize", "{}"});
  }
  // A submission to a pipeline of the registry: a job, or a case that people decide.
  PipelineState submit_job(const std::string& pipeline, NewPipelineSubmission job, const CallOptions& options = {}) {
    if (job.submission_id.empty()) job.submission_id = detail::new_id();
    const auto path = "/v1/pipelines/" + detail::escaped(pipeline) + "/submissions";
    return hand_in<PipelineState>(job.submission_id, path, detail::write(job), options);
  }
  // A submission of each pipeline whose file has the path /forms.
  FormPost post_form(NewFormPost post, const CallOptions& options = {}) {
    if (!post.submission_id || post.submission_id->empty()) post.submission_id = detail::new_id();
    return hand_in<FormPost>(*post.submission_id, "/forms", detail::write(post), options);
  }
  AnySubmission get_submission(const std::string& id) {
    return call<AnySubmission>({"GET", "/v1/submissions/" + detail::escaped(id), ""});
  }
  Listed<SubmissionPage> list_submissions(const SubmissionFilter& filter = {}) {
    return Listed<SubmissionPage>([this, filter](const std::string& cursor) {
      return call<SubmissionPage>({"GET",
                                   detail::with_query("/v1/submissions", {{"formId", filter.form_id},
                                                                          {"status", filter.status},
                                                                          {"since", filter.since},
                                                                          {"until", filter.until},
                                                                          {"pipeline", filter.pipeline},
                                                                          {"state", filter.state},
                                                                          {"reference", filter.reference},
                                                                          {"limit", number_or_none(filter.page_size)},
                                                                          {"cursor", cursor}}),
                                   ""});
    });
  }

 private:
  static constexpr std::size_t kMaxItems = 1000, kMaxBytes = 900'000;  // of one request of a batch; a host takes 1 MiB by default

  struct Item {
    std::string id, text;
  };

  static std::string number_or_none(int number) { return number == 0 ? "" : std::to_string(number); }

  template <class T>
  T call(const detail::Request& request, std::optional<std::chrono::milliseconds> limit = {}) {
    T answer{};
    transport_->call(request, limit.value_or(transport_->options().time_limit),
                     [&](const detail::Value& value) { return detail::read(value, answer); });
    return answer;
  }

  template <class T>
  T hand_in(const std::string& id, std::string path, std::string body, const CallOptions& options) {
    detail::Request request{"POST", std::move(path), std::move(body), std::chrono::seconds(options.wait_seconds)};
    for (const auto& [name, value] : {std::pair("traceparent", options.traceparent), std::pair("tracestate", options.tracestate)})
      if (!value.empty()) request.headers.push_back(detail::Transport::line(name, value));
    try {
      return call<T>(request, options.time_limit);
    } catch (Error& error) {
      error.id = id;
      throw;
    }
  }

  // Those that were not acknowledged are sent again, the others are not.
  void send(const std::vector<Item>& items, std::chrono::milliseconds& left, std::vector<BatchOutcome>& outcomes) {
    std::vector<std::size_t> open(items.size());
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
    std::vector<BatchOutcome> done(items.size());
    for (int attempt = 0; !open.empty(); ++attempt) {
      std::string body;
      for (const auto at : open) body += (body.empty() ? "[" : ",") + items[at].text;
      const auto begun = std::chrono::steady_clock::now();
      const auto paused = try_batch({"POST", "/v1/intents:batch", body + "]"}, left, items, open, done);
      const auto pause = detail::pause_before(attempt, std::chrono::seconds(0));
      left -= std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
      open.erase(std::remove_if(open.begin(), open.end(), [&](std::size_t at) { return !detail::is_repeated(done[at].status); }),
                 open.end());
      if (!paused || open.empty() || pause >= left) break;
      transport_->sleep(pause);
      left -= pause;
    }
    std::move(done.begin(), done.end(), std::back_inserter(outcomes));
  }

  // False: the request failed as a whole, and every open item with it.
  bool try_batch(const detail::Request& request, std::chrono::milliseconds left, const std::vector<Item>& items,
                 const std::vector<std::size_t>& open, std::vector<BatchOutcome>& done) {
    const auto fail = [&](const Error& error, int status, const std::string& code) {
      for (const auto at : open) done[at] = {items[at].id, std::nullopt, status, code, error.what()};
      return false;
    };
    try {
      Batch batch;
      transport_->call(request, std::max(left, std::chrono::milliseconds(1)), [&](const detail::Value& value) {
        return detail::read(value, batch) && batch.results.size() == open.size();
      });
      for (std::size_t i = 0; i < open.size(); ++i) done[open[i]] = outcome_of(items[open[i]].id, batch.results[i]);
      return true;
    } catch (const ApiError& error) {
      return fail(error, error.status, error.code);
    } catch (const Error& error) {
      return fail(error, 0, "unreachable");
    }
  }

  static BatchOutcome outcome_of(const std::string& id, BatchResult& result) {
    BatchOutcome outcome{id, std::nullopt, result.status, "", ""};
    if (result.status >= 200 && result.status < 300) {
      outcome.intent = std::move(result.intent);
    } else if (result.error) {
      ErrorError error;
      const auto told = detail::Value::of(result.error->text);
      if (told && detail::read(*told, error)) outcome.code = error.code, outcome.message = error.message;
    }
    return outcome;
  }

  std::unique_ptr<detail::Transport> transport_;
};

}  // namespace waybill::client
