// A look into the database from outside the host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace waybill::testing {

// One thread at a time. Failures throw.
class SqlClient {
 public:
  using Row = std::vector<std::optional<std::string>>;

  explicit SqlClient(const std::string& url);
  ~SqlClient();
  static bool can_connect(const std::string& url);

  std::vector<Row> rows(const std::string& sql);
  std::string text(const std::string& sql);     // the one value of the one row
  std::int64_t number(const std::string& sql);  // the same as a number
  void execute(const std::string& sql);         // outside a transaction
  // The server's words when it refuses the statement; "" when it carries it out. Any other failure throws.
  std::string refusal(const std::string& sql);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace waybill::testing
