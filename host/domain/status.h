// The life of a delivery: one row per arrow, and nothing else moves a status. The database refuses the rest as well.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace waybill {

enum class Status : std::uint8_t { waiting, open, due, claimed, accepted, rejected, exhausted, deferred, cancelled };
enum class Event : std::uint8_t {
  ready,       // its turn has come
  claim,       // a host took it, to attempt it now
  release,     // the host gives it back unattempted
  retry,       // the attempt ended without an end, and the contract allows another
  lease_lost,  // the host that held it is gone
  accept,
  reject,
  exhaust,
  defer,
  cancel
};

struct Transition {
  Status from;
  Event on;
  Status to;
};

inline constexpr std::array kTransitions{
    // from                   on                  to
    Transition{Status::waiting, Event::ready, Status::due},
    Transition{Status::waiting, Event::cancel, Status::cancelled},
    Transition{Status::open, Event::ready, Status::due},
    Transition{Status::open, Event::cancel, Status::cancelled},
    Transition{Status::open, Event::claim, Status::claimed},
    Transition{Status::due, Event::claim, Status::claimed},
    Transition{Status::due, Event::cancel, Status::cancelled},
    Transition{Status::claimed, Event::release, Status::due},
    Transition{Status::claimed, Event::retry, Status::due},
    Transition{Status::claimed, Event::lease_lost, Status::due},
    Transition{Status::claimed, Event::accept, Status::accepted},
    Transition{Status::claimed, Event::reject, Status::rejected},
    Transition{Status::claimed, Event::exhaust, Status::exhausted},
    Transition{Status::claimed, Event::defer, Status::deferred},
};

constexpr std::optional<Status> next(Status from, Event on) {
  for (const auto& t : kTransitions)
    if (t.from == from && t.on == on) return t.to;
  return std::nullopt;
}

constexpr bool is_end(Status status) {
  for (const auto& t : kTransitions)
    if (t.from == status) return false;
  return true;
}

constexpr bool allowed(Status from, Status to) {
  for (const auto& t : kTransitions)
    if (t.from == from && t.to == to) return true;
  return false;
}

static_assert(is_end(Status::accepted) && is_end(Status::rejected) && is_end(Status::exhausted) && is_end(Status::deferred) &&
                  is_end(Status::cancelled),
              "ends have no way out");
static_assert(!next(Status::due, Event::accept), "nothing ends that was not claimed");

std::string_view to_string(Status status);
std::string_view to_string(Event event);
std::optional<Status> status_from(std::string_view word);

}  // namespace waybill
