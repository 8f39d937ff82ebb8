// Which file the configuration is read from, and what to do where there is none.
#pragma once

#include <filesystem>
#include <string>

namespace waybill {

// What may name it, the first of them first.
struct ConfigurationPlaces {
  std::filesystem::path given;                                 // --config
  std::filesystem::path variable;                              // WAYBILL_CONFIG
  std::filesystem::path here = "waybill.yaml";                 // if it is there
  std::filesystem::path system = "/etc/waybill/waybill.yaml";  // if it is there
};

std::filesystem::path configuration_file(const ConfigurationPlaces& places);  // "" for none
// Where it was looked for, how to get one, and what comes next: four lines.
std::string first_steps(const ConfigurationPlaces& places);

}  // namespace waybill
