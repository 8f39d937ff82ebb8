// Lends a plugin what it may read: the host's table, jobs, failure queries, answers and replies.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "block.h"
#include "waybill/testkit/calls.hpp"
#include "waybill/testkit/network.hpp"

namespace waybill::fake_host {

class Host;

using Loan = std::vector<Block>;  // the memory of what was lent: it is gone with the loan

struct LendingTerms {
  std::uint32_t minor = WB_ABI_MINOR;
  std::size_t unknown_bytes = 0;  // of fields that plugin.h does not know yet, at the end of every struct that has a size
  Memory job = Memory::exact;
  Memory text = Memory::exact;  // everything else, a job's strings included
};

struct QueryUser {  // what wb_failure_query::user points to
  Host* host;
  std::uint64_t call;
};

class Lender {
 public:
  explicit Lender(LendingTerms terms = {}) : terms_(terms) {}

  wb_str text(Loan& loan, std::string_view text) const;
  const wb_host* host(Loan& loan, Host& self, wb_str name) const;
  const wb_job* job(Loan& loan, const testkit::Job& job) const;
  const wb_failure_query* query(Loan& loan, Host& host, std::uint64_t call, std::int64_t since, std::string_view page);
  const wb_http_response* response(Loan& loan, const testkit::Answer& answer, std::uint32_t max_response_bytes) const;
  const wb_smtp_reply* reply(Loan& loan, const testkit::MailAnswer& answer, const std::vector<std::string>& recipients) const;

 private:
  template <class Struct>
  const Struct* lend(Loan& loan, const Struct& value, Memory memory, std::size_t known_bytes = sizeof(Struct)) const;
  template <class Item>
  const Item* list(Loan& loan, const std::vector<Item>& items) const;

  const LendingTerms terms_;
  std::deque<QueryUser> query_users_;  // kept to the end: a plugin may come back to a query late
};

}  // namespace waybill::fake_host
