// Reads guards and terms of a pipeline file. What pipeline_reader.cpp has in common with it.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_document.h"
#include "base/problem.h"
#include "domain/guard.h"

namespace waybill {

class GuardReader {
 public:
  explicit GuardReader(std::string file) : file_(std::move(file)) {}

  Guard read_guard(const JsonNode& node, const std::string& path);
  // A JSON pointer, or an object of `at` and what to take of it.
  Term read_term(const JsonNode& node, const std::string& path);

  Problems problems;

 protected:
  void report(const JsonNode& at, std::string field, std::string message);
  // Reports what is no object, and members that are not known.
  bool expect_object(const JsonNode& node, const std::string& path, std::initializer_list<std::string_view> known);
  // The text of a field; "" after a report, or when it is not there and need not be.
  std::string text_of(const JsonNode& object, std::string_view field, const std::string& path, bool needed);
  void check_pointer(const JsonNode& node, const std::string& path);
  static std::optional<double> number_of(const JsonNode& node);

  const std::string file_;
  bool any_root_ = false;                                  // pointers may begin with any name
  std::map<std::string, std::vector<std::string>> lists_;  // that guards may name

 private:
  Term read_parts(const JsonNode& node, const std::string& path);
  std::optional<Guard> read_comparison(const JsonNode& op, const std::string& path, const Term& term);
  void read_list(const JsonNode& op, const std::string& path, Guard& guard);
};

}  // namespace waybill
