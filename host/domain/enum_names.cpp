// The words by which statuses, events and outcomes are stored and shown.
#include <array>
#include <utility>

#include "domain/outcome.h"
#include "domain/status.h"

namespace waybill {
namespace {
constexpr std::array kStatusWords{std::pair{Status::waiting, std::string_view("waiting")},
                                  std::pair{Status::open, std::string_view("open")},
                                  std::pair{Status::due, std::string_view("due")},
                                  std::pair{Status::claimed, std::string_view("claimed")},
                                  std::pair{Status::accepted, std::string_view("accepted")},
                                  std::pair{Status::rejected, std::string_view("rejected")},
                                  std::pair{Status::exhausted, std::string_view("exhausted")},
                                  std::pair{Status::deferred, std::string_view("deferred")},
                                  std::pair{Status::cancelled, std::string_view("cancelled")}};
}  // namespace

std::string_view to_string(Status status) { return kStatusWords.at(static_cast<std::size_t>(status)).second; }

std::optional<Status> status_from(std::string_view word) {
  for (const auto& [status, name] : kStatusWords)
    if (name == word) return status;
  return std::nullopt;
}

std::string_view to_string(Event event) {
  switch (event) {
    case Event::ready:
      return "ready";
    case Event::claim:
      return "claim";
    case Event::release:
      return "release";
    case Event::retry:
      return "retry";
    case Event::lease_lost:
      return "lease_lost";
    case Event::accept:
      return "accept";
    case Event::reject:
      return "reject";
    case Event::exhaust:
      return "exhaust";
    case Event::defer:
      return "defer";
    case Event::cancel:
      return "cancel";
  }
  return "cancel";
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::accepted:
      return "accepted";
    case Verdict::rejected:
      return "rejected";
    case Verdict::transient:
      return "transient";
    case Verdict::deferred:
      return "deferred";
  }
  return "transient";
}

std::string_view to_string(Reach reach) {
  switch (reach) {
    case Reach::not_sent:
      return "not_sent";
    case Reach::maybe_sent:
      return "maybe_sent";
    case Reach::answered:
      return "answered";
  }
  return "maybe_sent";
}

}  // namespace waybill
