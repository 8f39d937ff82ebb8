// Mails the payload to two recipients through the relay that the destination names, and says what became of each. Keeps the
// rules, unless the job's target names one to break.
#include <string>
#include <thread>
#include <unordered_map>

#include "kit.h"

namespace {

struct Open;

struct Mailer {
  const wb_host* host;
  std::unordered_map<std::uint64_t, Open*> open;
};

struct Open {
  Mailer* mailer;
  wb_call call;
  std::uint64_t submission = 0;
};

Mailer& mailer(wb_sender* self) { return *reinterpret_cast<Mailer*>(self); }

void say(const wb_host* host, std::string_view text) { host->log(host, {0}, WB_LOG_INFO, kit::str(text), nullptr, 0); }

void answered(void* user, const wb_smtp_reply* reply) {
  auto* const open = static_cast<Open*>(user);
  const auto* const host = open->mailer->host;
  const bool taken = reply->error == WB_NET_OK && reply->stage == WB_SMTP_DATA && reply->code / 100 == 2;
  auto made = kit::outcome(taken ? WB_ACCEPTED : WB_TRANSIENT, reply->reach, reply->error == WB_NET_OK ? "refused" : "network");
  made.code = reply->code != 0 ? reply->code : reply->error;
  made.detail = reply->error == WB_NET_OK ? reply->text : reply->error_text;
  std::string codes = "[" + std::to_string(reply->stage);
  for (std::size_t i = 0; i < reply->recipient_count; ++i) codes += "," + std::to_string(reply->recipients[i].code);
  codes += "]";
  made.result = kit::str(codes);
  if (reply->error == WB_NET_CANCELLED) say(host, "mail_cancelled");
  open->mailer->open.erase(open->call.id);
  host->complete(host, open->call, &made);
  delete open;
}

void send(wb_sender* self, wb_call call, const wb_job* job) {
  auto& sender = mailer(self);
  const auto* const host = sender.host;
  const auto what = kit::view(job->target);
  const auto& smtp = kit::service<wb_smtp_service>(host, WB_SMTP_SERVICE);
  const wb_str recipients[] = {kit::str("first@example.org"), kit::str("second@example.org")};
  const auto text = kit::view(job->destination);
  const auto begin = text.find("smtp");
  wb_smtp_message message{};
  message.size = sizeof message;
  message.relay = kit::str(text.substr(begin, text.rfind('"') - begin));
  message.from = kit::str("sender@example.org");
  message.recipients = recipients;
  message.recipient_count = 2;
  message.data = job->payload;
  if (what == "login") {
    message.user = kit::str("me");
    message.password = kit::str("key");
  }
  if (what == "short") message.size = offsetof(wb_smtp_message, data);
  if (what == "unknown_tls") message.tls = 7;
  if (what == "no_recipients") message.recipients = nullptr;
  if (what == "endless") message.from.len = SIZE_MAX / 2;
  auto* const open = new Open{&sender, call};
  sender.open[call.id] = open;
  if (what == "without_done") smtp.submit(host, call, &message, nullptr, nullptr);
  if (what == "off_strand") {
    std::thread([&] {
      smtp.submit(host, call, &message, &answered, open);
      smtp.abort(host, 1);
    }).join();
  }
  if (what == "after_end") {
    const auto made = kit::outcome(WB_ACCEPTED);
    host->complete(host, call, &made);
  }
  open->submission = smtp.submit(host, call, what == "null" ? nullptr : &message, &answered, open);
  if (what == "abort") smtp.abort(host, open->submission);
  if (what == "left_open") {
    const auto made = kit::outcome(WB_ACCEPTED);
    host->complete(host, call, &made);
  }
}

void cancel(wb_sender* self, wb_call call) {
  auto& sender = mailer(self);
  if (const auto found = sender.open.find(call.id); found != sender.open.end())
    kit::service<wb_smtp_service>(sender.host, WB_SMTP_SERVICE).abort(sender.host, found->second->submission);
}

void destroy(wb_sender* self) { delete &mailer(self); }

constexpr wb_sender_vt kTable{&send, &cancel, &kit::no_extension, &destroy};

wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kTable;
  return reinterpret_cast<wb_sender*>(new Mailer{host, {}});
}

constexpr wb_action kMailer = kit::action("mailer", &create);
constexpr const wb_action* kActions[] = {&kMailer};
constexpr wb_plugin kPlugin = kit::plugin("test.mailer", kActions);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
