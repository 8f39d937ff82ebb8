// What is particular to the deliveries of organisations' channels.
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/utf8.h"
#include "senders/plugin_sender.h"
#include "services/sign.h"

namespace waybill {
namespace {

Outcome not_sent(Verdict verdict, std::string reason) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.reach = Reach::not_sent;
  outcome.reason = std::move(reason);
  return outcome;
}

}  // namespace

std::optional<Outcome> PluginSender::channel_refusal(const Job& job) const {
  if (!job.contract->is_of_channel()) return std::nullopt;
  if (!job.channel || job.channel->is_deleted) return not_sent(Verdict::rejected, kChannelDeleted);
  if (job.channel->is_disabled) return not_sent(Verdict::rejected, kChannelDisabled);
  return std::nullopt;
}

// What people look for first. It is the tenant's own destination's: nothing of it is the operator's.
std::string PluginSender::answer_json(const HttpResponse& response) {
  constexpr std::size_t kMaxBody = 1024;
  if (response.status == 0) return {};
  Json answer{{"status", response.status}, {"body", clean_text(response.body, kMaxBody)}, {"address", response.address}};
  if (response.first_byte) answer["firstByteMs"] = static_cast<double>(response.first_byte->count()) / 1000.0;
  return dump(answer);
}

std::shared_ptr<const Secrets> PluginSender::operators_secrets() const {
  const Job* const job = job_here();
  const bool for_tenant = job != nullptr && trust_of(*job) == Trust::tenant;
  return for_tenant ? nullptr : parts_.secrets->current();
}

bool PluginSender::sign(std::string_view name, std::span<const std::string_view> parts,
                        const std::function<void(const Mac&)>& sink) const {
  const Job* const job = job_here();
  if (job == nullptr || !job->channel) {
    const auto secrets = parts_.secrets->current();
    const auto* operators = secrets->signing_keys(name);
    if (operators == nullptr) return false;
    sign_hmac_sha256(operators->keys, parts, sink);
    keys_used_.note(job, operators->ids);
    return true;
  }
  const Channel& channel = *job->channel;
  if (name != channel.id) return false;  // a tenant cannot name the operator's secrets
  std::vector<Secret> keys;
  for (const auto* sealed : {&channel.secret, &channel.secondary}) {
    if (sealed->empty()) continue;
    const auto secret =
        parts_.vault->open(job->org, channel.key_id, channel.data_key, {job->org, channel.id, kSecretField}, *sealed);
    if (!secret) {
      parts_.log.error("channel.secret_not_opened", {{"channel", channel.id}, {"error", secret.error().what}});
      return false;
    }
    keys.push_back(channel.signs_with_text ? *secret : signing_key_of(*secret));
  }
  sign_hmac_sha256(keys, parts, sink);
  keys_used_.note(job, ids_of(keys));
  return true;
}

}  // namespace waybill
