// Does with secrets what its payload says. Not bad: it asks for all that a host must refuse, and for what it must do.
#include "poster.h"

namespace {
struct User : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    const auto what = kit::view(job->payload);
    if (what == "value") return tell_value(call);
    if (what == "rs256") return tell_signature(call, WB_SIGN_RSA_SHA256, "signer");
    if (what == "es256") return tell_signature(call, WB_SIGN_ECDSA_P256_SHA256, "signer");
    if (what == "no key") return tell_signature(call, WB_SIGN_RSA_SHA256, "key");
    if (what == "forget") {
      const auto& oauth2 = kit::service<wb_oauth2_service>(host_, WB_OAUTH2_SERVICE);
      const auto unknown = oauth2.find(host_, kit::str("nobody"));
      return tell(call, unknown == WB_OAUTH2_UNKNOWN_CLIENT && oauth2.forget(host_, kit::str("crm")) == WB_OAUTH2_OK,
                  "forgotten");
    }
    auto url = kit::url_in(kit::view(job->destination));
    if (what == "url") url += "/{secret:key}/x?a={secret:key}";
    std::string header = "1";
    if (what == "oauth2") header = "Bearer {oauth2:crm}";
    if (what.substr(0, 8) == "{secret:") header = what;  // what came with the submission
    const wb_header headers[] = {{kit::str("Authorization"), kit::str(header)}};
    const wb_body_secret secrets[] = {{6, kit::str("odd"), WB_SECRET_JSON, 0}, {8, kit::str("odd"), WB_SECRET_FORM, 0}};
    wb_http_request request{};
    request.size = sizeof request;
    request.method = kit::str("POST");
    request.url = kit::str(url);
    request.headers = headers;
    request.header_count = 1;
    request.body = kit::str(what == "literal" ? "{secret:key}" : what == "body" ? R"({"k":""})" : what);
    if (what == "body") {
      request.body_secrets = secrets;
      request.body_secret_count = 2;
    }
    auto* const pending = new Pending{this, call};
    http().fetch(host_, call, &request, &done, pending);
  }

 private:
  struct Pending {
    User* user;
    wb_call call;
  };
  static void done(void* user, const wb_http_response* response) {
    const auto pending = *static_cast<Pending*>(user);
    delete static_cast<Pending*>(user);
    auto made = pending.user->judge(*response);
    made.detail = response->error_text.len != 0 ? response->error_text : response->body;
    pending.user->complete(pending.call, made);
  }
  void tell(wb_call call, bool good, std::string_view detail) {
    auto made = good ? kit::outcome(WB_ACCEPTED) : kit::outcome(WB_REJECTED, WB_NOT_SENT, "invalid_request");
    made.detail = kit::str(detail);
    complete(call, made);
  }
  void tell_value(wb_call call) {
    const auto& secrets = kit::service<wb_secret_service>(host_, WB_SECRET_SERVICE);
    std::string values;
    const auto take = [](void* all, wb_str value) { static_cast<std::string*>(all)->append(kit::view(value)) += ' '; };
    const auto said = secrets.get(host_, kit::str("key"), take, &values);
    const auto unlisted = secrets.get(host_, kit::str("odd"), take, &values);
    tell(call, said == WB_SECRET_OK && unlisted == WB_SECRET_NOT_ALLOWED, values + std::to_string(said));
  }
  void tell_signature(wb_call call, wb_sign_algorithm algorithm, std::string_view name) {
    const auto& sign = kit::service<wb_sign2_service>(host_, WB_SIGN2_SERVICE);
    std::string hex;
    const auto take = [](void* out, const std::uint8_t* bytes, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i)
        for (const auto digit : {bytes[i] >> 4, bytes[i] & 15})
          static_cast<std::string*>(out)->push_back("0123456789abcdef"[digit]);
    };
    const wb_str parts[] = {kit::str("a"), kit::str("b")};
    const auto said = sign.sign(host_, algorithm, kit::str(name), parts, 2, take, &hex);
    tell(call, said == WB_SIGN_OK, said == WB_SIGN_OK ? hex : std::to_string(said));
  }
};
}  // namespace

KIT_PLUGIN(User, "uses_secrets");
