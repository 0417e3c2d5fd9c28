// A team's tophub as a source of the lookup chain: one request for all keys of a build, answers kept in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/chain/source.h"
#include "db/team/remote_hub.h"

namespace hone::db {

/// Answers are taken from the cache this long; what is older is asked for again, once.
inline constexpr int64_t kAskAgainMs = 300'000;

struct RemoteSourceOptions {
  /// The cache's, one for each URL and identity (remote_cache_path()); empty: memory alone.
  std::string cache_path;
  /// Tenants whose rows are trusted beside those of the reader's own.
  std::vector<std::string> trusted;
  int64_t ask_again_ms = kAskAgainMs;  ///< 0: each build asks anew
  std::function<int64_t()> now_ms;     ///< Unix time; empty: this machine's clock
};

/// `$HONE_TOPHUB_REFRESH` in seconds as ask_again_ms: kAskAgainMs where `text` is null, InvalidArgument where it is no
/// number from 0 to 1e9.
StatusOr<int64_t> ask_again_from(const char* text);

/// The cache's file in `folder` (answer_cache_folder()) of what `url` tells whoever has `secret`, a token or empty:
/// others do not see the same rows. Empty where `folder` is.
std::string remote_cache_path(const std::string& folder, const std::string& url, const std::string& secret);

/// Asks for nothing twice, however many chains it is part of, and for nothing more once it did not answer: then a
/// warning says so, and how old that is what the cache still has. Rows of the reader's own tenant and of trusted ones
/// come before others; a tenant without a name (an open port) is nobody's.
std::shared_ptr<Source> remote_source(std::shared_ptr<RemoteHub> hub, RemoteSourceOptions options);

}  // namespace hone::db
