// Action type govuk_notify: one e-mail of a template, sent by GOV.UK Notify.
#include "govuk_notify/failures.h"
#include "govuk_notify/notification.h"
#include "govuk_notify/token.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

constexpr wb_reason kReasons[] = {wp::permanent("invalid_payload"),   wp::permanent("bad_request"),
                                  wp::permanent("notification_gone"), wp::permanent("temporary_failure"),
                                  wp::permanent("permanent_failure"), wp::permanent("technical_failure")};

class GovukNotify final : public HttpSender, public wp::TellsStatus, public wp::ListsFailures {
 public:
  GovukNotify(wp::Host host, std::string_view settings) : GovukNotify(host, notify::settings_from(settings)) {}

  void send(Call call, Job job) override {
    std::string problem;
    auto body = notify::request_of(job.payload(), job.context(), problem);
    if (!body) {
      call.complete(Outcome::rejected("invalid_payload").reach(Reach::not_sent).detail("the payload " + problem));
      return;
    }
    begin(call, job, {"POST", "/v2/notifications/email", std::move(*body)},
          [this, call](const Response& response) { call.complete(notify::judge_sending(response, timer_.unix_seconds())); });
  }

  void status(Call call, Job job) override {
    if (!notify::is_uuid(job.provider_ref())) {
      call.complete(Outcome::transient("unknown_notification").reach(Reach::not_sent));
      return;
    }
    begin(call, job, {"GET", "/v2/notifications/" + std::string(job.provider_ref()), {}},
          [this, call](const Response& response) { call.complete(judge_status(response)); });
  }

  void list_failures(Call call, Job job, wp::FailureQuery query) override {
    const auto page = notify::page_named(query.page());
    if (!page) {
      call.complete(Outcome::transient("unknown_page").reach(Reach::not_sent));
      return;
    }
    begin(call, job, {"GET", page->path(), {}},
          [this, call, query, page = *page](const Response& response) { call.complete(judge_page(response, page, query)); });
  }

 private:
  struct Question {
    const char* method;
    std::string path;
    std::string body;
  };

  GovukNotify(wp::Host host, notify::Settings settings)
      : HttpSender(host, settings.timeout), account_(std::move(settings.account)), timer_(host.timer()), sign_(host.sign()) {}

  // Asks with a fresh token; once more with the time of the other side, if it says that ours is wrong.
  void begin(Call call, Job job, Question question, wp::FetchDone done) {
    const auto destination = notify::destination_from(job.destination());
    auto account = destination.account.value_or(account_);
    question.path.insert(0, destination.base);
    const auto asked = std::make_shared<const Question>(std::move(question));
    fetch_at(call, account, asked, timer_.unix_seconds(), [this, call, account, asked, done](const Response& response) {
      if (!notify::blames_clock(response)) return done(response);
      fetch_at(call, account, asked, notify::their_time(response).value_or(timer_.unix_seconds()), done);
    });
  }

  void fetch_at(Call call, const notify::Account& account, const std::shared_ptr<const Question>& question, std::int64_t now,
                wp::FetchDone done) {
    const auto token = notify::token_of(sign_, account, now);
    if (!token) {
      call.complete(Outcome::transient("unknown_secret")
                        .reach(Reach::not_sent)
                        .scope(Scope::whole_target)
                        .detail("this host has no secret named \"" + one_line(account.key) + '"'));
      return;
    }
    Request request;
    request.method = question->method;
    request.url = question->path;
    request.headers = {{"Authorization", "Bearer " + *token}, {"Accept", "application/json"}};
    if (!question->body.empty()) request.headers.push_back({"Content-Type", "application/json"});
    request.body = question->body;
    request.max_response_bytes = 16 * 1024 * 1024;  // 250 notifications, each with its text
    ask(call, std::move(request), std::move(done));
  }

  Outcome judge_status(const Response& response) const {
    if (response.error == NetError::none && response.status == 404)
      return Outcome::rejected("notification_gone").code(404).detail("GOV.UK Notify has no such notification");
    if (!notify::answered_well(response)) return notify::judge_question(response, timer_.unix_seconds());
    std::string problem;
    const auto answer = parse_object(response.body, problem);
    const auto word = answer ? notify::text_in(*answer, "status") : std::string{};
    if (word == "delivered") return Outcome::accepted().code(response.status);
    if (word == "created" || word == "sending" || word == "pending")
      return Outcome::deferred(word).reach(response.reach).code(response.status);
    for (const auto failed : notify::kFailed)
      if (word == failed) {
        auto reason = word;
        reason.replace(reason.find('-'), 1, "_");
        return Outcome::rejected(reason).code(response.status);
      }
    return undecided(response, "invalid_answer", answer ? "the answer has no known status" : "the answer " + problem);
  }

  Outcome judge_page(const Response& response, const notify::Page& page, const wp::FailureQuery& query) const {
    if (!notify::answered_well(response)) return notify::judge_question(response, timer_.unix_seconds());
    std::string problem;
    const auto answer = parse_object(response.body, problem);
    const auto next = answer ? notify::read_page(*answer, page, query, problem) : std::nullopt;
    if (!problem.empty())
      return undecided(response, "invalid_answer", response.truncated ? "the answer is too long" : "the answer " + problem);
    if (next) query.next_page(next->name());
    return Outcome::accepted().code(response.status);
  }

  notify::Account account_;
  wp::Timers timer_;
  wp::Signer sign_;
};

constexpr auto kGovukNotify = wp::action<GovukNotify>("govuk_notify")
                                  .settings_schema(notify::kSettingsSchema)
                                  .destination_schema(notify::kDestinationSchema)
                                  .payload_schema(notify::kPayloadSchema)
                                  .reasons(kReasons)
                                  .validate_settings<notify::check_settings>()
                                  .validate_destination<notify::check_destination>();
}  // namespace

WAYBILL_PLUGIN_NEEDING(1, "waybill.govuk_notify", "1.0.0", kGovukNotify);
