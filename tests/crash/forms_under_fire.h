// Forms whose hosts are killed: who got what of each submission, and what must hold of that however often a host died.
#pragma once

#include <gtest/gtest.h>

#include "support/forms_world.h"

namespace waybill::testing {

inline constexpr auto kSearch = "/api/1.1/json/tickets/";
// Whom an action of form "story" writes to; "ticket" stands for HappyFox.
inline const std::map<std::string, int> kActionOf{
    {"a@x.test", 1}, {"b@x.test", 1}, {"c@x.test", 2}, {"d@x.test", 3}, {"ticket", 4}};

inline std::string header_of(const std::string& mail, const std::string& name) {
  const auto at = mail.find("\r\n" + name + ": ") + name.size() + 4;
  return mail.substr(at, mail.find("\r\n", at) - at);
}

class FormsUnderFire : public FormsWorld {
 protected:
  using Receipt = std::pair<std::string, std::string>;  // a submission, and who got something of it

  FormsUnderFire() {
    setup.forms["story.yaml"] = form_file(
        "story",
        {form_action(1, "email_template", "a@x.test, b@x.test", "template_id: hello, subject_template: \"From {{fields.name}}\""),
         form_action(2, "email_raw", "c@x.test"), form_action(3, "email_template", "d@x.test", "template_id: hello"),
         form_action(4, "happyfox_template", "support", "template_id: hello, happyfox_category: \"3\"")});
    tickets_at(gateway.url());
    gateway.by_default({.body = R"({"id": 7})"});
    gateway.script(kSearch, {{.body = R"({"data": []})"}});  // the worst that a search can do: it never finds ours
  }

  static nlohmann::json story(const std::string& id, bool finalize = true) {
    auto body = submission(id, "story", {{"name", id}, {"email", "visitor@x.test"}});
    body["finalize"] = finalize;
    return body;
  }

  // How often each has got what. All mails of a delivery are the same to the byte.
  std::map<Receipt, int> receipts() {
    std::map<Receipt, int> times;
    std::map<std::string, std::string> bytes;
    for (const auto& one : mail.received()) {
      const auto [first, is_new] = bytes.emplace(header_of(one.data, "Message-ID"), one.data);
      EXPECT_EQ(first->second, one.data);
      for (const auto& recipient : one.recipients) ++times[{header_of(one.data, "X-Submission"), recipient}];
    }
    for (const auto& request : gateway.received())
      if (request.method == "POST") ++times[{nlohmann::json::parse(request.body).at("name"), "ticket"}];
    return times;
  }

  // Holds on to what is recorded as accepted now: nothing more of it may come.
  void look() {
    const auto rows = sql().rows(
        "SELECT s.client_ref, address FROM waybill.submissions s JOIN (SELECT submission_id, result FROM waybill.deliveries "
        "UNION ALL SELECT submission_id, progress::jsonb FROM waybill.ready) d ON d.submission_id = s.id, "
        "jsonb_array_elements_text(d.result -> 'accepted') address "
        "UNION ALL SELECT s.client_ref, 'ticket' FROM waybill.submissions s JOIN waybill.deliveries d ON d.submission_id = s.id "
        "WHERE d.status = 'accepted' AND d.action_type = 'happyfox_template'");
    const auto times = receipts();
    for (const auto& row : rows) {
      const Receipt receipt{*row[0], *row[1]};
      ASSERT_TRUE(times.contains(receipt)) << receipt.second << " is recorded and got nothing of " << receipt.first;
      settled.emplace(receipt, times.at(receipt));
    }
  }

  // All that must hold when every submission has ended.
  void expect_all_is_well() {
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state <> 'routed'"), 0) << sql().text(
        "SELECT string_agg(s.client_ref || ' ' || s.state || ' ' || d.action_order || ' ' || d.status::text || ' ' || "
        "coalesce(d.reason, ''), ', ') FROM waybill.submission_states s JOIN waybill.deliveries d ON d.submission_id = s.id "
        "WHERE s.state <> 'routed'");
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries WHERE status <> 'accepted'"), 0);
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready"), 0);
    EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts a JOIN waybill.attempts b USING (delivery_id) "
                           "WHERE a.outcome = 'accepted' AND b.number > a.number"),
              0);
    std::map<std::pair<std::string, int>, int> hits;  // kills that hit an attempt of an action
    for (const auto& row :
         sql().rows("SELECT s.client_ref, d.action_order, count(a.*) FROM waybill.submissions s JOIN waybill.deliveries d ON "
                    "d.submission_id = s.id LEFT JOIN waybill.attempts a ON a.delivery_id = d.id AND a.outcome = 'unknown' "
                    "GROUP BY 1, 2")) {
      const auto hit = std::stoi(*row[2]);
      EXPECT_LE(hit, kills) << *row[0];
      hits.emplace(std::pair{*row[0], std::stoi(*row[1])}, hit);
    }
    const auto times = receipts();
    for (const auto& [receipt, count] : times)
      EXPECT_LE(count, 1 + hits.at({receipt.first, kActionOf.at(receipt.second)})) << receipt.first << " " << receipt.second;
    for (const auto& [receipt, count] : settled)
      EXPECT_EQ(times.at(receipt), count) << receipt.second << " got " << receipt.first << " again";
    EXPECT_EQ(times.size(), kActionOf.size() * static_cast<std::size_t>(sql().number("SELECT count(*) FROM waybill.submissions")))
        << "everybody got something of each";
  }

  std::map<Receipt, int> settled;  // what came of that which is recorded as accepted
  int kills = 0;
};

}  // namespace waybill::testing
