// The plugins that send mail, with their settings: mail_settings.h and mail_sender.h.
#include "common/mail_sender.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/form_context.h"
#include "common/form_envelope.h"
#include "common/mail_message.h"
#include "common/mail_verdict.h"
#include "common/settings_reader.h"
#include "common/url_port.h"

namespace waybill::plugins {
namespace {

// Calls `wrong` for each problem; what is wrong keeps its default.
MailSettings read_mail_settings(std::string_view settings, const Wrong& wrong) {
  MailSettings out;
  std::string problem;
  const SettingsReader read(settings, wrong);
  if (!read.usable()) return out;
  if (auto from = parse_mailbox(read.text("from"), problem))
    out.from = std::move(*from);
  else
    wrong("/from", "from: " + problem);
  out.relay = read.text("relay", out.relay);
  const auto host = out.relay.find("://");
  const bool smtp = out.relay.substr(0, host) == "smtp" || out.relay.substr(0, host) == "smtps";
  if (!smtp || host == std::string::npos || host + 3 == out.relay.size() ||
      out.relay.find_first_of("/?#@ \t\r\n", host + 3) != std::string::npos)
    wrong("/relay", "relay must be smtp://host:port or smtps://host:port");
  else if (!has_good_port(out.relay))
    wrong("/relay", "relay: the port must be from 1 to 65535");
  out.user = read.text("user");
  const auto tls = read.text("tls", out.user.empty() ? "if_offered" : "required");
  if (tls == "required" || tls == "never")
    out.tls = tls == "never" ? plugin::Tls::never : plugin::Tls::required;
  else if (tls != "if_offered")
    wrong("/tls", "tls must be one of if_offered, required, never");
  out.password_secret = read.text("password_secret");
  if (out.user.empty() != out.password_secret.empty()) wrong("/user", "user and password_secret come together");
  out.link_ttl = read.number("link_ttl_seconds", 604'800, out.link_ttl);
  out.timeout = std::chrono::milliseconds(read.number("timeout_ms", 600'000, out.timeout.count()));
  return out;
}

}  // namespace

void check_mail_settings(std::string_view settings, plugin::Report& report) { read_mail_settings(settings, telling(report)); }

MailSettings mail_settings(std::string_view settings) { return read_mail_settings(settings, throw_wrong); }

void check_mail_destination(std::string_view destination, plugin::Report& report) {
  const auto action = read_form_action(destination, telling(report));
  if (action) check_envelope(*action, telling(report));
}

namespace {

Outcome refused(std::string_view reason, std::string why) {
  return Outcome::rejected(reason).reach(Reach::not_sent).detail(std::move(why));
}

std::optional<FormAction> action_of(plugin::Job job, std::string& problem) {
  return read_form_action(job.destination(), [&](const std::string&, const std::string& why) { problem = why; });
}

Json fields_of(const Form& form) {
  const auto* fields = field(form.data, "fields");
  return fields ? *fields : Json::object();
}

std::optional<Json> fields_of(plugin::Job job, std::string& problem) {
  const auto form = read_form(job.context(), job.payload(), problem);
  if (form) return fields_of(*form);
  return problem = "the submission " + problem, std::nullopt;
}

}  // namespace

AnyMailSender::AnyMailSender(plugin::Host host, std::string_view settings, MailTexts texts)
    : texts_(texts), settings_(mail_settings(settings)), writer_(host), smtp_(host.smtp()), timer_(host.timer()) {}

void AnyMailSender::compose(Call call, Job job) { call.complete(composed(job)); }

void AnyMailSender::send(Call call, Job job) {
  std::string problem;
  const auto action = action_of(job, problem);
  const auto fields = action && action->asks_fields() ? fields_of(job, problem) : std::optional(Json::object());
  const auto envelope = action && fields ? envelope_of(*action, *fields, settings_.from, problem) : std::nullopt;
  if (!envelope) {
    call.complete(refused("invalid_recipient", problem));
    return;
  }
  const auto recipients = envelope->recipients();
  auto tally = tally_from(job.progress(), recipients);
  plugin::Message message;
  message.recipients = still_to_reach(tally, recipients);
  if (message.recipients.empty()) {
    call.complete(Outcome::accepted().result(tally.json()));
    return;
  }
  message.relay = settings_.relay;
  message.tls = settings_.tls;
  message.user = settings_.user;
  message.password = settings_.password_secret;
  message.from = envelope->from.address;
  message.data = job.artifact();
  message.timeout = settings_.timeout;
  open_[call.id()] =
      smtp_.submit(call, message, [this, call, tally, recipients, asked = message.recipients](const SmtpReply& reply) {
        open_.erase(call.id());
        call.complete(judge_mail(reply, tally, asked, recipients));
      });
}

void AnyMailSender::cancel(Call call) {
  const auto found = open_.find(call.id());
  if (found != open_.end()) smtp_.abort(found->second);
}

Outcome AnyMailSender::composed(Job job) const {
  std::string problem;
  const auto form = read_form(job.context(), job.payload(), problem);
  if (!form) return malformed_form("the submission " + problem);
  const auto action = action_of(job, problem);
  auto envelope = action ? envelope_of(*action, fields_of(*form), settings_.from, problem) : std::nullopt;
  if (!envelope) return refused("invalid_recipient", problem);
  auto content = writer_.write(
      *form, {action->template_id, action->subject_template, texts_ == MailTexts::all, settings_.link_ttl, action->has_links()});
  if (auto* refusal = std::get_if<Outcome>(&content)) return std::move(*refusal);
  auto mail = write_mail({envelope->from,
                          std::move(envelope->to),
                          std::get<FormText>(std::move(content)),
                          std::string(job.idempotency_key()),
                          form->reference,
                          timer_.unix_seconds(),
                          {},
                          std::move(envelope->reply_to),
                          std::move(envelope->cc)});
  if (mail.size() > WB_MOST_ARTIFACT_BYTES)
    return refused("invalid_message", "the mail would have " + std::to_string(mail.size()) + " bytes, more than " +
                                          std::to_string(WB_MOST_ARTIFACT_BYTES));
  return Outcome::accepted().artifact("message/rfc822", std::move(mail));
}

}  // namespace waybill::plugins
