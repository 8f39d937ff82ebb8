// The operator's OAuth2 clients, and the tokens that they have now.
#include "services/oauth2_tokens.h"

namespace waybill {

const OAuth2Client* OAuth2Tokens::find(std::string_view client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : &found->second;
}

std::shared_ptr<const Transport> OAuth2Tokens::transport_of(const std::string& client) const {
  return transport_ ? transport_(client) : nullptr;
}

std::optional<std::string> OAuth2Tokens::token(std::string_view client, Clock::Monotonic now) const {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find(client);
  if (found == tokens_.end() || found->second.good_until <= now) return std::nullopt;
  return found->second.token;
}

void OAuth2Tokens::save(const std::string& client, std::string token, Clock::Monotonic good_until) {
  const std::lock_guard lock(mutex_);
  tokens_[client] = {std::move(token), good_until};
}

void OAuth2Tokens::forget(std::string_view client) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tokens_.find(client); found != tokens_.end()) tokens_.erase(found);
}

void OAuth2Tokens::forget(std::string_view client, std::string_view token) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tokens_.find(client); found != tokens_.end() && found->second.token == token) tokens_.erase(found);
}

}  // namespace waybill
