// The C functions behind wb_host, its services and its failure queries.
#include "host.h"

#include "text.h"

namespace waybill::fake_host {
namespace {

Host& self_of(const wb_host* host) { return Host::of(host); }

std::uint64_t fetch(const wb_host* host, wb_call call, const wb_http_request* request, wb_http_done done, void* user) {
  return self_of(host).fetch(call, request, done, user);
}
void abort_fetch(const wb_host* host, std::uint64_t number) { self_of(host).abort(Protocol::http, number); }

std::uint64_t submit(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user) {
  return self_of(host).submit(call, message, done, user);
}
void abort_submission(const wb_host* host, std::uint64_t number) { self_of(host).abort(Protocol::smtp, number); }

std::int64_t monotonic_ms(const wb_host* host) { return self_of(host).monotonic_ms(); }
std::int64_t unix_seconds(const wb_host* host) { return self_of(host).unix_seconds(); }
std::uint64_t after(const wb_host* host, wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) {
  return self_of(host).after(call, delay_ms, fire, user);
}
void cancel_timer(const wb_host* host, std::uint64_t number) { self_of(host).cancel_timer(number); }

std::int32_t sign(const wb_host* host, wb_str secret, const wb_str* parts, std::size_t count, MacSink sink, void* user) {
  return self_of(host).sign(secret, parts, count, sink, user);
}

std::int32_t signature(const wb_host* host, wb_sign_algorithm algorithm, wb_str secret, const wb_str* parts, std::size_t count,
                       MacSink sink, void* user) {
  return self_of(host).signature(algorithm, secret, parts, count, sink, user);
}

std::int32_t secret_value(const wb_host* host, wb_str name, ValueSink sink, void* user) {
  return self_of(host).read_secret(name, sink, user);
}

std::int32_t find_client(const wb_host* host, wb_str client) { return self_of(host).find_client(client); }
std::int32_t forget_token(const wb_host* host, wb_str client) { return self_of(host).forget_token(client); }

std::int32_t render(const wb_host* host, wb_str template_id, wb_str data, wb_template_part part, void* user) {
  return self_of(host).render(template_id, data, part, user);
}
std::int32_t render_text(const wb_host* host, wb_str text, wb_str data, wb_template_part part, void* user) {
  return self_of(host).render_text(text, data, part, user);
}

std::int32_t link(const wb_host* host, wb_str object, std::int64_t ttl_seconds, UrlSink sink, void* user) {
  return self_of(host).link(object, ttl_seconds, sink, user);
}

constexpr wb_http_service kHttp = {&fetch, &abort_fetch};
constexpr wb_smtp_service kSmtp = {&submit, &abort_submission};
constexpr wb_timer_service kTimer = {&monotonic_ms, &unix_seconds, &after, &cancel_timer};
constexpr wb_sign_service kSign = {&sign};
constexpr wb_sign2_service kSign2 = {&signature};
constexpr wb_secret_service kSecret = {&secret_value};
constexpr wb_oauth2_service kOAuth2 = {&find_client, &forget_token};
constexpr wb_template_service kTemplate = {&render, &render_text};
constexpr wb_link_service kLink = {&link};

constexpr struct {
  std::string_view id;
  const void* table;
} kServices[] = {{WB_HTTP_SERVICE, &kHttp},       {WB_SMTP_SERVICE, &kSmtp},         {WB_TIMER_SERVICE, &kTimer},
                 {WB_SIGN_SERVICE, &kSign},       {WB_TEMPLATE_SERVICE, &kTemplate}, {WB_LINK_SERVICE, &kLink},
                 {WB_SIGN2_SERVICE, &kSign2},     {WB_SECRET_SERVICE, &kSecret},     {WB_OAUTH2_SERVICE, &kOAuth2},
                 {WB_COUNTER_SERVICE, &kCounters}};

const void* get_service(const wb_host* host, wb_str id) {
  for (const auto& service : kServices)
    if (service.id == view(id)) return self_of(host).offers(service.id) ? service.table : nullptr;
  return nullptr;
}

std::int32_t complete(const wb_host* host, wb_call call, const wb_outcome* outcome) {
  return self_of(host).complete(call, outcome);
}

void log(const wb_host* host, wb_call call, std::int32_t level, wb_str text, const wb_field* fields, std::size_t count) {
  self_of(host).log(call, level, text, fields, count);
}

void take_failure(void* user, const wb_failure* failure) {
  const auto& query = *static_cast<const QueryUser*>(user);
  query.host->take_failure(query.call, failure);
}

void take_next_page(void* user, wb_str page) {
  const auto& query = *static_cast<const QueryUser*>(user);
  query.host->take_next_page(query.call, page);
}

}  // namespace

Host& Host::of(const wb_host* table) {
  return **reinterpret_cast<Host* const*>(reinterpret_cast<const char*>(table) - offsetof(HostTable, host));
}

Host::Host(wb_str name, LendingTerms terms, TieOrder ties)
    : lender_(terms), timeline_(ties), table_(lender_.host(table_loan_, *this, name)) {}

void Host::enter(const std::string&, std::uint64_t, const std::function<void()>& body) { body(); }

HostTable table_of(Host& self, wb_str name, std::uint32_t minor) {
  return {&self, {sizeof(wb_host), minor, 0, name, {"1", 1}, &get_service, &complete, &log}};
}

wb_failure_query query_of(QueryUser& user, std::int64_t since, wb_str page) {
  return {sizeof(wb_failure_query), since, page, &take_failure, &take_next_page, &user};
}

}  // namespace waybill::fake_host
