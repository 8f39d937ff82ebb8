// Handling of intents, from the parsed request to the reply.
#include "api/intent_routes.h"

#include <atomic>
#include <tuple>

#include "api/error_reply.h"
#include "api/integer.h"
#include "api/intent_batch.h"
#include "api/intent_json.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "api/stored_span.h"
#include "api/submission_pages.h"
#include "http/access.h"

namespace waybill {
namespace {

constexpr int kMaxWaitSeconds = 60;
constexpr std::size_t kItemBytes = 512;  // of an item of a batch, besides its text: what it is known by, and who waits for it
constexpr std::size_t kLargeBatch = 1 << 10;  // bytes: some hundred items fit, each of which is read and answered by itself
constexpr std::string_view kNotRead = "intent.not_read";
constexpr SubmitWords kWords{
    .reference = "intentId", .content = "submissionTarget or payload", .not_stored = "intent.not_stored"};

Result<Millis> wait_of(const http::Request& request) {
  const auto text = request.query_value("waitSeconds");
  if (!text) return Millis{0};
  const int seconds = whole_number<int>(*text).value_or(-1);
  if (seconds < 0 || seconds > kMaxWaitSeconds)
    return fail(Error::Kind::invalid, "waitSeconds must be a whole number from 0 to " + std::to_string(kMaxWaitSeconds));
  return Millis{seconds * 1000};
}

class Intents {
 public:
  explicit Intents(IntentParts parts) : parts_(parts) {}

  void post(http::Request request, http::Reply reply) const {
    const auto began = parts_.clock.now();
    const auto wait = wait_of(request);
    if (!wait) return reply(http::invalid_request(wait.error().what));
    auto intent = read_intent(request.body);
    if (!intent) return reply(http::invalid_request(intent.error().what));
    if (auto refusal = http::target_refusal(request.principal, intent->target)) return reply(std::move(*refusal));
    if (wait->count() > 0 && !parts_.waiters.has_room()) return reply(overload_response());
    const auto registry = parts_.registry.current();
    const auto taking = take_in(parts_.tracer, intent->trace ? intent->trace : request.trace);
    auto callback = submit_callback(began, *wait, request.principal.scope, taking, reply);
    const Contract* contract = registry->find(intent->target);
    auto fault = fault_of(contract, *intent);
    if (fault.empty()) {
      auto [item, answer] =
          handed_in(registry, *contract, request.principal.org, std::move(*intent), taking, std::move(callback));
      return parts_.intake.submit(std::move(item), std::move(answer));
    }
    std::vector<RefusedIntent> refused;
    refused.push_back({std::move(*intent), std::move(callback), std::move(fault)});
    ask_for_known(std::move(request), std::move(reply), std::move(refused));
  }

  // Each item by itself: its answer is what a request of its own would have got.
  void post_batch(http::Request request, http::Reply reply) const {
    const auto began = parts_.clock.now();
    auto intents = read_batch(request.body);
    if (!intents) return reply(http::invalid_request(intents.error().what));
    const auto registry = parts_.registry.current();
    struct Batch {
      std::vector<http::Response> answers;
      std::atomic<std::size_t> left;
      http::Reply reply;
    };
    const auto batch = std::make_shared<Batch>();
    batch->answers.resize(intents->size());
    batch->left = intents->size();
    batch->reply = std::move(reply);
    std::vector<Intake::PendingIntent> good;
    std::vector<RefusedIntent> refused;
    good.reserve(intents->size());
    for (std::size_t i = 0; i < intents->size(); ++i) {
      auto& intent = (*intents)[i];
      http::Reply answered = [batch, i](http::Response answer) {
        batch->answers[i] = std::move(answer);
        if (--batch->left == 0) batch->reply(http::json_response(200, batch_json(batch->answers)));
      };
      if (!intent) {
        answered(http::invalid_request(intent.error().what));
        continue;
      }
      if (auto refusal = http::target_refusal(request.principal, intent->target)) {
        answered(std::move(*refusal));
        continue;
      }
      const Contract* contract = registry->find(intent->target);
      const auto taking = take_in(parts_.tracer, intent->trace ? intent->trace : request.trace);  // each has a span of its own
      auto callback = submit_callback(began, Millis{0}, request.principal.scope, taking, std::move(answered));
      if (auto fault = fault_of(contract, *intent); fault.empty())
        good.push_back(handed_in(registry, *contract, request.principal.org, std::move(*intent), taking, std::move(callback)));
      else
        refused.push_back({std::move(*intent), std::move(callback), std::move(fault)});
    }
    // First, so that a batch that finds no room is refused whole.
    if (!refused.empty() && !ask_for_known(std::move(request), batch->reply, std::move(refused))) return;
    parts_.intake.submit(std::move(good));
  }

