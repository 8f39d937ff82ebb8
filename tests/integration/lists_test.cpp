// Lists over HTTP: pages, filters, what is refused, and whose rows they hold.  D5
#include <gtest/gtest.h>

#include <algorithm>

#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class ListsOverHttp : public FormsWorld {
 protected:
  void with_intents() {  // before the host is first used
    setup.plugins = {"email_template", "email_raw", "happyfox_template", "webhook", "sms", "push"};
    setup.registry = registry_of(standard_targets(gateway.url()));
  }
  json page(const std::string& path) {
    const auto response = client().get(path);
    EXPECT_EQ(response.status, 200) << path << ": " << response.body;
    return response.json();
  }
  // Of all pages behind each other, each with at most two items.
  Words pages(const std::string& path, const char* field) {
    Words all;
    std::string cursor;
    do {
      const auto one = page(path + (path.find('?') == std::string::npos ? "?" : "&") + "limit=2" +
                            (cursor.empty() ? "" : "&cursor=" + cursor));
      EXPECT_LE(one.at("items").size(), 2u);
      for (const auto& item : one.at("items")) all.push_back(item.at(field));
      cursor = word(one, "next");
    } while (!cursor.empty());
    return all;
  }
  std::string refusal(const std::string& path) {
    const auto response = client().get(path);
    EXPECT_EQ(response.status, 400) << path << ": " << response.body;
    return response.json().at("error").at("message");
  }
};

// D5
TEST_F(ListsOverHttp, SubmissionsArePagedAndFiltered) {
  for (const char* id : {"s-1", "s-2", "s-3"}) hand_in(submission(id, "one"));
  auto open = submission("s-4", "three");
  open["finalize"] = false;
  hand_in(open);
  for (const char* id : {"s-1", "s-2", "s-3"}) wait_for_form(id);
  EXPECT_EQ(pages("/v1/submissions", "submissionId"), (Words{"s-4", "s-3", "s-2", "s-1"}));
  EXPECT_EQ(pages("/v1/submissions?formId=one", "submissionId"), (Words{"s-3", "s-2", "s-1"}));
  EXPECT_EQ(pages("/v1/submissions?status=received", "submissionId"), Words{"s-4"});
  EXPECT_EQ(pages("/v1/submissions?formId=one&status=routed", "submissionId").size(), 3u);
  EXPECT_EQ(pages("/v1/submissions?formId=one&status=failed", "submissionId"), Words{});
  const auto second = submission_of("s-2").at("createdAt").get<std::string>();
  EXPECT_EQ(pages("/v1/submissions?since=" + second, "submissionId"), (Words{"s-4", "s-3", "s-2"}));
  EXPECT_EQ(pages("/v1/submissions?until=" + second, "submissionId"), Words{"s-1"});
  const auto first = page("/v1/submissions?formId=three").at("items").at(0);
  EXPECT_EQ(first, (json{{"submissionId", "s-4"},
                         {"formId", "three"},
                         {"status", "received"},
                         {"reason", nullptr},
                         {"createdAt", submission_of("s-4").at("createdAt")},
                         {"completedAt", nullptr}}));
}

// D5
TEST_F(ListsOverHttp, IntentsArePagedAndFiltered) {
  with_intents();
  gateway.by_default(Reply::accept());
  for (const char* id : {"i-1", "i-2", "i-3"}) post_intent(client(), sms_intent(id, "sms.once"), 30);
  gateway.by_default(Reply::http_error(500));
  post_intent(client(), sms_intent("i-4", "sms.once"), 30);
  post_intent(client(), sms_intent("i-5", "sms.patient"));
  EXPECT_EQ(pages("/v1/intents", "intentId"), (Words{"i-5", "i-4", "i-3", "i-2", "i-1"}));
  EXPECT_EQ(pages("/v1/intents?target=sms.once&status=accepted", "intentId"), (Words{"i-3", "i-2", "i-1"}));
  EXPECT_EQ(pages("/v1/intents?status=exhausted", "intentId"), Words{"i-4"});
  EXPECT_EQ(pages("/v1/intents?status=pending", "intentId"), Words{"i-5"});
  EXPECT_EQ(page("/v1/intents?target=sms.patient").at("items").at(0), get_intent(client(), "i-5"));
}

// D5
TEST_F(ListsOverHttp, ABadFilterIsRefusedByName) {
  for (const std::string list : {"/v1/intents", "/v1/submissions"}) {
    EXPECT_EQ(refusal(list + "?status=done").substr(0, 7), "status ");
    EXPECT_EQ(refusal(list + "?since=yesterday").substr(0, 6), "since ");
    EXPECT_EQ(refusal(list + "?until=1").substr(0, 6), "until ");
    EXPECT_EQ(refusal(list + "?since=2027-01-01T00:00:00Z&until=2026-01-01T00:00:00Z"), "until must be later than since");
    EXPECT_EQ(refusal(list + "?limit=0").substr(0, 6), "limit ");
    EXPECT_EQ(refusal(list + "?limit=501").substr(0, 6), "limit ");
    EXPECT_EQ(refusal(list + "?cursor=x").substr(0, 7), "cursor ");
  }
  EXPECT_EQ(refusal("/v1/intents?target=a%00b").substr(0, 7), "target ");
  EXPECT_EQ(refusal("/v1/submissions?formId=a%00b").substr(0, 7), "formId ");
  EXPECT_EQ(refusal("/v1/submissions?pipeline=p&since=2026-01-01T00:00:00Z").substr(0, 6), "since ");
}

