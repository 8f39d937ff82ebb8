// AWS SES, API v2, as far as sending goes: checks signatures and schema, keeps the mails.
#pragma once

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/fake_gateway.h"
#include "support/sigv4.h"

namespace waybill::testing {

// Safe from any thread.
class FakeSes {
 public:
  FakeSes();
  std::string url() const { return gateway_.url(); }
  static AwsAccount account() { return {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-west-2", "ses"}; }

  struct Mail {
    std::string from;                     // of the envelope
    std::vector<std::string> recipients;  // of the envelope
    std::string data;                     // as the MIME message came
  };
  std::vector<Mail> mails() const;
  std::vector<std::string> refusals() const;  // what was said against requests
  void fail_next(int status, const std::string& type, const std::string& message);

 private:
  Reply reply_to(const Received& request);

  mutable std::mutex mutex_;
  std::vector<Mail> mails_;
  std::vector<std::string> refusals_;
  std::vector<Reply> faults_;
  FakeGateway gateway_;  // last: its threads use the rest
};

}  // namespace waybill::testing