  // Of a token with targets, those of its targets.
  void list(http::Request request, http::Reply reply) const {
    auto query = read_intents_query(request, parts_.ids);
    if (!query) return reply(http::invalid_request(query.error().what));
    if (query->filter.target)
      if (auto refusal = http::target_refusal(request.principal, *query->filter.target)) return reply(std::move(*refusal));
    if (request.principal.scope) query->filter.only_targets = request.principal.scope->targets;
    parts_.pool.ask(std::move(request), std::move(reply),
                    [parts = parts_, query = std::move(*query)](ReadPool::Session& session, const http::Request& asked,
                                                                const http::Reply& answered) {
                      const auto page = session->intents(asked.principal.org, query.filter, query.most, query.after);
                      answered(page ? http::json_response(200, intent_page_json(*page, parts.ids))
                                    : error_reply(page.error(), parts.log, kNotRead));
                    });
  }

  void get(http::Request request, http::Reply reply) const {
    ask(std::move(request), std::move(reply), [](ReadStore& reader, const http::Request& asked, const std::string& id) -> Found {
      auto found = reader.find(asked.principal.org, "intent", id);
      TRY(found);
      return *found && is_visible(asked, **found) ? std::optional(intent_json(**found)) : std::nullopt;
    });
  }

  void history(http::Request request, http::Reply reply) const {
    ask(std::move(request), std::move(reply), [](ReadStore& reader, const http::Request& asked, const std::string& id) -> Found {
      auto found = reader.history(asked.principal.org, "intent", id);
      TRY(found);
      return *found && is_visible(asked, (*found)->submission) ? std::optional(history_json(**found)) : std::nullopt;
    });
  }

 private:
  using SubmitCallback = Intake::Answer;

  using Found = Result<std::optional<std::string>>;  // JSON

  // The target is not in the registry, or not any more, or its plugin cannot send this payload: an intent that came in before is
  // still itself.
  struct RefusedIntent {
    IntentRequest intent;
    SubmitCallback callback;
    std::string why;
  };

  // Why this intent cannot be taken in; "" if it can.
  std::string fault_of(const Contract* contract, const IntentRequest& intent) const {
    if (contract == nullptr) return "unknown submissionTarget \"" + intent.target + "\"";
    if (auto fault = terms_fault(intent.terms, {parts_.clock.unix_seconds() * 1'000'000}); !fault.empty()) return fault;
    if (parts_.types == nullptr) return {};
    const auto problems = parts_.types->check_payload(contract->action_type, intent.payload);
    if (problems.empty()) return {};
    const auto& [field, message] = std::tie(problems.front().field, problems.front().message);
    return "payload" + (field.empty() || field.front() == '[' ? field : "." + field) + ": " + message;
  }

  // Of a token with targets, another target's intent is none.
  static bool is_visible(const http::Request& request, const SubmissionView& view) {
    return !http::target_refusal(request.principal, view.target);
  }

  static Intake::PendingIntent handed_in(const std::shared_ptr<const Registry>& registry, const Contract& contract, OrgId org,
                                         IntentRequest intent, const Taking& taking, SubmitCallback callback) {
    return {{org, std::move(intent.intent_id), std::shared_ptr<const Contract>(registry, &contract), std::move(intent.payload),
             trace_of(taking), std::move(intent.terms)},
            std::move(callback)};
  }

  // Of a token with targets: the id belongs to another target's intent, of which it learns no more than that it is taken.
  static std::optional<http::Response> foreign_id_refusal(const std::shared_ptr<const http::Scope>& scope,
                                                          const Result<SubmitResult>& answer) {
    if (!scope || !answer || !http::target_refusal({.scope = scope}, answer->view.target)) return std::nullopt;
    return http::error_response(403, "forbidden", "the token is not for the intent \"" + answer->view.client_ref + "\"");
  }

