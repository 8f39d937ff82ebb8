// The columns that a settlement writes, listed once. The statement, its types and its parameters are derived from kColumns
// (settle_statement.cpp) at compile time: a new column is one more line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/pg/pg.h"
#include "store/queue/settle_store.h"

namespace waybill {

struct SettleColumn {
  enum class Part : std::uint8_t {
    shared,  // sent once for all settlements of a batch that agree in every shared column
    item,    // sent for each settlement
    rare     // sent for each settlement; an empty array if none of the batch has it
  };
  enum Table : std::uint8_t { kNone = 0, kReady = 1, kAttempts = 2, kDeliveries = 4, kAudit = 8 };

  std::string_view name;    // in the statement
  std::string_view stored;  // in the tables that `tables` names
  std::string_view type;    // of the parameter
  Part part;
  unsigned tables;
  void (*add)(ArrayText&, const Settlement&);
  bool (*is_null)(const Settlement&);
  bool (*is_same)(const Settlement&, const Settlement&);
  std::optional<std::string> (*text)(const Settlement&);

  constexpr bool is_time() const { return stored.ends_with("_at"); }  // sent as microseconds, stored as a time
};

namespace settling {

// The result types of getters. Empty text is NULL.
using Number = std::optional<std::int64_t>;
using Flag = bool;
using Text = std::string_view;

inline bool is_null(const Number& value) { return !value; }
inline bool is_null(Flag /*value*/) { return false; }
inline bool is_null(Text value) { return value.empty(); }
inline void add(ArrayText& array, const Number& value) { value ? array.add(*value) : array.add_null(); }
inline void add(ArrayText& array, Flag value) { array.add_flag(value); }
inline void add(ArrayText& array, Text value) { value.empty() ? array.add_null() : array.add(value); }
inline std::optional<std::string> text(const Number& value) {
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}
inline std::optional<std::string> text(Flag value) { return value ? "t" : "f"; }
inline std::optional<std::string> text(Text value) { return value.empty() ? std::nullopt : std::optional(std::string(value)); }

template <auto get>
constexpr SettleColumn column(SettleColumn::Part part, std::string_view type, std::string_view name, unsigned tables,
                              std::string_view stored = {}) {
  return {.name = name,
          .stored = stored.empty() ? name : stored,
          .type = type,
          .part = part,
          .tables = tables,
          .add = [](ArrayText& array, const Settlement& s) { settling::add(array, get(s)); },
          .is_null = [](const Settlement& s) { return settling::is_null(get(s)); },
          .is_same = [](const Settlement& a, const Settlement& b) { return get(a) == get(b); },
          .text = [](const Settlement& s) { return settling::text(get(s)); }};
}

}  // namespace settling
}  // namespace waybill
