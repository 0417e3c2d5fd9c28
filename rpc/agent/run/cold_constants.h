// Copies of a kernel's constants. In a model a layer reads its weights once a run, and data of the other layers has
// since put them out of the core's own caches; its inputs were just written. Calls that take the copies in turn find
// both as they are there.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/agent/pipe/protocol.h"
#include "rpc/agent/sandbox/guarded_buffer.h"

namespace hone::agent {

/// Bytes of constants that calls read before they come back to the first copy, where the profile does not say: more
/// than a core's own caches hold. And the most of them: more takes longer to copy than it changes, as shared caches are
/// that large seldom.
inline constexpr int64_t kUsualColdBytes = int64_t{16} << 20, kMostColdBytes = int64_t{64} << 20;

/// The bytes that the profile asks for, within these limits; 0: constants stay hot.
int64_t cold_bytes_of(const wire::MeasureProfile& profile);

/// Bytes of the copies beside the constants themselves; 0 where there are no constants, or as many as `cold_bytes`.
int64_t cold_copy_bytes(const ModuleInfo& info, int64_t cold_bytes);

class ColdConstants {
 public:
  /// Has room for the copies, `cold_bytes` with the constants themselves (at most kMostColdBytes); ResourceExhausted
  /// when the memory cannot be had.
  static StatusOr<ColdConstants> make(const ModuleInfo& info, int64_t cold_bytes);

  /// Copies the constants, once. `arguments`: the data of all of the kernel's arguments.
  void fill(const std::vector<const void*>& arguments);

  /// Calls that read different copies, the constants themselves first; 1: there are no copies.
  int64_t rounds() const { return rounds_; }
  /// The kernel's argument that constant number `i` is.
  size_t argument(size_t i) const { return constants_[i].argument; }
  size_t count() const { return constants_.size(); }
  /// Its data in a round but the first.
  void* copy(size_t i, int64_t round) const;

 private:
  struct Constant {
    size_t argument;
    int64_t bytes;
    int64_t offset;  ///< in a round's part of the memory
  };
  std::vector<Constant> constants_;
  int64_t round_bytes_ = 0, rounds_ = 1;
  GuardedBuffer memory_;
  bool filled_ = false;

  static ColdConstants plan(const ModuleInfo& info, int64_t cold_bytes);
  friend int64_t cold_copy_bytes(const ModuleInfo& info, int64_t cold_bytes);
};

}  // namespace hone::agent
