// What commands that change something take from their caller: a name for the audit, and files.
#pragma once

#include <fstream>
#include <istream>
#include <string>

#include "base/error.h"

namespace waybill {

// Who acts: as said, or, if that is "", who called sudo, or else the user that runs this process.
std::string actor_of(const std::string& said);
// A file, or with "-" standard input.
Result<std::string> read_whole(const std::string& name);
// The same, line by line.
class GivenLines {
 public:
  explicit GivenLines(const std::string& name);
  bool is_open() const;
  std::istream& lines();
  std::string name() const;  // for messages

 private:
  std::string name_;
  std::ifstream file_;
};

}  // namespace waybill
