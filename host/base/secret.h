// A value that must not be printed: it has no operator<< and no conversion, only expose().
#pragma once

#include <string>
#include <utility>

namespace waybill {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  const std::string& expose() const { return value_; }
  bool operator==(const Secret&) const = default;

 private:
  std::string value_;
};

}  // namespace waybill
