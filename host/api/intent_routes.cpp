// Handling of intents, from the parsed request to the reply.
#include "api/intent_routes.h"

#include <atomic>

#include "api/error_reply.h"
#include "api/integer.h"
#include "api/intent_batch.h"
#include "api/intent_json.h"
#include "api/json_envelope.h"

namespace waybill {
namespace {

constexpr int kMaxWaitSeconds = 60;
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
    hand_in(parts_.registry.current(), request.principal.org, std::move(*intent),
            submit_callback(began, *wait, std::move(reply)));
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
    std::vector<Intake::PendingIntent> known;  // their targets are
    known.reserve(intents->size());
    for (std::size_t i = 0; i < intents->size(); ++i) {
      auto& intent = (*intents)[i];
      http::Reply answered = [batch, i](http::Response answer) {
        batch->answers[i] = std::move(answer);
        if (--batch->left == 0) batch->reply(http::json_response(200, batch_json(batch->answers)));
      };
      if (!intent)
        answered(http::invalid_request(intent.error().what));
      else if (const Contract* contract = registry->find(intent->target))
        known.push_back(handed_in(registry, *contract, request.principal.org, std::move(*intent),
                                  submit_callback(began, Millis{0}, std::move(answered))));
      else
        ask_for_known(request.principal.org, std::move(*intent), submit_callback(began, Millis{0}, std::move(answered)));
    }
    parts_.intake.submit(std::move(known));
  }

  void get(http::Request request, http::Reply reply) const {
    ask(std::move(request), std::move(reply),
        [](ReadStore& reader, OrgId org, const std::string& id) -> Result<std::optional<std::string>> {
          auto found = reader.find(org, "intent", id);
          TRY(found);
          return *found ? std::optional(intent_json(**found)) : std::nullopt;
        });
  }

  void history(http::Request request, http::Reply reply) const {
    ask(std::move(request), std::move(reply),
        [](ReadStore& reader, OrgId org, const std::string& id) -> Result<std::optional<std::string>> {
          auto found = reader.history(org, "intent", id);
          TRY(found);
          return *found ? std::optional(history_json(**found)) : std::nullopt;
        });
  }

 private:
  using SubmitCallback = Intake::Answer;

  void hand_in(const std::shared_ptr<const Registry>& registry, OrgId org, IntentRequest intent, SubmitCallback callback) const {
    const Contract* contract = registry->find(intent.target);
    if (!contract) return ask_for_known(org, std::move(intent), std::move(callback));
    auto [item, answer] = handed_in(registry, *contract, org, std::move(intent), std::move(callback));
    parts_.intake.submit(std::move(item), std::move(answer));
  }

  static Intake::PendingIntent handed_in(const std::shared_ptr<const Registry>& registry, const Contract& contract, OrgId org,
                                         IntentRequest intent, SubmitCallback callback) {
    return {{org, std::move(intent.intent_id), std::shared_ptr<const Contract>(registry, &contract), std::move(intent.payload)},
            std::move(callback)};
  }

  // Replies to a submission once it is known what became of it.
  SubmitCallback submit_callback(Clock::Monotonic began, Millis wait, http::Reply reply) const {
    return [parts = parts_, began, wait, reply = std::move(reply)](Result<SubmitResult> answer) {
      if (auto refusal = submit_refusal(answer, kWords, parts.log)) return reply(std::move(*refusal));
      if (answer->how == SubmitResult::How::created) parts.metrics.submission("pending");
      parts.metrics.acceptance(parts.clock.now() - began);
      if (wait.count() == 0 || answer->view.completed) return reply(http::json_response(200, intent_json(answer->view)));
      parts.waiters.add(answer->view.id, wait, [parts, view = answer->view, reply] { answer_now(parts, view, reply); });
    };
  }

  // The target is not in the registry, or not any more: an intent that came in before is still itself.
  void ask_for_known(OrgId org, IntentRequest intent, SubmitCallback callback) const {
    parts_.pool.ask([org, intent = std::move(intent), callback = std::move(callback)](ReadPool::Session& session) {
      auto found = session.reader->compare(org, "intent", intent.intent_id, intent.target, sha256(intent.payload));
      if (!found) return callback(tl::unexpected(found.error()));
      if (*found) return callback(std::move(**found));
      callback(fail(Error::Kind::invalid, "unknown submissionTarget \"" + intent.target + "\""));
    });
  }

  template <class Find>
  void ask(http::Request request, http::Reply reply, Find find) const {
    parts_.pool.ask([parts = parts_, request = std::move(request), reply = std::move(reply), find](ReadPool::Session& session) {
      const std::string& id = request.parameters.at("id");
      const auto answer = find(*session.reader, request.principal.org, id);
      if (!answer) return reply(error_reply(answer.error(), parts.log, kNotRead));
      reply(*answer ? http::json_response(200, **answer)
                    : http::error_response(404, "not_found", "there is no intent \"" + id + "\""));
    });
  }

  // After a wait: the intent as it is now.
  static void answer_now(const IntentParts& parts, const SubmissionView& view, const http::Reply& reply) {
    parts.pool.ask([parts, view, reply](ReadPool::Session& session) {
      const auto found = session.reader->find(view.org, "intent", view.client_ref);
      if (!found) return reply(error_reply(found.error(), parts.log, kNotRead));
      reply(http::json_response(200, intent_json(*found ? **found : view)));
    });
  }

  IntentParts parts_;
};

}  // namespace

std::vector<http::Route> intent_routes(IntentParts parts) {
  const Intents intents(parts);
  return {{"POST", "/v1/intents", http::Role::member,
           [intents](http::Request q, http::Reply r) { intents.post(std::move(q), std::move(r)); },
           [](const http::Request& request) { return wait_of(request).value_or(Millis{0}); }},
          {"POST",
           "/v1/intents:batch",
           http::Role::member,
           [intents](http::Request q, http::Reply r) { intents.post_batch(std::move(q), std::move(r)); },
           {},
           false,
           http::Content::json_or_lines},
          {"GET", "/v1/intents/{id}", http::Role::member,
           [intents](http::Request q, http::Reply r) { intents.get(std::move(q), std::move(r)); }},
          {"GET", "/v1/intents/{id}/history", http::Role::member,
           [intents](http::Request q, http::Reply r) { intents.history(std::move(q), std::move(r)); }}};
}

}  // namespace waybill
