// Places by path, and that of the nearest setting above.
#include "config/setting_places.h"

namespace waybill {

void SettingPlaces::set(const std::string& path, Problem place) { of_[path] = std::move(place); }

void SettingPlaces::erase_below(const std::string& path) {
  std::erase_if(of_, [&](const auto& entry) {
    return entry.first.starts_with(path) &&
           (entry.first.size() == path.size() || entry.first[path.size()] == '.' || entry.first[path.size()] == '[');
  });
}

Problem SettingPlaces::problem(const std::string& path, std::string message, const std::string& file) const {
  for (auto end = path.size(); end != std::string::npos && end > 0; end = path.find_last_of(".[", end - 1)) {
    const auto found = of_.find(path.substr(0, end));
    if (found == of_.end()) continue;
    auto problem = found->second;
    problem.field += path.substr(end);
    problem.message = std::move(message);
    return problem;
  }
  return {file, 0, path, std::move(message)};
}

}  // namespace waybill
