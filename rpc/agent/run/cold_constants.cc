#include "rpc/agent/run/cold_constants.h"

#include <algorithm>
#include <cstring>

namespace hone::agent {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kMostRounds = 4096;  // of a bias alone

// One constant of that many bytes needs no copies, and a module may claim more than can be counted.
int64_t in_lines(int64_t bytes) { return (std::min(bytes, kMostColdBytes) + kLine - 1) / kLine * kLine; }

}  // namespace

int64_t cold_bytes_of(const wire::MeasureProfile& profile) {
  if (!profile.cold_constants) return 0;
  if (profile.cold_bytes == 0) return kUsualColdBytes;
  return static_cast<int64_t>(std::min(profile.cold_bytes, static_cast<uint64_t>(kMostColdBytes)));
}

ColdConstants ColdConstants::plan(const ModuleInfo& info, int64_t cold_bytes) {
  ColdConstants out;
  size_t argument = 0;
  for (size_t i = 0; i < info.params.size(); ++i) {
    const Param& p = info.params[i];
    std::vector<int64_t> tensors;
    if (const auto prepack = info.prepack_of(i))
      for (const PackedTensor& t : info.prepacks[*prepack].tensors) tensors.push_back(t.bytes());
    else
      tensors.push_back(static_cast<int64_t>(physical_bytes(p)));
    for (const int64_t bytes : tensors) {
      if (p.role == ParamRole::kConstant) {
        out.constants_.push_back({argument, bytes, out.round_bytes_});
        out.round_bytes_ += in_lines(bytes);
      }
      ++argument;
    }
  }
  if (out.round_bytes_ > 0)
    out.rounds_ = std::clamp((cold_bytes + out.round_bytes_ - 1) / out.round_bytes_, int64_t{1}, kMostRounds);
  return out;
}

int64_t cold_copy_bytes(const ModuleInfo& info, int64_t cold_bytes) {
  const ColdConstants c = ColdConstants::plan(info, cold_bytes);
  return (c.rounds_ - 1) * c.round_bytes_;
}

StatusOr<ColdConstants> ColdConstants::make(const ModuleInfo& info, int64_t cold_bytes) {
  ColdConstants out = plan(info, cold_bytes);
  if (out.rounds_ == 1) return out;
  HONE_ASSIGN_OR_RETURN(out.memory_, GuardedBuffer::make((out.rounds_ - 1) * out.round_bytes_));
  return out;
}

void ColdConstants::fill(const std::vector<const void*>& arguments) {
  if (filled_) return;
  filled_ = true;
  for (int64_t round = 1; round < rounds_; ++round)
    for (size_t i = 0; i < constants_.size(); ++i)
      std::memcpy(copy(i, round), arguments[constants_[i].argument], static_cast<size_t>(constants_[i].bytes));
}

void* ColdConstants::copy(size_t i, int64_t round) const {
  return static_cast<char*>(memory_.data()) + (round - 1) * round_bytes_ + constants_[i].offset;
}

}  // namespace hone::agent
