// Judges disks, certificates and secrets' files of this machine: pure functions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/finding.h"
#include "services/transport.h"

namespace waybill {

struct DiskUse {
  std::filesystem::path folder;
  std::string holds;                       // "the private database"
  std::int64_t free = 0, size = 0;         // bytes
  std::int64_t files_free = 0, files = 0;  // 0 and 0: the file system has no limit
};
Finding judge_disk(const DiskUse& disk);

// A file of certificates that the configuration or the registry names.
struct CertificateFile {
  std::string named_by;  // "tls.certificate", "target sms.otp ca_file"
  std::filesystem::path file;
  bool is_authorities = false;  // one of them is enough; else it is a chain, which ends with the first
};
Finding judge_certificate(const CertificateFile& file, const Result<std::vector<CertificateEnd>>& ends, Timestamp now);

}  // namespace waybill
