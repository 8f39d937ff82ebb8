// From where on `waybill doctor` finds something: docs/operations/doctor.md explains each.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace waybill::doctor_limits {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20, kGiB = std::int64_t{1} << 30;

// What it costs itself.
inline constexpr Millis kStatement{3'000}, kLock{1'000};  // of each question to the database
inline constexpr Seconds kAllStatements{30};              // what is not asked by then is unknown

// The server.
inline constexpr int kOldestServer = 150'000;  // server_version_num
inline constexpr std::int64_t kDefaultBuffers = 128 * kMiB, kLargeMachine = 8 * kGiB;
inline constexpr Seconds kShortCheckpoint{60};
inline constexpr std::int64_t kSmallWal = 256 * kMiB;
inline constexpr int kConnectionsWarning = 80, kConnectionsProblem = 95;  // per cent
inline constexpr Millis kShortIdleSession{60'000};
inline constexpr std::int64_t kAgeWarning = 500'000'000, kAgeProblem = 1'500'000'000;  // transactions
inline constexpr Seconds kSkewProblem{60};                                             // a warning from kMaxSkew on
inline constexpr std::int64_t kBytesBehind = kGiB;
inline constexpr Seconds kTimeBehind{5 * 60};
inline constexpr std::int64_t kSlotProblem = 10 * kGiB;
inline constexpr std::int64_t kSnapshotAge = 1'000'000;  // transactions
inline constexpr Seconds kArchiveProblem{15 * 60};
inline constexpr std::chrono::minutes kOldTransaction{10};

// Tables.
inline constexpr std::int64_t kDeadRows = 50'000,
                              kDeadTimes = 5;  // more than this, and than so many times what autovacuum waits for
inline constexpr Seconds kVacuumAgo{10 * 60};
inline constexpr std::int64_t kBloatBytes = 512 * kMiB, kBloatTimes = 20, kReadyRow = 280;  // bytes of each unfinished delivery
inline constexpr std::int64_t kLargeIndex = 64 * kMiB;
inline constexpr std::chrono::hours kUnusedFor{7 * 24};

// Disks, certificates, tokens: free space below both counts.
inline constexpr int kDiskWarningPercent = 10, kDiskProblemPercent = 3;
inline constexpr std::int64_t kDiskWarningBytes = 10 * kGiB, kDiskProblemBytes = 2 * kGiB;
inline constexpr int kFilesWarningPercent = 5, kFilesProblemPercent = 1;
inline constexpr std::chrono::hours kCertificateWarning{21 * 24}, kCertificateProblem{3 * 24};
inline constexpr std::chrono::hours kTokenWarning{14 * 24};

// Work and hosts.
inline constexpr std::chrono::minutes kDueWarning{2};  // a problem from alerts.stuck on
inline constexpr std::size_t kNamed = 10;              // of many

}  // namespace waybill::doctor_limits
