// Action type happyfox_template: a form's submission as a ticket in HappyFox.
#include "happyfox_template/answer.h"
#include "happyfox_template/ticket.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

constexpr wb_reason kReasons[] = {wp::permanent("invalid_ticket"), wp::permanent("unknown_template"),
                                  wp::permanent("invalid_form"), wp::permanent("ticket_gone"), wp::reason("no_link_key")};

class HappyFox final : public wp::Sender, public wp::TellsStatus {
 public:
  HappyFox(wp::Host host, std::string_view settings)
      : settings_(happyfox::settings_from(settings)), writer_(host), http_(host.http()) {}

  void send(Call call, Job job) override {
    if (!settings_.configured()) {
      call.complete(Outcome::deferred("not_configured").detail("no account or no credentials of HappyFox are configured"));
    } else if (job.maybe_sent_before()) {
      search(call, job);
    } else {
      create(call, job);
    }
  }

  void status(Call call, Job job) override {
    const auto id = job.provider_ref();
    if (!settings_.configured() || !happyfox::is_category(id)) {
      call.complete(Outcome::transient(settings_.configured() ? "unknown_ticket" : "not_configured").reach(Reach::not_sent));
      return;
    }
    fetch(call, request("GET", "ticket/" + std::string(id) + '/'), [call](const Response& response) {
      if (response.error == NetError::none && response.status == 404)
        call.complete(Outcome::rejected("ticket_gone").code(404).detail("HappyFox has no such ticket"));
      else if (happyfox::answered_well(response))
        call.complete(Outcome::accepted().code(response.status));
      else
        call.complete(undecided_by(response));
    });
  }

  void cancel(Call call) override {
    const auto found = open_.find(call.id());
    if (found != open_.end()) http_.abort(found->second);
  }

 private:
  // A failure of a question decides nothing about the ticket.
  static Outcome undecided_by(const Response& response) {
    if (response.error == NetError::none && response.status / 100 == 4 && !is_passing(response.status))
      return happyfox::invalid_answer(response, "status " + std::to_string(response.status));
    return happyfox::judge_failure(response);
  }
  static bool is_passing(int status) { return status == 401 || status == 403 || status == 408 || status == 425 || status == 429; }

  // An earlier attempt may have made the ticket: then it is ours already.
  void search(Call call, Job job) {
    const auto marker = happyfox::marker_of(job.idempotency_key());
    auto asked = request("GET", "tickets/?status=_all&size=50&q=" + happyfox::search_query(settings_, marker));
    asked.max_response_bytes = 8 * 1024 * 1024;  // whole conversations come with it
    fetch(call, asked, [this, call, job, marker](const Response& response) {
      if (!happyfox::answered_well(response)) {
        call.complete(undecided_by(response).reach(Reach::not_sent));
        return;
      }
      const auto tickets = happyfox::found_tickets(response);
      if (!tickets) {
        call.complete(happyfox::invalid_answer(response, "the search was not answered with tickets").reach(Reach::not_sent));
        return;
      }
      for (const auto& ticket : *tickets)
        if (happyfox::is_ours(ticket, marker) && !happyfox::id_of(ticket).empty()) {
          call.complete(happyfox::created(ticket, response));
          return;
        }
      create(call, job);
    });
  }

  void create(Call call, Job job) {
    std::string problem;
    const auto form = read_form(job.context(), job.payload(), problem);
    if (!form) return end(call, malformed_form("the submission " + problem));
    const auto action = read_form_action(job.destination(), [&](const std::string&, const std::string& why) { problem = why; });
    if (!action || !happyfox::is_category(action->category))
      return end(call, malformed_form(action ? "the action has no happyfox_category" : problem));
    auto words =
        writer_.write(*form, {action->template_id, action->subject_template, true, settings_.link_ttl, action->has_links()});
    if (const auto* refusal = std::get_if<Outcome>(&words)) return end(call, *refusal);
    const auto ticket = happyfox::ticket_of(*form, std::get<FormText>(words), action->category, settings_,
                                            happyfox::marker_of(job.idempotency_key()), problem);
    if (!ticket) return end(call, malformed_form("the submission " + problem));
    auto asked = request("POST", "tickets/");
    asked.headers.push_back({"Content-Type", "application/json"});
    asked.body = ticket->dump();
    fetch(call, asked, [call](const Response& response) { call.complete(happyfox::judge_creation(response)); });
  }

  static void end(Call call, const Outcome& outcome) { call.complete(outcome); }

  Request request(const char* method, const std::string& path) const {
    Request out;
    out.method = method;
    out.url = settings_.base_url + "/api/1.1/json/" + path;
    out.headers = {{"Accept", "application/json"}};
    out.basic_user = settings_.api_key;
    out.basic_password = settings_.auth_code;
    out.timeout = settings_.timeout;
    out.max_response_bytes = 2 * 1024 * 1024;
    return out;
  }

  void fetch(Call call, const Request& asked, wp::FetchDone done) {
    open_[call.id()] = http_.fetch(call, asked, [this, call, done = std::move(done)](const Response& response) {
      open_.erase(call.id());
      done(response);
    });
  }

  happyfox::Settings settings_;
  FormWriter writer_;
  wp::Http http_;
  std::unordered_map<std::uint64_t, wp::FetchId> open_;
};

constexpr auto kHappyFox = wp::action<HappyFox>("happyfox_template")
                               .settings_schema(happyfox::kSettingsSchema)
                               .destination_schema(happyfox::kDestinationSchema)
                               .reasons(kReasons)
                               .validate_settings<happyfox::check_settings>()
                               .validate_destination<happyfox::check_destination>();
}  // namespace

WAYBILL_PLUGIN_NEEDING(2, "waybill.happyfox_template", "1.0.0", kHappyFox);
