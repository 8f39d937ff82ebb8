// Handling of forms, from the parsed request to the reply.
#include "api/form_routes.h"

#include "api/error_reply.h"
#include "api/form_json.h"
#include "api/json_envelope.h"
#include "api/pipeline_json.h"
#include "api/stored_span.h"

namespace waybill {
namespace {

constexpr std::string_view kNotCarriedOut = "form.not_carried_out";
constexpr SubmitWords kWords{.reference = "submissionId", .content = "form or content", .not_stored = kNotCarriedOut};

class Forms {
 public:
  explicit Forms(FormParts parts) : parts_(parts) {}

  void post(http::Request request, http::Reply reply) const {
    auto form = read_form_request(request.body);
    if (!form) return reply(http::invalid_request(form.error().what));
    form->org = request.principal.org;
    const auto taking = take_in(parts_.tracer, request.trace);
    form->trace = trace_of(taking);
    const auto registry = parts_.registry.current();
    if (const Form* known = registry->find_form(form->form_id)) form->form = std::shared_ptr<const Form>(registry, known);
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this, taking, form = std::move(*form)](FormSession& session, const http::Request&, const http::Reply& answered) {
          const auto answer = parts_.intake.submit(*session.forms, form);
          if (answer) note_stored(parts_.tracer, taking, "form", *answer);
          answered(submitted(answer));
        });
  }

  void finalize(http::Request request, http::Reply reply) const {
    parts_.pool.ask(
        std::move(request), std::move(reply),
        [this](FormSession& session, const http::Request& asked, const http::Reply& answered) {
          const std::string& id = asked.parameters.at("id");
          answered(moved(parts_.intake.finalize(*session.forms, asked.principal.org, id), 202, "submission \"" + id + "\""));
        });
  }

  void scan(http::Request request, http::Reply reply) const {
    const auto result = read_scan_result(request.body);
    if (!result) return reply(http::invalid_request(result.error().what));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, result = *result](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const std::string& id = asked.parameters.at("id");
                      const auto state =
                          parts_.intake.scan(*session.forms, asked.principal.org, id, result, asked.principal.actor());
                      answered(moved(state, 200, "attachment \"" + id + "\""));
                    });
  }

  void get(http::Request request, http::Reply reply) const {
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this](FormSession& session, const http::Request& asked, const http::Reply& answered) {
                      const std::string& id = asked.parameters.at("id");
                      const auto found = session.forms->find(asked.principal.org, id);
                      if (!found) return answered(error_reply(found.error(), parts_.log, kNotCarriedOut));
                      if (*found) return answered(http::json_response(200, form_view_json(**found)));
                      const auto walking = session.pipelines->find(asked.principal.org, id);
                      if (!walking) return answered(error_reply(walking.error(), parts_.log, kNotCarriedOut));
                      answered(*walking ? http::json_response(200, pipeline_view_json(**walking, parts_.ids))
                                        : missing("submission \"" + id + "\""));
                    });
  }

 private:
  http::Response submitted(const Result<SubmitResult>& answer) const {
    if (auto refusal = submit_refusal(answer, kWords, parts_.log)) return std::move(*refusal);
    if (answer->how == SubmitResult::How::created) parts_.metrics.submission("received");
    return http::json_response(answer->how == SubmitResult::How::created ? 201 : 200,
                               form_state_json({answer->view.client_ref, answer->view.state}));
  }

  http::Response moved(const Result<std::optional<FormState>>& state, int status, const std::string& what) const {
    if (!state) return error_reply(state.error(), parts_.log, kNotCarriedOut);
    return *state ? http::json_response(status, form_state_json(**state)) : missing(what);
  }

  static http::Response missing(const std::string& what) { return http::error_response(404, "not_found", "there is no " + what); }

  FormParts parts_;
};

}  // namespace

std::vector<http::Route> form_routes(FormParts parts) {
  const auto forms = std::make_shared<const Forms>(parts);
  const auto route = [&](const char* method, const char* path, void (Forms::*handle)(http::Request, http::Reply) const) {
    return http::Route{method, path, http::Role::member, [forms, handle](http::Request request, http::Reply reply) {
                         (*forms.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {route("POST", "/v1/submissions", &Forms::post),
          without_fields(route("POST", "/v1/submissions/{id}/finalize", &Forms::finalize)),
          route("GET", "/v1/submissions/{id}", &Forms::get), route("POST", "/v1/attachments/{id}/scan-result", &Forms::scan)};
}

}  // namespace waybill
