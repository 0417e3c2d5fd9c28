// The jobs of a fault session: shared by the program that submits them and the check of its database.
#pragma once

#include <cstdint>

#include "rpc/wire/messages/messages.h"

namespace hone::e2e {

/// Job `seq` (from 1): takes up to some milliseconds, and its answer, a time or a failure, is that of no other job of
/// the session.
inline wire::FakePayload fake_job(uint64_t seed, uint64_t seq) {
  const uint64_t scattered = (seq + seed) * 0x9e3779b97f4a7c15ULL >> 32;
  wire::FakePayload job;
  job.run_seconds = 1e-4 + static_cast<double>(scattered % 8) * 1e-3 + static_cast<double>(seq) * 1e-8;
  job.status = scattered % 16 == 0 ? wire::ResultStatus::kRunFailed : wire::ResultStatus::kOk;
  return job;
}

}  // namespace hone::e2e
