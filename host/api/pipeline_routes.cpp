// Handling of pipelines, from the parsed request to the reply.
#include "api/pipeline_routes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/pipeline_json.h"
#include "api/query.h"
#include "api/stored_span.h"
#include "api/submission_pages.h"
#include "api/token_check.h"
#include "base/json_writer.h"

namespace waybill {
namespace {

using http::Reply;
using http::Request;
using http::Response;

constexpr std::string_view kNotCarriedOut = "pipeline.not_carried_out";
constexpr SubmitWords kWords{.reference = "submissionId", .content = "pipeline or content", .not_stored = kNotCarriedOut};
constexpr std::size_t kMaxListed = 500;

Json submitted_json(const SubmissionView& view) {
  return {{"submissionId", view.client_ref}, {"pipeline", view.target}, {"state", view.state}};
}

bool is_created(const SubmitResult& result) { return result.how == SubmitResult::How::created; }

class PipelineRoutes {
 public:
  explicit PipelineRoutes(PipelineParts parts) : parts_(parts) {}

  void post(Request request, Reply reply) const {
    auto body = read_pipeline_request(request.body);
    if (!body) return reply(http::invalid_request(body.error().what));
    const std::string& name = request.parameters.at("name");
    auto pipeline = parts_.registry.current()->find_pipeline(name);
    if (!pipeline) return reply(http::error_response(404, "not_found", "there is no pipeline \"" + name + "\""));
    std::vector<NewPipelineSubmission> wanted{{.org = request.principal.org,
                                               .client_ref = std::move(body->submission_id),
                                               .pipeline = std::move(pipeline),
                                               .payload = std::move(body->payload),
                                               .metadata = std::move(body->metadata),
                                               .terms = std::move(body->terms)}};
    submit(std::move(request), std::move(reply), std::move(wanted), [](const std::vector<SubmitResult>& results) {
      return http::json_response(is_created(results.front()) ? 201 : 200, dump(submitted_json(results.front().view)));
    });
  }

  // One submission for each pipeline that is bound to the path.
  void post_forms(Request request, Reply reply) const {
    auto body = read_forms_request(request.body);
    if (!body) return reply(http::invalid_request(body.error().what));
    std::vector<NewPipelineSubmission> wanted;
    for (const auto& definition : parts_.registry.current()->pipelines())
      if (definition->pipeline.path == request.path)
        wanted.push_back({.org = request.principal.org,
                          .client_ref = body->submission_id + "-" + definition->pipeline.name,
                          .pipeline = definition,
                          .payload = body->payload,
                          .metadata = body->metadata,
                          .terms = body->terms});
    if (wanted.empty())
      return reply(http::error_response(404, "not_found", "no pipeline of the registry is bound to " + request.path));
    submit(std::move(request), std::move(reply), std::move(wanted),
           [id = body->submission_id](const std::vector<SubmitResult>& results) {
             Json json{{"submissionId", id}, {"submissions", Json::array()}};
             for (const auto& one : results) json["submissions"].push_back(submitted_json(one.view));
             const bool any_new = std::any_of(results.begin(), results.end(), is_created);
             return http::json_response(any_new ? 201 : 200, dump(json));
           });
  }

  void transition(Request request, Reply reply) const {
    auto wanted = read_transition(request.body);
    if (!wanted) return reply(http::invalid_request(wanted.error().what));
    wanted->actor = request.principal.actor();
    wanted->has_role = [role = request.principal.role](std::string_view needed) {
      const auto least = role_from(needed);
      return least && role >= *least;
    };
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, wanted = std::move(*wanted)](FormSession& session, const Request& asked, const Reply& answered) {
                      const std::string& id = asked.parameters.at("id");
                      const auto result = parts_.intake.transition(*session.pipelines, asked.principal.org, id, wanted);
                      count_moves(*session.pipelines);
                      answered(moved(id, result));
                    });
  }

  void repair(Request request, Reply reply) const {
    auto wanted = read_repair(request.body);
    if (!wanted) return reply(http::invalid_request(wanted.error().what));
    wanted->filter.ids = {request.parameters.at("id")};
    carry_out(std::move(request), std::move(reply), std::move(*wanted), [](const Repairs& repairs, bool dry_run) {
      const auto& item = repairs.items.front();
      if (!item.is_known) return http::error_response(404, "not_found", item.refused);
      if (!item.refused.empty()) return http::error_response(409, "conflict", "not repaired: " + item.refused);
      return http::json_response(200, repairs_json(repairs, dry_run));
    });
  }

