// SqlClient on libpqxx, in what versions 6 and 7 have in common.
#include "support/sql_client.h"

#include <pqxx/pqxx>
#include <stdexcept>

namespace waybill::testing {

struct SqlClient::Connection {
  explicit Connection(const std::string& url) : session(url) {}
  pqxx::connection session;
};

SqlClient::SqlClient(const std::string& url) : connection_(std::make_unique<Connection>(url)) {}
SqlClient::~SqlClient() = default;

bool SqlClient::can_connect(const std::string& url) {
  try {
    const pqxx::connection session(url);
    return session.is_open();
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<SqlClient::Row> SqlClient::rows(const std::string& sql) {
  pqxx::nontransaction work(connection_->session);
  std::vector<Row> all;
  for (const auto& row : work.exec(sql)) {
    Row values;
    for (const auto& field : row) values.push_back(field.is_null() ? std::nullopt : std::optional<std::string>(field.c_str()));
    all.push_back(std::move(values));
  }
  return all;
}

std::string SqlClient::text(const std::string& sql) {
  const auto all = rows(sql);
  if (all.size() != 1 || all[0].size() != 1 || !all[0][0]) throw std::runtime_error("not one value: " + sql);
  return *all[0][0];
}

std::int64_t SqlClient::number(const std::string& sql) { return std::stoll(text(sql)); }

void SqlClient::execute(const std::string& sql) { rows(sql); }

std::string SqlClient::refusal(const std::string& sql) {
  try {
    rows(sql);
  } catch (const pqxx::sql_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace waybill::testing
