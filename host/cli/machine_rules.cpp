// From facts of this machine to findings.
#include "cli/machine_rules.h"

#include <algorithm>

#include "cli/doctor_limits.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using namespace doctor_limits;

std::int64_t percent_of(std::int64_t part, std::int64_t whole) { return whole > 0 ? part * 100 / whole : 100; }

}  // namespace

Finding judge_disk(const DiskUse& disk) {
  const auto percent = percent_of(disk.free, disk.size), files = percent_of(disk.files_free, disk.files);
  auto is = disk.folder.string() + " (" + disk.holds + "): " + size_text(disk.free) + " of " + size_text(disk.size) +
            " are free (" + std::to_string(percent) + " %)";
  if (files < kFilesWarningPercent) is += ", and room for " + std::to_string(disk.files_free) + " more files";
  const auto tell = [&](Level level) {
    return Finding{level, "disk", std::move(is),
                   level == Level::ok ? "" : "make room, or drop old months of the logs (docs/operations/database.md#old-months)",
                   disk.folder.string()};
  };
  if ((percent < kDiskProblemPercent && disk.free < kDiskProblemBytes) || files < kFilesProblemPercent)
    return tell(Level::problem);
  if ((percent < kDiskWarningPercent && disk.free < kDiskWarningBytes) || files < kFilesWarningPercent)
    return tell(Level::warning);
  return tell(Level::ok);
}

Finding judge_certificate(const CertificateFile& file, const Result<std::vector<CertificateEnd>>& ends, Timestamp now) {
  const auto tell = [&](Level level, std::string message) {
    return Finding{level, "certificates", file.named_by + ": " + std::move(message),
                   level == Level::ok
                       ? ""
                       : "put a new one in its place: hosts take tls.* up by themselves, the others with `waybill reload`",
                   file.named_by};
  };
  if (!ends) return tell(Level::problem, ends.error().what);
  const auto by_end = [](const CertificateEnd& a, const CertificateEnd& b) { return a.ends < b.ends; };
  const auto [first, last] = std::minmax_element(ends->begin(), ends->end(), by_end);
  const auto& end = file.is_authorities ? *last : *first;
  const auto left = end.ends - now;
  if (left <= Micros{0})
    return tell(Level::problem, end.subject + " in " + file.file.string() + " ended " + age_text(-left) + " ago");
  return tell(left > kCertificateWarning   ? Level::ok
              : left > kCertificateProblem ? Level::warning
                                           : Level::problem,
              end.subject + " in " + file.file.string() + " ends in " + age_text(left));
}

}  // namespace waybill
