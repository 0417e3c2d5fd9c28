// Compiled programs kept between runs: a folder of files, named by the hash of their source and options.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace hone {

struct CachedBinary {
  std::string bytes, log;
};

/// Several processes may share a folder: a file is whole or missing, and a corrupt one is ignored and overwritten. A
/// failed write is reported once and not tried again; a cache never fails a build.
class BinaryCache {
 public:
  /// In `folder`, which is made when something is first kept; empty: keeps nothing. Beyond about `max_bytes` the oldest
  /// go.
  explicit BinaryCache(std::string folder, int64_t max_bytes = int64_t{512} << 20)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  /// All that the binary depends on: device, driver or compiler version, source, options.
  static Hash128 key(std::initializer_list<std::string_view> parts);

  bool enabled() const { return !folder_.empty(); }
  std::optional<CachedBinary> find(const Hash128& key) const;
  void store(const Hash128& key, const CachedBinary& binary);
  /// The file of a key.
  std::string path(const Hash128& key) const;

 private:
  void remove_oldest();

  std::string folder_;
  int64_t max_bytes_;
  bool looked_through_ = false;  ///< the folder, for files beyond the limit
  int64_t stored_since_ = 0;     ///< bytes
};

}  // namespace hone
