// One value that the operator wrote, with its place: read into a setting, or reported as a problem that says what is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/duration.h"
#include "base/problem.h"
#include "base/time.h"
#include "config/document.h"

namespace waybill::config {

using waybill::format_duration;
using waybill::parse_duration;

// Not thread-safe; lives while one Config is read. Each read leaves its setting as it was if the value is bad, and says so.
class Value {
 public:
  // `field` is the path in the file, or the name of the environment variable. Relative paths are relative to `folder`.
  Value(const Node& node, std::string file, std::string field, const std::filesystem::path& folder, Problems& problems)
      : node_(node), file_(std::move(file)), field_(std::move(field)), folder_(folder), problems_(problems) {}

  const Node& node() const { return node_; }
  const std::filesystem::path& folder() const { return folder_; }
  // A member of this map or list, at its own place.
  Value child(const Node& node) const;
  Value element(std::size_t index) const;

  void fail(std::string message) const;
  bool expect_map(std::string_view shape) const;

  void count(std::size_t& into, std::size_t least, std::size_t most) const;
  void duration(Millis& into, Millis least, Millis most) const;
  void number(double& into, double least, double most) const;
  void flag(bool& into) const;
  void word(std::string& into, std::initializer_list<std::string_view> allowed) const;
  void path(std::filesystem::path& into) const;
  // A scalar's text, as it stands. `allowed` says what it should have been. The text itself is never repeated in a problem.
  std::optional<std::string> text(std::string_view allowed) const;

 private:
  bool is_scalar(std::string_view allowed) const;
  void refuse(std::string_view allowed) const;  // "must be ..., not ..."

  const Node& node_;
  std::string file_;
  std::string field_;
  const std::filesystem::path& folder_;
  Problems& problems_;
};

}  // namespace waybill::config
