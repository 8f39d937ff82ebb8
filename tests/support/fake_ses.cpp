// AWS SES's answers.
#include "support/fake_ses.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

Reply ses_refusal(int status, const std::string& type, const std::string& message) {
  return {.status = status,
          .body = json{{"message", message}}.dump(),
          .headers = "x-amzn-ErrorType: " + type + ":http://internal.amazon.com/coral/com.amazon.coral.service/\r\n"};
}

std::string from_base64(const std::string& text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return {};
  out.resize(static_cast<std::size_t>(size) - (text.size() - text.find_last_not_of('=') - 1));
  return out;
}

}  // namespace

FakeSes::FakeSes() {
  gateway_.answer_by([this](const Received& request) { return reply_to(request); });
}

std::vector<FakeSes::Mail> FakeSes::mails() const {
  const std::lock_guard lock(mutex_);
  return mails_;
}

std::vector<std::string> FakeSes::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

void FakeSes::fail_next(int status, const std::string& type, const std::string& message) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(ses_refusal(status, type, message));
}

Reply FakeSes::reply_to(const Received& request) {
  const std::lock_guard lock(mutex_);
  const auto refused = [&](int status, const std::string& type, const std::string& message) {
    refusals_.push_back(type + ": " + message);
    return ses_refusal(status, type, message);
  };
  const auto fault =
      fault_in_signature({request.method, request.path, "", request.head, request.body}, account(), std::time(nullptr));
  if (!fault.empty()) return refused(403, "InvalidSignatureException", fault);
  if (!faults_.empty()) {
    auto reply = faults_.front();
    faults_.erase(faults_.begin());
    return reply;
  }
  if (request.method != "POST" || request.path != "/v2/email/outbound-emails")
    return refused(404, "UnknownOperationException", request.method + " " + request.path);
  const auto body = json::parse(request.body, nullptr, false);
  Mail mail;
  try {
    mail.from = body.at("FromEmailAddress");
    mail.recipients = body.at("Destination").at("ToAddresses").get<std::vector<std::string>>();
    mail.data = from_base64(body.at("Content").at("Raw").at("Data"));
  } catch (const json::exception& e) {
    return refused(400, "SerializationException", e.what());
  }
  if (mail.data.empty()) return refused(400, "BadRequestException", "Content.Raw.Data is not base64");
  if (mail.recipients.empty() || mail.recipients.size() > 50) return refused(400, "BadRequestException", "recipients");
  mails_.push_back(std::move(mail));
  return {.body = json{{"MessageId", "0102018f-" + std::to_string(mails_.size())}}.dump()};
}

}  // namespace waybill::testing