// T21: a filter with a typo would answer everything
TEST_F(ListsOverHttp, AnUnknownOrUnreadableQueryParameterIsRefusedOnEveryRoute) {
  for (const char* path : {"/v1/intents", "/v1/submissions", "/v1/dead", "/v1/stats", "/orgs", "/orgs/default/deliveries",
                           "/orgs/default/channels", "/orgs/default/alert-rules", "/readyz", "/metrics", "/v1/intents/x/history"})
    EXPECT_EQ(refusal(path + std::string("?chanel_id=1")).substr(0, 44), "there is no query parameter \"chanel_id\" here")
        << path;
  for (const char* query :
       {"/v1/intents?cursor=%ff", "/v1/intents?target=%ff", "/v1/submissions?pipeline=%ff", "/v1/submissions?cursor=%ff",
        "/v1/submissions?reference=%00", "/v1/dead?reason=%ff", "/v1/dead?cursor=%ff", "/orgs?cursor=%ff",
        "/orgs/default/deliveries?cursor=%ff", "/orgs/default/channels?after=%ff", "/v1/dead?id=%zz"})
    EXPECT_EQ(client().get(query).status, 400) << query;
}

// T21: `limit=` is no number. A text that is empty says as little as none
TEST_F(ListsOverHttp, AnEmptyValueIsRefusedWhereItIsMoreThanAText) {
  for (const char* query : {"/v1/intents?limit=",
                            "/v1/intents?status=",
                            "/v1/intents?since=",
                            "/v1/intents?cursor=",
                            "/v1/submissions?until",
                            "/v1/submissions?pipeline=p&limit=",
                            "/v1/submissions?pipeline=p&status=",
                            "/v1/submissions?reference=r&cursor=",
                            "/v1/dead?limit=",
                            "/v1/dead?before=",
                            "/v1/dead?id=",
                            "/v1/dead?replayed=",
                            "/v1/dead?cursor=",
                            "/orgs?limit=",
                            "/orgs?cursor=",
                            "/orgs/default/deliveries?limit=",
                            "/orgs/default/deliveries?rule_id=",
                            "/orgs/default/deliveries?status=",
                            "/orgs/default/deliveries?cursor=",
                            "/orgs/default/alert-rules?cursor="})
    EXPECT_EQ(client().get(query).status, 400) << query;
  for (const char* query : {"/v1/intents?target=", "/v1/submissions?pipeline=&formId=&reference=&state=",
                            "/v1/dead?reference=&formId=&reason=", "/orgs/default/channels?after="})
    EXPECT_EQ(client().get(query).status, 200) << query;
}

// D5: two readers of one request could take two values for it
TEST_F(ListsOverHttp, AQueryParameterGivenTwiceIsRefusedOnEveryRoute) {
  for (const char* path :
       {"/v1/intents", "/v1/submissions", "/v1/dead", "/v1/stats", "/orgs", "/readyz", "/v1/intents/x/history"}) {
    EXPECT_EQ(refusal(path + std::string("?limit=1&reference=a&limit=1")), "the query has the parameter \"limit\" twice") << path;
    EXPECT_EQ(refusal(path + std::string("?limit=1&%6cimit=2")), "the query has the parameter \"limit\" twice") << path;
  }
  const auto posted = client().request("POST", "/v1/intents?waitSeconds=0&waitSeconds=1", sms_intent("i-1", "sms.once").dump());
  EXPECT_EQ(posted.status, 400) << posted.body;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
  EXPECT_EQ(client().get("/v1/submissions?&limit=1&").status, 200);
  EXPECT_EQ(client()
                .request("POST", "/ui/history", "intentId=a&intentId=b", {{"Content-Type", "application/x-www-form-urlencoded"}})
                .status,
            400);
}

// D5 S8: a token for some targets lists what it could read one by one
TEST_F(ListsOverHttp, ATokenWithTargetsListsTheirIntentsOnly) {
  with_intents();
  setup.auth = "tokens";
  gateway.by_default(Reply::accept());
  const auto token = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"token", "create"});
    const auto made = installation().command(arguments);
    HttpClient one(host().port());
    one.authorize(made.out.substr(0, made.out.find('\n')));
    return one;
  };
  auto all = token({"all"}), sms = token({"sms", "--target", "sms.once"});
  post_intent(all, sms_intent("mine", "sms.once"), 30);
  post_intent(all, sms_intent("theirs", "sms.patient"), 30);
  const auto refs = [](const HttpResponse& response) {
    Words words;
    const auto body = response.json();
    for (const auto& item : body.at("items")) words.push_back(item.at("intentId"));
    return words;
  };
  EXPECT_EQ(refs(all.get("/v1/intents")), (Words{"theirs", "mine"}));
  EXPECT_EQ(refs(sms.get("/v1/intents")), Words{"mine"});
  EXPECT_EQ(refs(sms.get("/v1/intents?target=sms.once")), Words{"mine"});
  EXPECT_EQ(sms.get("/v1/intents?target=sms.patient").status, 403);
  EXPECT_EQ(sms.get("/v1/submissions").status, 403);
}

}  // namespace
}  // namespace waybill::testing
