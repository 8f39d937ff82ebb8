// Templates, links, Basic authentication and progress, on the fake host and through the wrapper.  H3
#include "puppet.h"
#include "waybill/plugin.hpp"

namespace waybill::testkit {
namespace {

class Texts : public TestKit {
 protected:
  plugin::Host host() { return plugin::Host(puppet_.host); }
};

TEST_F(Texts, ARegistryTemplateComesOutInItsParts) {
  host_.registry_template("contact", {{"subject", "Hello"}, {"html", "<p>Hello</p>"}});
  const auto parts = host().templates().render("contact", R"({"name":"Ann"})");
  ASSERT_TRUE(parts);
  EXPECT_EQ(*parts, (plugin::Templates::Parts{{"subject", "Hello"}, {"html", "<p>Hello</p>"}}));
  ASSERT_EQ(host_.renderings().size(), 1U);
  EXPECT_EQ(host_.renderings()[0].id, "contact");
  EXPECT_EQ(host_.renderings()[0].data, R"({"name":"Ann"})");
}

TEST_F(Texts, ATemplateThatIsNotThereIsNone) { EXPECT_FALSE(host().templates().render("contact", "{}")); }

TEST_F(Texts, AnOwnTextIsRenderedToo) {
  EXPECT_EQ(host().templates().render_text("To {{name}}", "{}"), "To {{name}}");
  EXPECT_EQ(host_.renderings().at(0).text, "To {{name}}");
}

TEST_F(Texts, ALinkLastsAsLongAsItIsAskedTo) {
  EXPECT_EQ(host().links().sign("gs://bucket/a.pdf", std::chrono::hours(1)), "https://signed.test/bucket/a.pdf?ttl=3600");
  EXPECT_THROW(static_cast<void>(host().links().sign("s3://bucket/a.pdf", std::chrono::hours(1))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(host().links().sign("gs://bucket/a.pdf", std::chrono::hours(24 * 8))), std::invalid_argument);
  host_.no_link_key();
  EXPECT_FALSE(host().links().sign("gs://bucket/a.pdf", std::chrono::hours(1)));
}

TEST_F(Texts, AHostWithoutThemSaysSo) {
  host_.remove_service(WB_TEMPLATE_SERVICE);
  host_.remove_service(WB_LINK_SERVICE);
  EXPECT_THROW(static_cast<void>(host().templates()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(host().links()), std::runtime_error);
}

TEST_F(Texts, BasicAuthenticationNamesSecretsAndIsFilledIn) {
  host_.secret("user", {"Aladdin"});
  host_.secret("password", {"open sesame"});
  host_.answer(Answer::http(200));
  puppet_.send = [&](wb_call call, const wb_job*) {
    plugin::Request request;
    request.url = "http://a.test/";
    request.basic_user = "user";
    request.basic_password = "password";
    host().http().fetch(plugin::Call(puppet_.host, call), request,
                        [this, call](const plugin::Response&) { puppet_.complete(call.id, outcome(WB_ACCEPTED, "")); });
  };
  EXPECT_EQ(sender_->attempt({}).verdict, WB_ACCEPTED);
  EXPECT_EQ(host_.requests().at(0).basic_password, "password");
  EXPECT_EQ(host_.requests().at(0).filled_header("Authorization"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");  // RFC 7617, 2
}

TEST_F(Texts, BasicAuthenticationWithAnUnknownSecretIsRefused) {
  host_.secret("user", {"Aladdin"});
  auto error = plugin::NetError::none;
  puppet_.send = [&](wb_call call, const wb_job*) {
    plugin::Request request;
    request.url = "http://a.test/";
    request.basic_user = "user";
    request.basic_password = "nobody";
    host().http().fetch(plugin::Call(puppet_.host, call), request, [&, call](const plugin::Response& response) {
      error = response.error;
      puppet_.complete(call.id, outcome(WB_TRANSIENT, "refused"));
    });
  };
  sender_->attempt({});
  EXPECT_EQ(error, plugin::NetError::refused);
}

TEST_F(Texts, AnAwsSignatureNamesSecretsThatTheHostMustHave) {  // J3
  host_.secret("key", {"AKIDEXAMPLE"});
  host_.secret("secret", {"s3cret"});
  auto error = plugin::NetError::none;
  auto sigv4 = plugin::SigV4{"eu-west-2", "queue", "key", "secret"};
  puppet_.send = [&](wb_call call, const wb_job*) {
    plugin::Request request;
    request.url = "http://a.test/";
    request.sigv4 = sigv4;
    host().http().fetch(plugin::Call(puppet_.host, call), request, [&, call](const plugin::Response& response) {
      error = response.error;
      puppet_.complete(call.id, outcome(WB_TRANSIENT, "refused"));
    });
  };
  host_.answer(Answer::http(200));
  sender_->attempt({});
  EXPECT_EQ(error, plugin::NetError::none);
  const auto& sent = host_.requests().at(0);
  EXPECT_EQ(sent.sigv4_region + '/' + sent.sigv4_service + '/' + sent.sigv4_key_id + '/' + sent.sigv4_secret_key,
            "eu-west-2/queue/key/secret");
  for (const auto& bad : {plugin::SigV4{"eu-west-2", "queue", "key", "nobody"}, plugin::SigV4{"", "queue", "key", "secret"}}) {
    sigv4 = bad;
    sender_->attempt({});
    EXPECT_EQ(error, plugin::NetError::refused);
  }
}

TEST_F(Texts, ATransientResultIsTheNextAttemptsProgress) {
  std::vector<std::string> seen;
  puppet_.send = [&](wb_call call, const wb_job* job) {
    seen.emplace_back(plugin::Job(job).progress());
    auto end = outcome(seen.size() < 3 ? WB_TRANSIENT : WB_ACCEPTED, "later");
    if (seen.size() == 1) end.result = str(R"({"done":1})");
    puppet_.complete(call.id, end);
  };
  sender_->deliver({}, 3);
  EXPECT_EQ(seen, (std::vector<std::string>{"", R"({"done":1})", R"({"done":1})"}));
}

}  // namespace
}  // namespace waybill::testkit
