// `waybill archive ...`: pipelines' submissions that were moved out of the way of work.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct ArchiveOptions {
  std::string org = "default";
  std::string submission;                  // show
  std::string pipeline, state, reference;  // list: these filter
  std::size_t limit = 100;
};

int list_archive(const GlobalOptions& options, const ArchiveOptions& archive);
int show_archived(const GlobalOptions& options, const ArchiveOptions& archive);

}  // namespace waybill
