// Looks for it, and helps whoever has none yet.
#include "app/configuration_file.h"

#include <system_error>

#include "config/installed_paths.h"

namespace waybill {
namespace {

// One that nobody may look at is there: reading it says so.
bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error) || error == std::errc::permission_denied;
}

std::string sample() {
  const auto folder = config::installed_folder("share/waybill");
  return !folder.empty() && is_there(folder / "waybill.yaml")
             ? "cp " + (folder / "waybill.yaml").string() + " ."
             : "copy the sample here: share/waybill/waybill.yaml of an installation, docs/operations/sample of the sources";
}

}  // namespace

std::filesystem::path configuration_file(const ConfigurationPlaces& places) {
  if (!places.given.empty()) return places.given;
  if (!places.variable.empty()) return places.variable;
  // Whoever calls it for the service's user stands in a folder of their own, which that may not enter.
  if (std::error_code denied; std::filesystem::exists(places.here, denied)) return places.here;
  return is_there(places.system) ? places.system : std::filesystem::path();
}

std::string first_steps(const ConfigurationPlaces& places) {
  std::error_code error;
  return "there is no configuration file: looked for " + std::filesystem::absolute(places.here, error).string() + " and " +
         places.system.string() + "; name another one with --config or WAYBILL_CONFIG\n  to begin: " + sample() +
         "\n  then:     waybill check && waybill migrate && waybill token create NAME && waybill serve"
         "\n  or without a file: WAYBILL_DATABASE_URL=postgresql://USER@HOST/NAME, and a variable for each other setting";
}

}  // namespace waybill
