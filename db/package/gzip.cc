#include "db/package/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <vector>

#include "base/plain_file.h"
#include "db/package/durable_file.h"

namespace hone::db {
namespace {

constexpr int kGzip = 15 + 16;  // zlib's words for the window and the format
constexpr size_t kZipPart = 256 << 10;

class Stream {
 public:
  explicit Stream(int (*end)(z_stream*)) : end_(end) {}
  ~Stream() { end_(&z); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  z_stream z{};

  void give(std::string& input) {
    z.next_in = reinterpret_cast<Bytef*>(input.data());
    z.avail_in = static_cast<uInt>(input.size());
  }
  // One step into `buffer`; the bytes made are its first `made`.
  int step(int (*run)(z_stream*, int), int flush, std::vector<char>& buffer, size_t& made) {
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    const int rc = run(&z, flush);
    made = buffer.size() - z.avail_out;
    return rc;
  }

 private:
  int (*end_)(z_stream*);
};

Status bad(const std::string& path, const char* why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, why));
}

}  // namespace

Status gzip_file(const std::string& from, const std::string& to) {
  HONE_ASSIGN_OR_RETURN(const PlainFile in, PlainFile::open(from));
  HONE_ASSIGN_OR_RETURN(DurableFile out, DurableFile::create(to));
  Stream s(&deflateEnd);
  if (deflateInit2(&s.z, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return absl::ResourceExhaustedError("zlib: no memory");
  std::vector<char> buffer(kZipPart);
  for (bool is_last = false; !is_last;) {
    HONE_ASSIGN_OR_RETURN(std::string part, in.next(kZipPart));
    is_last = part.empty();
    s.give(part);
    for (size_t made = buffer.size(); made == buffer.size();) {
      s.step(&deflate, is_last ? Z_FINISH : Z_NO_FLUSH, buffer, made);
      HONE_RETURN_IF_ERROR(out.write({buffer.data(), made}));
    }
  }
  return out.close();
}

Status gunzip_file(const std::string& from, const std::string& to, int64_t bytes) {
  HONE_ASSIGN_OR_RETURN(const PlainFile in, PlainFile::open(from));
  HONE_ASSIGN_OR_RETURN(DurableFile out, DurableFile::create(to));
  Stream s(&inflateEnd);
  if (inflateInit2(&s.z, kGzip) != Z_OK) return absl::ResourceExhaustedError("zlib: no memory");
  std::vector<char> buffer(kZipPart);
  int64_t total = 0;
  int rc = Z_OK;
  std::string part;
  while (rc != Z_STREAM_END) {
    HONE_ASSIGN_OR_RETURN(part, in.next(kZipPart));
    if (part.empty()) return bad(from, "it is cut off");
    s.give(part);
    do {
      size_t made = 0;
      rc = s.step(&inflate, Z_NO_FLUSH, buffer, made);
      if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) return bad(from, "it is no gzip, or damaged");
      total += static_cast<int64_t>(made);
      if (total > bytes) return bad(from, "it unpacks to more than its author says");
      HONE_RETURN_IF_ERROR(out.write({buffer.data(), made}));
    } while (rc == Z_OK && s.z.avail_out == 0);
  }
  HONE_ASSIGN_OR_RETURN(const std::string behind, in.next(1));
  if (s.z.avail_in > 0 || !behind.empty()) return bad(from, "there are bytes behind its end");
  if (total != bytes) return bad(from, "it unpacks to less than its author says");
  return out.close();
}

}  // namespace hone::db
