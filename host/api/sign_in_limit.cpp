// A token bucket for each address.
#include "api/sign_in_limit.h"

#include <algorithm>
#include <cmath>

#include "http/peers.h"

namespace waybill {
namespace {

constexpr Seconds kTellPause{10};
constexpr int kMaxTold = 10;

}  // namespace

SignInLimit::Account& SignInLimit::account(const std::string& peer) {
  const auto key = http::peer_key(peer);
  const auto now = clock_.now();
  Account* known = accounts_.find(key);
  if (!known) return accounts_.put(key, {.left = per_minute_, .at = now});
  const double minutes = std::chrono::duration<double, std::ratio<60>>(now - known->at).count();
  known->left = std::min(per_minute_, known->left + minutes * per_minute_);
  known->at = now;
  return *known;
}

bool SignInLimit::is_over(const std::string& peer) { return account(peer).left < 1; }

Seconds SignInLimit::retry_after(const std::string& peer) {
  const double minutes = (1 - account(peer).left) / per_minute_;
  return std::max(Seconds{1}, Seconds{static_cast<Seconds::rep>(std::ceil(minutes * 60))});
}

void SignInLimit::count(const std::string& peer) {
  auto& one = account(peer);
  one.left = std::max(one.left - 1, -per_minute_);
}

std::optional<std::uint64_t> SignInLimit::tell(const std::string& peer) {
  auto& one = account(peer);
  ++one.untold;
  if (one.told && one.at - *one.told < kTellPause) return std::nullopt;
  if (!period_ || one.at - *period_ >= kTellPause) {
    period_ = one.at;
    told_ = 0;
  }
  if (told_ >= kMaxTold) return std::nullopt;
  ++told_;
  one.told = one.at;
  return std::exchange(one.untold, 0);
}

}  // namespace waybill
