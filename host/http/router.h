// Finds the route of a request by its method and target. Immutable, so safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/http.h"

namespace waybill::http {

class Router {
 public:
  explicit Router(std::vector<Route> routes);

  struct Match {
    const Route* route = nullptr;  // null when refused
    std::string_view pattern;      // of the path, also when only the method was wrong; "unmatched" if there is none
    std::string path;              // decoded
    std::string_view query;        // into the target
    std::map<std::string, std::string, std::less<>> parameters;
    std::optional<Response> refusal;  // 400, 404 or 405
  };
  // `target` as it stands in the request line: a path, or an absolute URL whose path counts. HEAD finds the routes of GET.
  Match find(std::string_view method, std::string_view target) const;

 private:
  struct Entry {
    Route route;
    std::vector<std::string> segments;  // "{name}" stands for any segment
  };
  std::vector<Entry> entries_;  // fixed segments before parameters
};

}  // namespace waybill::http
