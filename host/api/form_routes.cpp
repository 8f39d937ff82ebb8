// Handling of forms, from the parsed request to the reply.
#include "api/form_routes.h"

#include "api/form_json.h"
#include "api/intent_json.h"

namespace waybill {
namespace {

class Forms {
 public:
  explicit Forms(FormParts parts) : parts_(std::move(parts)) {}

  void post(Request request, Reply reply) const {
    auto form_request = read_form_request(request.body);
    if (!form_request) return reply(invalid_request(form_request.error().what));
    parts_.pool.ask([this, org = request.principal.org, wanted = std::move(*form_request),
                     reply = std::move(reply)](FormSession& session) { reply(submit(session, org, wanted)); });
  }

  void finalize(Request request, Reply reply) const {
    parts_.pool.ask([this, request = std::move(request), reply = std::move(reply)](FormSession& session) {
      const std::string& id = request.parameters.at("id");
      reply(moved(session.forms->finalize(request.principal.org, id), 202, "submission \"" + id + "\""));
    });
  }

  void scan(Request request, Reply reply) const {
    const auto result = read_scan_result(request.body);
    if (!result) return reply(invalid_request(result.error().what));
    parts_.pool.ask([this, result = *result, request = std::move(request), reply = std::move(reply)](FormSession& session) {
      const std::string& id = request.parameters.at("id");
      const std::string actor = request.principal.actor();
      reply(moved(session.forms->scan(request.principal.org, id, result, actor), 200, "attachment \"" + id + "\""));
    });
  }

  void get(Request request, Reply reply) const {
    parts_.pool.ask([this, request = std::move(request), reply = std::move(reply)](FormSession& session) {
      const std::string& id = request.parameters.at("id");
      const auto found = session.forms->find(request.principal.org, id);
      if (!found) return reply(failed(found.error()));
      reply(*found ? json_response(200, form_view_json(**found)) : missing("submission \"" + id + "\""));
    });
  }

 private:
  Response submit(FormSession& session, OrgId org, const FormRequest& wanted) const {
    const auto registry = parts_.registry.current();
    const Form* form = registry->find_form(wanted.form_id);
    NewFormSubmission submission{.org = org,
                                 .client_ref = wanted.submission_id,
                                 .form_id = wanted.form_id,
                                 .fields = wanted.fields,
                                 .attachments_json = wanted.attachments_json,
                                 .attachments = wanted.attachments,
                                 .kept_until = wanted.kept_until,
                                 .hash = wanted.hash(),
                                 .finalize = wanted.finalize};
    if (!form) return of_unknown_form(session, submission);
    std::vector<Contract> contracts;
    for (const auto& action : form->actions)
      contracts.push_back(contract_of(*form, action, parts_.types.find(action.action_type)));
    submission.actions = form->actions;
    submission.contracts = contracts;
    return submitted(session.forms->submit(submission));
  }

  // The form is not in the registry, or not any more: a submission that came in before is still itself.
  Response of_unknown_form(FormSession& session, const NewFormSubmission& submission) const {
    const auto known = session.forms->find(submission.org, submission.client_ref);
    if (!known) return failed(known.error());
    if (!*known || (*known)->submission.target != submission.form_id)
      return invalid_request("unknown formId \"" + submission.form_id + "\"");
    return submitted(session.forms->submit(submission));
  }

  Response submitted(const Result<SubmitResult>& answer) const {
    if (!answer && answer.error().kind == Error::Kind::conflict)
      return error_response(409, "idempotency_conflict", answer.error().what);
    if (!answer) return failed(answer.error());
    if (answer->how == SubmitResult::How::conflict)
      return error_response(409, "idempotency_conflict",
                            "submissionId \"" + answer->view.client_ref + "\" was handed in before with another form or content");
    if (answer->how == SubmitResult::How::created) parts_.metrics.submission("received");
    parts_.wake();
    return json_response(answer->how == SubmitResult::How::created ? 201 : 200,
                         form_state_json({answer->view.client_ref, answer->view.state}));
  }

  Response moved(const Result<std::optional<FormState>>& state, int status, const std::string& what) const {
    if (!state && state.error().kind == Error::Kind::conflict) return error_response(409, "conflict", state.error().what);
    if (!state) return failed(state.error());
    if (!*state) return missing(what);
    parts_.wake();
    return json_response(status, form_state_json(**state));
  }

  static Response missing(const std::string& what) { return error_response(404, "not_found", "there is no " + what); }

  Response failed(const Error& error) const {
    parts_.log.error("form.not_carried_out", {{"error", error.what}});
    return failure_response(error);
  }

  FormParts parts_;
};

}  // namespace

std::vector<Route> form_routes(FormParts parts) {
  const auto forms = std::make_shared<const Forms>(std::move(parts));
  const auto route = [&](const char* method, const char* path, void (Forms::*handle)(Request, Reply) const) {
    return Route{method, path, Role::member,
                 [forms, handle](Request request, Reply reply) { (*forms.*handle)(std::move(request), std::move(reply)); }};
  };
  return {route("POST", "/v1/submissions", &Forms::post), route("POST", "/v1/submissions/{id}/finalize", &Forms::finalize),
          route("GET", "/v1/submissions/{id}", &Forms::get), route("POST", "/v1/attachments/{id}/scan-result", &Forms::scan)};
}

}  // namespace waybill
