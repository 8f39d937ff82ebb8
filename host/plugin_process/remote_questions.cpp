// Questions of a plugin's process.
#include "plugin_process/remote_questions.h"

#include <deque>

#include "plugin_protocol/messages.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill::plugin_process {
namespace {

template <class Service>
const Service& service(const wb_host& host, const char* id) {
  return *static_cast<const Service*>(host.get_service(&host, borrow(id)));
}

// What services give, kept until the answer is written.
struct Values {
  std::deque<std::string> texts;

  void add(std::string_view text) { texts.emplace_back(text); }
  static void take_bytes(void* self, const std::uint8_t* bytes, std::size_t size) {
    static_cast<Values*>(self)->add({reinterpret_cast<const char*>(bytes), size});
  }
  static void take_text(void* self, wb_str text) { static_cast<Values*>(self)->add({text.ptr, text.len}); }
  static void take_part(void* self, wb_str part, wb_str rendered) {
    take_text(self, part);
    take_text(self, rendered);
  }
};

std::int32_t ask(const wb_host& host, const Sign& asked, Values& values) {
  return service<wb_sign_service>(host, WB_SIGN_SERVICE)
      .hmac_sha256(&host, asked.secret, asked.parts.data(), asked.parts.size(), &Values::take_bytes, &values);
}
std::int32_t ask(const wb_host& host, const Signature& asked, Values& values) {
  return service<wb_sign2_service>(host, WB_SIGN2_SERVICE)
      .sign(&host, asked.algorithm, asked.secret, asked.parts.data(), asked.parts.size(), &Values::take_bytes, &values);
}
std::int32_t ask(const wb_host& host, const SecretValue& asked, Values& values) {
  return service<wb_secret_service>(host, WB_SECRET_SERVICE).get(&host, asked.name, &Values::take_text, &values);
}
std::int32_t ask(const wb_host& host, const Render& asked, Values& values) {
  return service<wb_template_service>(host, WB_TEMPLATE_SERVICE)
      .render(&host, asked.template_id, asked.data, &Values::take_part, &values);
}
std::int32_t ask(const wb_host& host, const RenderText& asked, Values& values) {
  return service<wb_template_service>(host, WB_TEMPLATE_SERVICE)
      .render_text(&host, asked.text, asked.data, &Values::take_part, &values);
}
std::int32_t ask(const wb_host& host, const Link& asked, Values& values) {
  return service<wb_link_service>(host, WB_LINK_SERVICE)
      .sign(&host, asked.object, asked.ttl_seconds, &Values::take_text, &values);
}
std::int32_t ask(const wb_host& host, const FindClient& asked, Values&) {
  return service<wb_oauth2_service>(host, WB_OAUTH2_SERVICE).find(&host, asked.client);
}
std::int32_t ask(const wb_host& host, const ForgetToken& asked, Values&) {
  return service<wb_oauth2_service>(host, WB_OAUTH2_SERVICE).forget(&host, asked.client);
}
std::int32_t ask(const wb_host& host, const CountFirst& asked, Values&) {
  return service<wb_counter_service>(host, WB_COUNTER_SERVICE).add(&host, asked.name, asked.by);
}

template <class Question>
bool answered(const wb_host& host, std::string_view body, std::string& answer) {
  Question asked;
  if (!take_message(body, asked)) return false;
  Values values;
  Answer made{.status = ask(host, asked, values), .values = {}};
  for (const auto& text : values.texts) made.values.push_back(borrow(text));
  put_frame(answer, made);
  return true;
}

}  // namespace

bool call_of_question(std::uint32_t kind, std::string_view body, std::uint64_t& call) {
  call = 0;
  switch (static_cast<Kind>(kind)) {
    case Kind::sign:
    case Kind::signature:
    case Kind::secret: {
      Reader reader(body);
      reader(call);
      return reader.is_good();
    }
    default:
      return true;
  }
}

bool answer_question(const wb_host& host, std::uint32_t kind, std::string_view body, std::string& answer) {
  switch (static_cast<Kind>(kind)) {
    case Kind::sign:
      return answered<Sign>(host, body, answer);
    case Kind::signature:
      return answered<Signature>(host, body, answer);
    case Kind::secret:
      return answered<SecretValue>(host, body, answer);
    case Kind::render:
      return answered<Render>(host, body, answer);
    case Kind::render_text:
      return answered<RenderText>(host, body, answer);
    case Kind::link:
      return answered<Link>(host, body, answer);
    case Kind::find_client:
      return answered<FindClient>(host, body, answer);
    case Kind::forget_token:
      return answered<ForgetToken>(host, body, answer);
    case Kind::count_first:
      return answered<CountFirst>(host, body, answer);
    default:
      return false;
  }
}

}  // namespace waybill::plugin_process
