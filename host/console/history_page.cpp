// Building the fragment. Everything that comes from outside goes through escape_html.
#include "console/history_page.h"

#include "api/json_envelope.h"

namespace waybill {
namespace {

// The page loads nothing, runs nothing and has no style of its own. `default-src` says nothing of the last three.
constexpr auto kPolicy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const std::vector<std::string> kFields{"intentId"};

http::Response page(int status, std::string body) {
  return {.status = status,
          .content_type = "text/html; charset=utf-8",
          .body = std::move(body),
          .headers = {{"Content-Security-Policy", kPolicy}, {"X-Content-Type-Options", "nosniff"}}};
}

http::Response message(int status, std::string_view text) {
  return page(status, "<p class=\"message\" role=\"alert\">" + escape_html(text) + "</p>\n");
}

std::string term(std::string_view name, std::string_view value) {
  return "  <dt>" + std::string(name) + "</dt><dd>" + escape_html(value) + "</dd>\n";
}

std::string cell(std::string_view text) { return "<td>" + escape_html(text) + "</td>"; }

void answer(ReadPool::Session& session, const http::Request& request, const http::Reply& reply) {
  http::Request form;
  form.query = request.body;  // a form's body is written like a query
  if (const auto doubled = form.doubled_parameter()) return reply(message(400, "The form field " + *doubled + " stands twice."));
  if (const auto fault = form.query_fault(kFields, "form field"); !fault.empty()) return reply(message(400, fault + "."));
  const auto id = form.query_value("intentId");
  if (!id) return reply(message(400, "The form field intentId is missing."));
  if (const auto fault = reference_fault("intentId", *id); !fault.empty()) return reply(message(400, fault + "."));
  const auto found = session->history(request.principal.org, "intent", *id);
  if (!found) return reply(message(503, "The database is not available. Try again."));
  if (!*found) return reply(message(404, "There is no intent \"" + *id + "\"."));
  reply(page(200, history_fragment(**found)));
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string history_fragment(const HistoryView& history) {
  const SubmissionView& intent = history.submission;
  std::string html = "<section class=\"intent-history\">\n<h2>Intent " + escape_html(intent.client_ref) + "</h2>\n<dl>\n";
  html += term("Status", intent.state) + term("Target", intent.target) + term("Created", format_rfc3339(intent.created));
  if (intent.completed) html += term("Completed", format_rfc3339(*intent.completed));
  if (!intent.reason.empty()) html += term("Reason", intent.reason);
  html +=
      "</dl>\n<table>\n<caption>Attempts</caption>\n<thead><tr><th>#</th><th>Started</th><th>Finished</th><th>Outcome</"
      "th><th>Reason</th>"
      "<th>Error</th></tr></thead>\n<tbody>\n";
  if (history.attempts.empty()) html += "<tr><td colspan=\"6\">No attempt yet.</td></tr>\n";
  for (const auto& a : history.attempts)
    html += "<tr>" + cell(std::to_string(a.number)) + cell(format_rfc3339(a.started)) +
            cell(a.finished ? format_rfc3339(*a.finished) : "not seen") +
            cell(a.counts ? a.outcome : a.outcome + " (does not count)") + cell(a.reason) + cell(a.error) + "</tr>\n";
  return html + "</tbody>\n</table>\n</section>\n";
}

std::vector<http::Route> console_routes(ReadPool& pool) {
  return {
      {.method = "POST",
       .path = "/ui/history",
       .least_role = http::Role::member,
       .handle = [&pool](http::Request request, http::Reply reply) { pool.ask(std::move(request), std::move(reply), answer); },
       .content = http::Content::form}};
}

}  // namespace waybill