  // Blocked submissions of one pipeline; also of one that the registry does not have any more.
  void repair_many(Request request, Reply reply) const {
    auto wanted = read_repairs(request.body);
    if (!wanted) return reply(http::invalid_request(wanted.error().what));
    const std::string& name = request.parameters.at("name");
    wanted->filter.pipeline = name;
    const bool is_known = parts_.registry.current()->find_pipeline(name) != nullptr;
    carry_out(std::move(request), std::move(reply), std::move(*wanted), [is_known, name](const Repairs& repairs, bool dry_run) {
      if (repairs.items.empty() && !is_known)
        return http::error_response(404, "not_found", "there is no pipeline \"" + name + "\"");
      return http::json_response(200, repairs_json(repairs, dry_run));
    });
  }

  // Of pipelines, if it names what only pipelines have; else of forms and pipelines.
  void list(Request request, Reply reply) const {
    const auto first_of = [&](std::initializer_list<const char*> names) {
      const auto found = std::find_if(names.begin(), names.end(), [&](const char* name) { return given(request, name); });
      return found == names.end() ? std::string() : std::string(*found);
    };
    const auto of_pipelines = first_of({"pipeline", "state", "reference"});
    if (of_pipelines.empty()) return list_all(std::move(request), std::move(reply));
    std::string of_forms = first_of({"formId"});
    for (const char* name : {"status", "since", "until"})  // no texts, so an empty one says something: it is wrong
      if (of_forms.empty() && request.query_value(name)) of_forms = name;
    if (!of_forms.empty())
      return reply(http::invalid_request(of_forms + " cannot stand beside " + of_pipelines + ", which is about pipelines only"));
    PipelineFilter filter{
        .pipeline = given(request, "pipeline"), .state = given(request, "state"), .reference = given(request, "reference")};
    const auto limit = limit_in(request, filter.limit, kMaxListed);
    if (!limit) return reply(http::invalid_request(limit.error().what));
    filter.limit = *limit;
    const auto before = cursor_in(request, parts_.ids);
    if (!before) return reply(http::invalid_request(before.error().what));
    if (*before) filter.before = SubmissionId{(*before)->id.value};
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, filter](FormSession& session, const Request& asked, const Reply& answered) {
                      const auto page = session.pipelines->list(asked.principal.org, filter);
                      answered(page ? http::json_response(200, pipeline_list_json(*page, parts_.ids))
                                    : error_reply(page.error(), parts_.log, kNotCarriedOut));
                    });
  }

  // What is measured is the last day's, and of service levels the newest submissions of the last month.
  void stats(Request request, Reply reply) const {
    const auto registry = parts_.registry.current();
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, registry](FormSession& session, const Request& asked, const Reply& answered) {
                      const auto org = asked.principal.org;
                      const auto counts = session.pipelines->counts(org);
                      if (!counts) return answered(error_reply(counts.error(), parts_.log, kNotCarriedOut));
                      std::vector<PipelineStats> all;
                      for (const auto& definition : registry->pipelines()) {
                        auto one = measured(*session.pipelines, org, definition);
                        if (!one) return answered(error_reply(one.error(), parts_.log, kNotCarriedOut));
                        all.push_back(std::move(*one));
                      }
                      answered(http::json_response(200, stats_json(*counts, all)));
                    });
  }

 private:
  void list_all(Request request, Reply reply) const {
    auto query = read_submissions_query(request, parts_.ids);
    if (!query) return reply(http::invalid_request(query.error().what));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, query = std::move(*query)](FormSession& session, const Request& asked, const Reply& answered) {
                      const auto page = session.forms->list(asked.principal.org, query.filter, query.most, query.after);
                      answered(page ? http::json_response(200, submission_page_json(*page, parts_.ids))
                                    : error_reply(page.error(), parts_.log, kNotCarriedOut));
                    });
  }

  static Result<PipelineStats> measured(PipelineStore& store, OrgId org,
                                        const std::shared_ptr<const PipelineDefinition>& definition) {
    constexpr std::size_t kMaxMeasured = 10'000;
    const auto& pipeline = definition->pipeline;
    PipelineStats stats{.definition = definition, .shares = {}, .levels = {}};
    auto shares = store.shares(pipeline.name, org, std::chrono::hours(24));
    TRY(shares);
    stats.shares = std::move(*shares);
    for (const auto& level : pipeline.levels) {
      auto found = store.measure(org, pipeline.name, level, std::chrono::hours(24 * 30), kMaxMeasured);
      TRY(found);
      stats.levels.push_back(*found);
    }
    return stats;
  }

  template <class Answer>
  void submit(Request request, Reply reply, std::vector<NewPipelineSubmission> wanted, Answer answer) const {
    std::vector<Taking> takings;  // each has a span of its own
    for (auto& one : wanted) one.trace = trace_of(takings.emplace_back(take_in(parts_.tracer, request.trace)));
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, wanted = std::move(wanted), takings = std::move(takings), answer = std::move(answer)](
                        FormSession& session, const Request&, const Reply& answered) {
                      const auto results = parts_.intake.submit(*session.pipelines, wanted);
                      if (results)
                        for (std::size_t i = 0; i < takings.size(); ++i)
                          note_stored(parts_.tracer, takings[i], "pipeline", (*results)[i]);
                      if (!results) return answered(error_reply(results.error(), parts_.log, kNotCarriedOut));
                      for (const auto& one : *results)
                        if (auto refusal = submit_refusal(one, kWords, parts_.log)) return answered(std::move(*refusal));
                      for (const auto& one : *results)
                        if (is_created(one)) parts_.metrics.pipeline_received(one.view.target);
                      count_moves(*session.pipelines);
                      answered(answer(*results));
                    });
  }

  template <class Answer>
  void carry_out(Request request, Reply reply, RepairRequest wanted, Answer answer) const {
    wanted.order.actor = request.principal.actor();
    parts_.pool.ask(std::move(request), std::move(reply),
                    [this, wanted = std::move(wanted), answer = std::move(answer)](FormSession& session, const Request& asked,
                                                                                   const Reply& answered) {
                      const auto& order = wanted.order;
                      const auto repairs = parts_.intake.repair(*session.pipelines, asked.principal.org, wanted.filter, order);
                      if (!repairs) return answered(error_reply(repairs.error(), parts_.log, kNotCarriedOut));
                      count_moves(repairs->moves);
                      if (!order.dry_run && repairs->count > 0)
                        parts_.log.info("pipeline.repaired",
                                        {{"repair", to_string(order.kind)}, {"count", repairs->count}, {"actor", order.actor}});
                      answered(answer(*repairs, order.dry_run));
                    });
  }

  void count_moves(PipelineStore& store) const { count_moves(store.take_moves()); }
  void count_moves(const std::vector<PipelineMoved>& moves) const {
    for (const auto& move : moves) parts_.metrics.pipeline_moved(move.pipeline, move.to, move.took, move.metrics);
  }

  Response moved(const std::string& id, const Result<TransitionResult>& result) const {
    using How = TransitionResult::How;
    if (!result) return error_reply(result.error(), parts_.log, kNotCarriedOut);
    switch (result->how) {
      case How::moved:
        return http::json_response(200, dump(Json{{"submissionId", id}, {"state", result->state}}));
      case How::illegal:
        return http::error_response(409, "illegal_transition", result->why);
      case How::conflict:
        return http::error_response(409, "conflict", result->why);
      case How::forbidden:
        return http::error_response(403, "forbidden", result->why);
      case How::unknown:
        break;
    }
    return http::error_response(404, "not_found", "there is no submission \"" + id + "\" of a pipeline");
  }

  PipelineParts parts_;
};

}  // namespace

std::vector<http::Route> pipeline_routes(PipelineParts parts) {
  const auto pipelines = std::make_shared<const PipelineRoutes>(parts);
  const auto route = [&](const char* method, const char* path, void (PipelineRoutes::*handle)(Request, Reply) const,
                         http::Role role = http::Role::member) {
    return http::Route{method, path, role, [pipelines, handle](Request request, Reply reply) {
                         (*pipelines.*handle)(std::move(request), std::move(reply));
                       }};
  };
  return {route("POST", "/v1/pipelines/{name}/submissions", &PipelineRoutes::post),
          route("POST", "/forms", &PipelineRoutes::post_forms),
          route("POST", "/v1/submissions/{id}/transitions", &PipelineRoutes::transition),
          route("POST", "/v1/submissions/{id}/repair", &PipelineRoutes::repair, http::Role::admin),
          route("POST", "/v1/pipelines/{name}/repair", &PipelineRoutes::repair_many, http::Role::admin),
          http::with_query(route("GET", "/v1/submissions", &PipelineRoutes::list),
                           {"pipeline", "state", "reference", "formId", "status", "since", "until", "limit", "cursor"}),
          route("GET", "/v1/stats", &PipelineRoutes::stats)};
}

}  // namespace waybill
