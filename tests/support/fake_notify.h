// GOV.UK Notify as far as e-mail goes: tokens, schema, templates, statuses and pages as its API documentation has them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/fake_gateway.h"

namespace waybill::testing {

// Safe from any thread.
class FakeNotify {
 public:
  static constexpr const char* kService = "8b3aa916-ec82-434e-b0c5-d5d9b371d6a3";
  static constexpr const char* kKey = "1b1c4b86-7f9c-4a1b-9c8d-2f8f0c1d9e11";
  static constexpr const char* kTemplate = "f33517ff-2a88-4f6e-b855-c550268ce08a";  // wants ((firstName))

  FakeNotify();
  std::string url() const { return gateway_.url(); }
  static std::string api_key() { return std::string("live-key-") + kService + '-' + kKey; }

  // Newest first, as GET /v2/notifications lists them.
  std::vector<nlohmann::json> notifications() const;
  void add(const std::string& reference, const std::string& status);  // one that was sent before
  // The next requests are met with these, whatever they are: {"status_code", "errors": [{"error", "message"}]}.
  void fail_next(int status, const std::string& error, const std::string& message, int times = 1);
  std::size_t requests() const { return gateway_.count(); }
  std::vector<Received> received() const { return gateway_.received(); }

 private:
  Reply reply_to(const Received& request);
  Reply send(const Received& request);
  Reply list(const std::string& query) const;
  nlohmann::json notification(const std::string& reference, const std::string& address, const std::string& status);

  mutable std::mutex mutex_;
  std::vector<nlohmann::json> notifications_;  // oldest first
  std::vector<Reply> faults_;
  FakeGateway gateway_;  // last: its threads use the rest
};

}  // namespace waybill::testing
