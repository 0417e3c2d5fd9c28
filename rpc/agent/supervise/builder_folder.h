// The folder of one builder: the only one it sees. Artifacts are moved out of it before they are loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "rpc/agent/pipe/asio.h"
#include "rpc/agent/supervise/worker.h"

namespace hone::agent {

class BuilderFolder {
 public:
  /// Bytes of everything in it. It holds one artifact at a time (20 to 300 KB) and the linker's temporary file.
  static constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

  explicit BuilderFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  /// Makes the folder (0700), or empties it.
  Status clear() const;
  /// Moves the regular file `name`, read-only from now on, to `to` (on the same file system), out of the builder's
  /// reach: it can neither change an artifact that was accepted nor see another builder's.
  Status accept(const std::string& name, const std::string& to) const;
  uint64_t bytes() const;

 private:
  std::string path_;
};

/// State shared by watch_folder() and the task it watches for.
struct FolderWatch {
  bool over = false;    ///< no longer needed
  bool filled = false;  ///< the builder was killed for it
};

/// Kills `worker` when its folder holds more than kMaxBytes, until `watch->over`. It looks every 100 ms: no kernel
/// limit counts a folder's bytes.
awaitable<void> watch_folder(asio::io_context& io, BuilderFolder folder, std::weak_ptr<Worker> worker,
                             std::shared_ptr<FolderWatch> watch);

}  // namespace hone::agent
