// Whether checking by a JSON Schema ends, and soon: a schema may come from a plugin that nobody can vouch for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace waybill {

// How often the parts of a schema may apply to one value, in all. More, by references to what refers on, would take as long as
// one likes.
inline constexpr std::size_t kMaxSchemaCost = 10'000;

// In words; "" for none: a reference that leads back to itself without going into the value, such as {"$ref": "#"}, or too high a
// cost.
std::string fault_of_schema_cost(const nlohmann::json& schema);

}  // namespace waybill
