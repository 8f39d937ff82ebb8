// Copies values into memory that is lent.
#include "lender.h"

#include <algorithm>
#include <cstring>

#include "host.h"

namespace waybill::fake_host {
namespace {

using testkit::MailAnswer;

constexpr std::uint32_t kDefaultResponseBytes = 4096;
constexpr int kUnknownByte = 0xA5;

constexpr std::size_t size_of_job(std::uint32_t minor) {
  return minor == 0 ? offsetof(wb_job, artifact_type) : minor == 1 ? offsetof(wb_job, progress) : sizeof(wb_job);
}

// The answers to RCPT TO, in the order of the mail's recipients; without codes where the conversation did not get that far.
std::vector<MailAnswer::Recipient> recipients_of(const MailAnswer& answer, const std::vector<std::string>& addresses) {
  std::vector<MailAnswer::Recipient> out;
  const bool all_refused = answer.stage == WB_SMTP_RCPT && answer.code / 100 != 2;
  for (const auto& address : addresses) {
    MailAnswer::Recipient one{address, 0, {}};
    if (answer.error == WB_NET_OK && answer.stage >= WB_SMTP_RCPT) {
      one.code = all_refused ? answer.code : 250;
      one.text = all_refused ? answer.text : "2.1.5 ok";
      for (const auto& scripted : answer.recipients)
        if (scripted.address == address) one = scripted;
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

// A struct that begins with its size, and behind it what this host has more of.
template <class Struct>
const Struct* Lender::lend(Loan& loan, const Struct& value, Memory memory, std::size_t known_bytes) const {
  const auto whole = known_bytes + terms_.unknown_bytes;
  auto& block = loan.emplace_back(memory, whole);
  std::memset(block.data(), kUnknownByte, whole);
  std::memcpy(block.data(), &value, known_bytes);
  std::memcpy(block.data(), &whole, sizeof whole);
  block.seal();
  return reinterpret_cast<const Struct*>(block.data());
}

template <class Item>
const Item* Lender::list(Loan& loan, const std::vector<Item>& items) const {
  if (items.empty()) return nullptr;
  const std::string_view bytes(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(Item));
  return reinterpret_cast<const Item*>(loan.emplace_back(terms_.text, bytes).data());
}

wb_str Lender::text(Loan& loan, std::string_view text) const {
  if (text.empty()) return {nullptr, 0};
  return loan.emplace_back(terms_.text, text).str();
}

const wb_host* Lender::host(Loan& loan, Host& self, wb_str name) const {
  auto table = table_of(self, name, terms_.minor);
  table.host.size += terms_.unknown_bytes;
  auto& block = loan.emplace_back(terms_.text, sizeof table + terms_.unknown_bytes);
  std::memset(block.data(), kUnknownByte, block.size());
  std::memcpy(block.data(), &table, sizeof table);
  block.seal();
  return &reinterpret_cast<const HostTable*>(block.data())->host;
}

const wb_job* Lender::job(Loan& loan, const testkit::Job& job) const {
  wb_job raw{};
  raw.attempt = job.attempt;
  raw.maybe_sent_before = job.maybe_sent_before ? 1U : 0U;
  raw.deadline_ms = job.deadline_ms;
  raw.action_id = text(loan, job.action_id);
  raw.target = text(loan, job.target);
  raw.idempotency_key = text(loan, job.idempotency_key);
  raw.destination = text(loan, job.destination);
  raw.payload = text(loan, job.payload);
  raw.context = text(loan, job.context);
  raw.artifact_type = text(loan, job.artifact_type);
  raw.artifact = text(loan, job.artifact);
  raw.provider_ref = text(loan, job.provider_ref);
  raw.progress = text(loan, job.progress);
  return lend(loan, raw, terms_.job, size_of_job(terms_.minor));
}

const wb_failure_query* Lender::query(Loan& loan, Host& host, std::uint64_t call, std::int64_t since, std::string_view page) {
  auto& user = query_users_.emplace_back(QueryUser{&host, call});
  return lend(loan, query_of(user, since, text(loan, page)), terms_.text);
}

const wb_http_response* Lender::response(Loan& loan, const testkit::Answer& answer, std::uint32_t max_response_bytes) const {
  const std::size_t most = max_response_bytes != 0 ? max_response_bytes : kDefaultResponseBytes;
  std::vector<wb_header> headers;
  for (const auto& [name, value] : answer.headers) headers.push_back({text(loan, name), text(loan, value)});
  wb_http_response raw{};
  raw.error = answer.error;
  raw.reach = answer.reach;
  raw.status = answer.status;
  raw.truncated = answer.body.size() > most ? 1U : 0U;
  raw.retry_after_ms = answer.retry_after_ms;
  raw.headers = list(loan, headers);
  raw.header_count = headers.size();
  raw.body = text(loan, std::string_view(answer.body).substr(0, most));
  raw.error_text = text(loan, answer.error_text);
  return lend(loan, raw, terms_.text);
}

const wb_smtp_reply* Lender::reply(Loan& loan, const MailAnswer& answer, const std::vector<std::string>& addresses) const {
  const auto recipients = recipients_of(answer, addresses);
  wb_smtp_reply raw{};
  raw.error = answer.error;
  raw.reach = answer.reach;
  raw.stage = answer.stage;
  raw.code = answer.code;
  auto words = answer.text;
  const auto is_refused = [](const MailAnswer::Recipient& one) { return one.code / 100 != 2; };
  if (answer.stage == WB_SMTP_DATA && std::all_of(recipients.begin(), recipients.end(), is_refused)) {  // it never comes to DATA
    raw.stage = WB_SMTP_RCPT;
    raw.code = recipients.back().code;
    words = recipients.back().text;
  }
  std::vector<wb_smtp_recipient> codes;
  for (const auto& one : recipients) codes.push_back({one.code, 0, text(loan, one.text)});
  raw.text = text(loan, words);
  raw.recipients = list(loan, codes);
  raw.recipient_count = codes.size();
  raw.error_text = text(loan, answer.error_text);
  return lend(loan, raw, terms_.text);
}

}  // namespace waybill::fake_host
