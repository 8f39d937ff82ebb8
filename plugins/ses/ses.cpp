// Action type ses: one mail with its attachments, sent by AWS SES.
#include <deque>

#include "common/base64.h"
#include "common/mail_message.h"
#include "ses/answer.h"
#include "ses/attachment.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

constexpr wb_reason kReasons[] = {wp::permanent("invalid_payload"),      wp::permanent("attachment_not_allowed"),
                                  wp::permanent("attachment_too_large"), wp::permanent("too_many_attachments"),
                                  wp::permanent("message_rejected"),     wp::permanent("bad_request")};

class Ses final : public HttpSender {
 public:
  Ses(wp::Host host, std::string_view settings) : Ses(host, ses::settings_from(settings)) {}

  void send(Call call, Job job) override {
    auto destination = ses::read_destination(job.destination(), settings_.route,
                                             [](const std::string&, const std::string& why) { throw std::runtime_error(why); });
    std::string problem;
    auto mail = ses::read_job(job.payload(), job.context(), problem);
    if (!mail) return end(call, Outcome::rejected("invalid_payload").reach(Reach::not_sent).detail("the payload " + problem));
    if (destination.route.to.empty())
      return end(call, Outcome::transient("no_recipient")
                           .reach(Reach::not_sent)
                           .scope(Scope::whole_target)
                           .detail("neither the target nor the settings say whom to send to"));
    if (const auto refusal = ses::refusal_of(mail->files, destination.route, settings_)) return end(call, *refusal);
    const auto work = std::make_shared<Work>(
        Work{call, std::move(destination), std::move(*mail), std::string(job.idempotency_key()), {}, 0, false});
    if (work->mail.files.empty()) return submit(work);
    waiting_.push_back(work);
    admit();
  }

  void cancel(Call call) override {
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& work) { return work->call.id() == call.id(); });
    if (found == waiting_.end()) return HttpSender::cancel(call);
    waiting_.erase(found);
    call.complete(Outcome::transient("cancelled").reach(Reach::not_sent).detail("it waited for other mails with attachments"));
  }

 private:
  // One attempt. The files that were fetched are in here and nowhere else.
  struct Work {
    Call call;
    ses::Destination destination;
    ses::MailJob mail;
    std::string key;
    std::vector<std::string> parts;  // of the files so far, encoded
    std::int64_t bytes = 0;          // of them, before that
    bool admitted = false;
  };
  using WorkPtr = std::shared_ptr<Work>;

  Ses(wp::Host host, ses::Settings settings)
      : HttpSender(host, settings.timeout), settings_(std::move(settings)), timer_(host.timer()) {}

  static void end(Call call, const Outcome& outcome) { call.complete(outcome); }

  // Files are large, so only so many mails that have some are made at one time; the others wait in their order.
  void admit() {
    while (admitted_ < settings_.concurrent && !waiting_.empty()) {
      const auto work = std::move(waiting_.front());
      waiting_.pop_front();
      work->admitted = true;
      ++admitted_;
      try {
        fetch_next(work);
      } catch (const std::exception& e) {
        --admitted_;
        work->call.complete(Outcome::transient("plugin_error").reach(Reach::not_sent).detail(one_line(e.what())));
      }
    }
  }

  void leave(Work& work) {
    if (!std::exchange(work.admitted, false)) return;
    --admitted_;
    admit();
  }

  void finish(const WorkPtr& work, const Outcome& outcome) {
    work->call.complete(outcome);
    leave(*work);
  }

  // What it throws completes the call; the place is free for the next either way.
  template <class Body>
  void guarded(const WorkPtr& work, const Body& body) {
    try {
      body();
    } catch (...) {
      leave(*work);
      throw;
    }
  }

  void fetch_next(const WorkPtr& work) {
    Request request;
    request.method = "GET";
    request.url = work->mail.files[work->parts.size()].url;
    request.max_response_bytes = static_cast<std::uint32_t>(settings_.max_attachment_bytes);
    ask(work->call, std::move(request), [this, work](const Response& response) { guarded(work, [&] { take(work, response); }); });
  }

  void take(const WorkPtr& work, const Response& response) {
    const auto& file = work->mail.files[work->parts.size()];
    auto part = ses::part_of(response, file, settings_);
    if (const auto* refusal = std::get_if<Outcome>(&part)) return finish(work, *refusal);
    work->bytes += static_cast<std::int64_t>(response.body.size());
    if (work->bytes > settings_.max_total_bytes)
      return finish(
          work, Outcome::rejected("attachment_too_large")
                    .reach(Reach::not_sent)
                    .detail("the attachments together have more than " + std::to_string(settings_.max_total_bytes) + " bytes"));
    work->parts.push_back(std::move(std::get<std::string>(part)));
    if (work->parts.size() < work->mail.files.size())
      fetch_next(work);
    else
      submit(work);
  }

  void submit(const WorkPtr& work) {
    Request request;
    request.url = work->destination.base + "/v2/email/outbound-emails";
    request.headers = {{"Content-Type", "application/json"}};
    if (!settings_.session_token.empty())
      request.headers.push_back({"X-Amz-Security-Token", "{secret:" + settings_.session_token + '}'});
    request.sigv4 = settings_.credentials;
    request.body = body_of(*work);
    request.max_response_bytes = 64 * 1024;
    ask(work->call, std::move(request), [this, work](const Response& response) {
      const auto quotes = settings_.session_token.empty() ? ses::Quotes::yes : ses::Quotes::no;
      guarded(work,
              [&] { finish(work, response.error == NetError::none ? ses::judge(response, quotes) : network_failure(response)); });
    });
  }

  // Written by hand around the mail, which is far the largest part and needs no escapes.
  std::string body_of(Work& work) const {
    const auto& route = work.destination.route;
    Json addresses = Json::array();
    for (const auto& mailbox : route.to) addresses.push_back(mailbox.address);
    Letter letter;
    letter.from = route.from;
    letter.to = route.to;
    letter.content.subject = work.mail.subject;
    letter.content.html = std::move(work.mail.html);
    letter.key = work.key;
    letter.reference = work.mail.reference;
    letter.date = timer_.unix_seconds();
    letter.attachments = std::move(work.parts);
    auto out = R"({"FromEmailAddress":)" + Json(route.from.address).dump() + R"(,"Destination":{"ToAddresses":)" +
               addresses.dump() + "},";
    if (!settings_.configuration_set.empty())
      out += R"("ConfigurationSetName":)" + Json(settings_.configuration_set).dump() + ',';
    return out + R"("Content":{"Raw":{"Data":")" + base64(write_mail(std::move(letter))) + R"("}}})";
  }

  ses::Settings settings_;
  wp::Timers timer_;
  std::size_t admitted_ = 0;
  std::deque<WorkPtr> waiting_;
};

constexpr auto kSes = wp::action<Ses>("ses")
                          .settings_schema(ses::kSettingsSchema)
                          .destination_schema(ses::kDestinationSchema)
                          .payload_schema(ses::kPayloadSchema)
                          .reasons(kReasons)
                          .validate_settings<ses::check_settings>()
                          .validate_destination<ses::check_destination>();
}  // namespace

WAYBILL_PLUGIN_NEEDING(3, "waybill.ses", "1.0.0", kSes);
