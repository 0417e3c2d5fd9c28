#include "rpc/agent/sandbox/guarded_buffer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hone::agent {
namespace {

constexpr unsigned char kFence = 0xC3;
[[maybe_unused]] constexpr int64_t kPopulateBytes = int64_t{64} << 20;

constexpr int kSealFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE, which the C library's headers may be too old for

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

Status no_memory(int64_t bytes) { return absl::ResourceExhaustedError(fmt::format("cannot allocate {} bytes", bytes)); }

}  // namespace

StatusOr<GuardedBuffer> GuardedBuffer::make(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  if (bytes < 0 || bytes > (int64_t{1} << 46)) return no_memory(bytes);
  const int64_t inner = std::max(round_up(round_up(bytes, 64), page), page);
  void* map = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return no_memory(bytes);
  GuardedBuffer b;
  b.map_ = static_cast<char*>(map);
  b.map_bytes_ = inner + 2 * page;
  b.bytes_ = bytes;
  if (mprotect(b.map_ + page, inner, PROT_READ | PROT_WRITE) != 0) return no_memory(bytes);
#ifdef MADV_POPULATE_WRITE
  // All pages are going to be written: one call instead of a page fault every 4 KB. Missing memory shows at the first
  // write.
  if (bytes <= kPopulateBytes) madvise(b.map_ + page, inner, MADV_POPULATE_WRITE);
#endif
  char* const end = b.map_ + page + inner;
  b.data_ = end - round_up(bytes, 64);
  std::memset(b.map_ + page, kFence, b.data_ - (b.map_ + page));
  std::memset(b.data_ + bytes, kFence, end - (b.data_ + bytes));
  return b;
}

bool GuardedBuffer::intact() const {
  if (!map_) return true;
  const int64_t page = sysconf(_SC_PAGESIZE);
  const auto is_fence = [](char c) { return static_cast<unsigned char>(c) == kFence; };
  return std::all_of(map_ + page, data_, is_fence) && std::all_of(data_ + bytes_, map_ + map_bytes_ - page, is_fence);
}

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

GuardedBuffer::~GuardedBuffer() {
  if (map_) munmap(map_, map_bytes_);
}

StatusOr<SharedMemory> SharedMemory::make(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  if (bytes < 0 || bytes > (int64_t{1} << 46)) return no_memory(bytes);
  const int64_t inner = std::max(round_up(bytes, page), page);
  void* map = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return no_memory(bytes);
  SharedMemory m;
  m.map_ = static_cast<char*>(map);
  m.map_bytes_ = inner + 2 * page;
  m.bytes_ = bytes;
  m.fd_ = memfd_create("tensor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (m.fd_ >= 0 && ftruncate(m.fd_, inner) != 0) return no_memory(bytes);
  const int anonymous = m.fd_ < 0 ? MAP_ANONYMOUS : 0;
  if (mmap(m.map_ + page, inner, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | anonymous, m.fd_, 0) == MAP_FAILED)
    return no_memory(bytes);
  m.data_ = m.map_ + page;
  return m;
}

bool SharedMemory::make_read_only() {
  const int64_t bytes = map_bytes_ - 2 * sysconf(_SC_PAGESIZE);
  // A mapping made after the seal is one that mprotect() cannot make writable.
  const bool sealed = fd_ >= 0 &&
                      fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | kSealFutureWrite | F_SEAL_SEAL) == 0 &&
                      mmap(data_, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd_, 0) != MAP_FAILED;
  if (!sealed) mprotect(data_, bytes, PROT_READ);
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  return sealed;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(map_bytes_, other.map_bytes_);
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (fd_ >= 0) close(fd_);
  if (map_) munmap(map_, map_bytes_);
}

}  // namespace hone::agent