  // Replies to a submission once it is known what became of it. `scope`: of the token.
  SubmitCallback submit_callback(Clock::Monotonic began, Millis wait, std::shared_ptr<const http::Scope> scope, Taking taking,
                                 http::Reply reply) const {
    return [parts = parts_, began, wait, scope = std::move(scope), taking = std::move(taking),
            reply = std::move(reply)](Result<SubmitResult> answer) {
      if (auto refusal = foreign_id_refusal(scope, answer)) return reply(std::move(*refusal));
      if (auto refusal = submit_refusal(answer, kWords, parts.log)) return reply(std::move(*refusal));
      if (answer->how == SubmitResult::How::created) parts.metrics.submission("pending");
      if (taking) note_stored(parts.tracer, taking, kIntentKind, *answer);
      parts.metrics.acceptance(parts.clock.now() - began);
      if (wait.count() == 0 || answer->view.completed) return reply(http::json_response(200, intent_json(answer->view)));
      parts.waiters.add(answer->view.id, wait, [parts, view = answer->view, reply] { answer_now(parts, view, reply); });
    };
  }

  // One query for all. False: there was no room for it, and the request has its answer.
  bool ask_for_known(http::Request request, http::Reply reply, std::vector<RefusedIntent> refused) const {
    const std::size_t bytes = refused.size() * kItemBytes;
    return parts_.pool.ask(
        std::move(request), std::move(reply),
        [refused = std::move(refused)](ReadPool::Session& session, const http::Request& asked, const http::Reply&) {
          std::vector<SubmissionKey> keys;
          keys.reserve(refused.size());
          for (const auto& [intent, callback, why] : refused)
            keys.push_back({intent.intent_id, intent.target, sha256(intent.payload)});
          auto found = session->compare(asked.principal.org, "intent", keys);
          for (std::size_t i = 0; i < refused.size(); ++i) {
            const auto& [intent, callback, why] = refused[i];
            if (!found)
              callback(tl::unexpected(found.error()));
            else if ((*found)[i])
              callback(std::move(*(*found)[i]));
            else
              callback(fail(Error::Kind::invalid, why));
          }
        },
        bytes);
  }

  template <class Find>
  void ask(http::Request request, http::Reply reply, Find find) const {
    parts_.pool.ask(std::move(request), std::move(reply),
                    [parts = parts_, find](ReadPool::Session& session, const http::Request& asked, const http::Reply& answered) {
                      const std::string& id = asked.parameters.at("id");
                      const auto answer = find(*session, asked, id);
                      if (!answer) return answered(error_reply(answer.error(), parts.log, kNotRead));
                      answered(*answer ? http::json_response(200, **answer)
                                       : http::error_response(404, "not_found", "there is no intent \"" + id + "\""));
                    });
  }

  // After a wait: the intent as it is now, or as it was handed in when too many want to know.
  static void answer_now(const IntentParts& parts, const SubmissionView& view, const http::Reply& reply) {
    const bool taken = parts.pool.offer(
        [parts, view, reply](ReadPool::Session& session) {
          const auto found = session->find(view.org, "intent", view.client_ref);
          if (!found) return reply(error_reply(found.error(), parts.log, kNotRead));
          reply(http::json_response(200, intent_json(*found ? **found : view)));
        },
        reply);
    if (!taken) reply(http::json_response(200, intent_json(view)));
  }

  IntentParts parts_;
};

}  // namespace

std::vector<http::Route> intent_routes(IntentParts parts) {
  const Intents intents(parts);
  using Handle = void (Intents::*)(http::Request, http::Reply) const;
  const auto route = [&](const char* method, const char* path, Handle handle) {
    return http::Route{
        .method = method,
        .path = path,
        .least_role = http::Role::member,
        .handle = [intents, handle](http::Request q, http::Reply r) { (intents.*handle)(std::move(q), std::move(r)); },
        .checks_targets = true};
  };
  auto post = route("POST", "/v1/intents", &Intents::post);
  post.query = {"waitSeconds"};
  post.extra_time = [](const http::Request& request) { return wait_of(request).value_or(Millis{0}); };
  auto batch = route("POST", "/v1/intents:batch", &Intents::post_batch);
  batch.content = http::Content::json_or_lines;
  batch.large_body = kLargeBatch;
  return {
      std::move(post), std::move(batch),
      http::with_query(route("GET", "/v1/intents", &Intents::list), {"target", "status", "since", "until", "limit", "cursor"}),
      route("GET", "/v1/intents/{id}", &Intents::get), route("GET", "/v1/intents/{id}/history", &Intents::history)};
}

}  // namespace waybill
