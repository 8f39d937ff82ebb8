// Every way out of the host: which files could open a connection or start a program, and what holds them to the rules of
// `egress`. A file that is new here fails the test: see that `egress.deny` holds for it, add a live case to
// tests/integration/outgoing_test.cpp, and then a row. Links to stored objects are signed here, without a connection.  S12
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

struct Way {
  const char* mark;                          // what in a source tells it
  std::map<std::string, std::string> files;  // that have it, or their folder, and why they may
};

const Way kWays[] = {
    {R"(#\s*include\s*[<"]curl/)",
     {{"host/services/curl_easy.cpp", "every handle is made here, and asks ConnectLeave before each socket"},
      {"host/services/curl_multi.cpp", "drives handles of curl_easy"},
      {"host/services/connect_check.cpp", "`check --online`: connects by a handle of curl_easy, and sends nothing"},
      {"host/services/http_transfer.cpp",
       "HTTP, on a handle of curl_easy: plugins' requests, probes, queries, attachments, alerts"},
      {"host/services/smtp_connection.cpp", "SMTP, on a handle of curl_easy"},
      {"host/services/endpoint.cpp", "takes URLs apart"},
      {"host/services/http_message.cpp", "reads dates"}}},
    {R"(curl_easy_init|curl_easy_duphandle|curl_easy_perform|curl_multi_perform)",
     {{"host/services/curl_easy.cpp", "the one place that makes a handle"},
      {"host/services/connect_check.cpp", "drives one of these"}}},
    {R"(CURLOPT_(OPENSOCKET|CONNECT_TO|PROXY|PRE_PROXY|DOH_URL|UNIX_SOCKET_PATH|ABSTRACT_UNIX_SOCKET|FOLLOWLOCATION))",
     {{"host/services/curl_easy.cpp", "the socket that is judged; no proxy"},
      {"host/services/http_transfer.cpp", "redirects are not followed"}}},
    {R"(#\s*include\s*[<"](sys/socket|sys/un|netdb|resolv|ares|linux/io_uring|liburing)\b)",
     {{"host/plugin_guest/guest_stream.cpp", "the sockets to its host that a plugin's process is started with"},
      {"host/plugin_guest/plugin_host.cpp", "the same"},
      {"host/plugin_guest/sandbox.cpp", "forbids calls by their arguments"},
      {"host/plugin_process/host_stream.cpp", "the host's end of them"},
      {"host/plugin_process/process.cpp", "makes them, as pairs without a name"},
      {"host/plugin_protocol/receive_soon.cpp", "reads one of them"},
      {"host/service_manager/service_manager.cpp", "tells systemd, which started this process, by the socket that it named"},
      {"host/services/address_guard.h", "the type of an address"},
      {"host/services/host_lookup.cpp", "asks the system's resolver for names; connects to nothing else"},
      {"host/store/pg/session_watch.cpp", "ends sessions with the database"}}},
    {R"(#\s*include\s*[<"](pqxx/|libpq))", {{"host/store/pg/pg.cpp", "the operator's database, which `egress` is not about"}}},
    {R"(#\s*include\s*[<"]boost/(asio|beast|process|mysql|redis))",
     {{"host/http/", "listens and answers; what connects is in the next row"}}},
    {R"(\basync_connect\b|\bip::tcp::resolver\b|(^|[^\w.>])(::)?connect\s*\(\s*\w*fd\b)", {}},
    {R"(\b(fork|vfork|posix_spawnp?|execl\w*|execv\w*|popen)\s*\(|std::system\s*\()",
     {{"host/app/child_process.cpp", "this program again, with the same configuration: quarantine and failure checks"},
      {"host/plugin_guest/plugin_host.cpp", "the command of a plugin, in the sandbox"},
      {"host/plugin_process/process.cpp", "waybill-plugin-host, which enters the sandbox first"},
      {"host/senders/plugin_trial.cpp", "this process again, to load plugins in; nothing is executed"},
      {"host/store/pg/embedded_postgres.cpp", "the private PostgreSQL, on a Unix socket"}}},
    {R"([Oo][Tt][Ll][Pp]|opentelemetry|grpc)",
     {{"host/tracing/", "spans to the operator's collector, as JSON, by the HTTP client of services/"}}},
};

// Of host/ and of the shipped plugins, without comments of a line.
std::map<std::string, std::string> sources() {
  std::map<std::string, std::string> out;
  for (const auto* folder : {"host", "plugins"})
    for (const auto& file : files_below(folder, {".h", ".hpp", ".cpp", ".c"})) {
      if (file.string().find("/tests/") != std::string::npos) continue;
      auto& text = out[file.string()];
      for (const auto& line : lines_of(source_folder() / file)) text += line.substr(0, line.find("// ")) + "\n";
    }
  return out;
}

TEST(WaysOut, AreThoseThatAreListedHere) {  // S12
  const auto all = sources();
  ASSERT_GT(all.size(), 300u);
  for (const auto& way : kWays) {
    const std::regex mark(way.mark);
    std::set<std::string> found, listed;
    for (const auto& [file, text] : all) {
      if (!std::regex_search(text, mark)) continue;
      const auto folder = file.substr(0, file.rfind('/') + 1);
      found.insert(way.files.contains(folder) ? folder : file);
    }
    for (const auto& [file, why] : way.files) listed.insert(file);
    EXPECT_EQ(found, listed) << way.mark;
  }
}

}  // namespace
}  // namespace waybill::testing
