// When a submission may be sent, as whoever handed it in asked, and who that was if it did not come over HTTP.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace waybill {

struct SubmissionTerms {
  std::optional<Timestamp> not_before;  // nothing is sent earlier, and deadlines count from it
  std::optional<Timestamp> expires;     // nothing is sent then or later
  std::string producer;                 // "role shop": handed in by SQL, by this role; "": over HTTP

  bool operator==(const SubmissionTerms&) const = default;
};
using Terms = std::shared_ptr<const SubmissionTerms>;  // null: none, as most have

// None unless there is something to keep.
Terms terms_of(SubmissionTerms terms);

inline constexpr const char* kExpired = "expired";  // the reason of what was not sent before its `expires`

// From when a submission's deadlines count: its own time, or its creation.
inline Timestamp begins_at(Timestamp created, const Terms& terms) {
  return terms && terms->not_before && *terms->not_before > created ? *terms->not_before : created;
}
inline bool has_expired(const Terms& terms, Timestamp now) { return terms && terms->expires && *terms->expires <= now; }

// Why a submission that comes in `now` cannot have these terms: they are too far ahead; "" if it can.
std::string terms_fault(const Terms& terms, Timestamp now);

// The column `terms` that the part `terms` of store/parts.sql makes: microseconds of both times, 0 for none, and the producer.
Terms terms_from(std::string_view column);

}  // namespace waybill
