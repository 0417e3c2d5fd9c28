#include "compiler/runtime/gpu/binary_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "base/log.h"
#include "base/plain_file.h"
#include "base/secure_hash.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A file: magic, the hash of all that follows it, the log's length (8 bytes, little-endian), log, bytes.
constexpr std::string_view kMagic = "honebin1";
constexpr size_t kHash = 16, kLength = 8, kHeader = kMagic.size() + kHash + kLength;

std::string length_of(const std::string& text) {
  std::string out(kLength, '\0');
  for (size_t i = 0; i < kLength; ++i) out[i] = static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  return out;
}

}  // namespace

Hash128 BinaryCache::key(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += fmt::format("{}:", part.size()) + std::string(part);
  return secure_hash(all);
}

std::string BinaryCache::path(const Hash128& key) const { return folder_ + "/" + key.hex() + ".bin"; }

std::optional<CachedBinary> BinaryCache::find(const Hash128& key) const {
  if (!enabled()) return std::nullopt;
  constexpr int64_t kMostBytes = int64_t{1} << 30;
  const StatusOr<std::string> read = read_plain_file(path(key), kMostBytes);
  if (!read.ok()) return std::nullopt;
  const std::string& text = *read;
  if (text.size() < kHeader || text.compare(0, kMagic.size(), kMagic) != 0) return std::nullopt;
  const std::string_view body = std::string_view(text).substr(kMagic.size() + kHash);
  if (hash_bytes(body).bytes() != text.substr(kMagic.size(), kHash)) return std::nullopt;
  uint64_t log = 0;
  for (size_t i = 0; i < kLength; ++i) log |= static_cast<uint64_t>(static_cast<unsigned char>(body[i])) << (8 * i);
  if (log > body.size() - kLength) return std::nullopt;
  return CachedBinary{std::string(body.substr(kLength + log)), std::string(body.substr(kLength, log))};
}

void BinaryCache::store(const Hash128& key, const CachedBinary& binary) {
  if (!enabled()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string body = length_of(binary.log) + binary.log + binary.bytes;
  if (const Status written = write_atomically(path(key), std::string(kMagic) + hash_bytes(body).bytes() + body);
      !written.ok()) {
    log::warn("compiled programs are not kept: {}", message_of(written));
    folder_.clear();
    return;
  }
  stored_since_ += static_cast<int64_t>(body.size());
  if (!looked_through_ || stored_since_ > max_bytes_ / 8) remove_oldest();
}

void BinaryCache::remove_oldest() {
  struct Entry {
    fs::file_time_type time;
    int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder_, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    // Files that killed processes left half written, too. Another process may remove the same: then it is missing,
    // or removed twice.
    if (const fs::path extension = it->path().extension(); extension != ".bin" && extension != ".part") continue;
    std::error_code gone;
    const auto bytes = static_cast<int64_t>(it->file_size(gone));
    const fs::file_time_type time = gone ? fs::file_time_type() : it->last_write_time(gone);
    if (gone) continue;
    entries.push_back({time, bytes, it->path()});
    total += bytes;
  }
  if (total > max_bytes_) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
    // Down to three quarters, so that not every store looks through the folder.
    for (size_t i = 0; i + 1 < entries.size() && total > max_bytes_ / 4 * 3; ++i) {
      fs::remove(entries[i].path, error);
      total -= entries[i].bytes;
    }
  }
  looked_through_ = true;
  stored_since_ = 0;
}

}  // namespace hone
