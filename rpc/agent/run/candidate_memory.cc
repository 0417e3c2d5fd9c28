#include "rpc/agent/run/candidate_memory.h"

#include <algorithm>

#include "rpc/agent/run/cold_constants.h"

namespace hone::agent {
namespace {

bool is_same_input(const ModuleInfo& a, const ModuleInfo& b, size_t i) {
  if (i >= b.params.size()) return false;
  const Param &mine = a.params[i], &theirs = b.params[i];
  return theirs.role != ParamRole::kOutput && mine.dtype == theirs.dtype && mine.shape == theirs.shape &&
         mine.layout == theirs.layout && a.prepack_of(i).has_value() == b.prepack_of(i).has_value();
}

double tensor_bytes(const ModuleInfo& m, const ModuleInfo* first, bool on_host) {
  double bytes = on_host ? static_cast<double>(m.workspace_bytes) : 0;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    const double logical = static_cast<double>(element_count(p.shape)) * p.dtype.bytes(),
                 physical = static_cast<double>(physical_bytes(p));
    if (p.role == ParamRole::kOutput) {
      if (on_host) bytes += physical + 3 * logical;
      continue;
    }
    const auto prepack = m.prepack_of(i);
    if (prepack && on_host)
      for (const PackedTensor& t : m.prepacks[*prepack].tensors) bytes += static_cast<double>(t.bytes());
    if (first && is_same_input(m, *first, i)) continue;
    bytes += logical;
    if (!prepack && p.layout != Layout::identity(p.shape)) bytes += physical;
  }
  return bytes;
}

}  // namespace

std::vector<CandidateRoom> divide_memory(const std::vector<BuiltModule>& candidates, uint64_t room, bool on_host,
                                         int64_t cold_bytes) {
  std::vector<CandidateRoom> out(candidates.size());
  double taken = 0;
  size_t fitting = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].tensor_bytes = tensor_bytes(candidates[i].info, i > 0 ? &candidates[0].info : nullptr, on_host);
    if (cold_bytes > 0 && on_host)
      out[i].tensor_bytes += static_cast<double>(cold_copy_bytes(candidates[i].info, cold_bytes));
    out[i].fits = room == 0 || taken + out[i].tensor_bytes + static_cast<double>((fitting + 1) * kLeastHeadroom) <=
                                   static_cast<double>(room);
    if (out[i].fits) taken += out[i].tensor_bytes, ++fitting;
  }
  const double left = room == 0 || fitting == 0 ? static_cast<double>(kMostHeadroom)
                                                : (static_cast<double>(room) - taken) / static_cast<double>(fitting);
  for (CandidateRoom& r : out)
    r.headroom = static_cast<uint64_t>(
        std::clamp(left, static_cast<double>(kLeastHeadroom), static_cast<double>(kMostHeadroom)));
  return out;
}

}  // namespace hone::agent
