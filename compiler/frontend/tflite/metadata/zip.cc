#include "compiler/frontend/tflite/metadata/zip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>

#include "base/check.h"

namespace hone::tflite {
namespace {

constexpr size_t kZipEnd = 22, kZipEntry = 46, kZipLocal = 30;  // bytes of the fixed parts
constexpr size_t kMostOfComment = 0xffff;
constexpr size_t kMostZipFiles = 4096;
constexpr unsigned kZipStored = 0, kZipDeflated = 8;
constexpr unsigned kZipEncrypted = 1;

// Little-endian numbers of two and four bytes, at places that were checked.
unsigned u16_at(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[at + i])); };
  return byte(0) | byte(1) << 8;
}
size_t u32_at(std::string_view bytes, size_t at) {
  return u16_at(bytes, at) | static_cast<size_t>(u16_at(bytes, at + 2)) << 16;
}

// Where the archive's last record begins, which a comment may follow; npos: there is none.
size_t end_of_list(std::string_view bytes) {
  constexpr std::string_view kMark("PK\5\6", 4);
  if (bytes.size() < kZipEnd) return std::string_view::npos;
  const size_t last = bytes.size() - kZipEnd, first = last - std::min(last, kMostOfComment);
  for (size_t at = last + 1; at-- > first;)
    if (bytes.substr(at, kMark.size()) == kMark && u16_at(bytes, at + 20) == last - at) return at;
  return std::string_view::npos;
}

uLong sum_of(std::string_view bytes) {
  return crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
}

// Never makes more than `size` bytes, whatever the stream says.
std::string inflated(std::string_view packed, size_t size) {
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  HONE_USER_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK) << "there is no memory to unpack it";
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, &inflateEnd);
  std::string out(size + 1, '\0');  // one more, so that a stream of exactly `size` bytes comes to its end
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  HONE_USER_CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == size)
      << "it is damaged, or larger than the archive says";
  out.resize(size);
  return out;
}

}  // namespace

Zip::Zip(std::string_view bytes) : bytes_(bytes) {
  const size_t end = end_of_list(bytes);
  if (end == std::string_view::npos) return;
  const size_t count = u16_at(bytes, end + 10), list = u32_at(bytes, end + 12), offset = u32_at(bytes, end + 16);
  HONE_USER_CHECK(u16_at(bytes, end + 4) == 0 && u16_at(bytes, end + 6) == 0 && u16_at(bytes, end + 8) == count)
      << "the archive behind the model has several parts, which is not supported";
  HONE_USER_CHECK(count <= kMostZipFiles) << "the archive behind the model has more than " << kMostZipFiles << " files";
  HONE_USER_CHECK(list <= end && offset <= end - list) << "the archive behind the model has its list outside of it";
  // Offsets are those of the whole file, or begin where the archive does.
  const size_t begin = end - list - offset;
  size_t at = end - list;
  for (size_t n = 0; n < count; ++n) {
    HONE_USER_CHECK(end - at >= kZipEntry && bytes.substr(at, 4) == std::string_view("PK\1\2", 4))
        << "the archive behind the model has a damaged list";
    const size_t name = u16_at(bytes, at + 28), more = name + u16_at(bytes, at + 30) + u16_at(bytes, at + 32);
    HONE_USER_CHECK(end - at - kZipEntry >= more) << "the archive behind the model has a damaged list";
    File f;
    f.flags = u16_at(bytes, at + 8);
    f.method = u16_at(bytes, at + 10);
    f.sum = u32_at(bytes, at + 16);
    f.packed = u32_at(bytes, at + 20);
    f.size = u32_at(bytes, at + 24);
    f.header = begin + u32_at(bytes, at + 42);
    files_.emplace(bytes.substr(at + kZipEntry, name), f);
    at += kZipEntry + more;
  }
}

std::string Zip::read(const std::string& name, size_t most) const {
  const auto found = files_.find(name);
  HONE_USER_CHECK(found != files_.end()) << "there is no such file behind the model";
  const File& f = found->second;
  HONE_USER_CHECK(f.size <= most) << "it has " << f.size << " bytes; " << most << " are the most";
  HONE_USER_CHECK((f.flags & kZipEncrypted) == 0) << "it is encrypted, which is not supported";
  HONE_USER_CHECK(f.method == kZipStored || f.method == kZipDeflated)
      << "it is packed by method " << f.method << "; " << kZipStored << " and " << kZipDeflated << " are supported";
  HONE_USER_CHECK(f.header <= bytes_.size() && bytes_.size() - f.header >= kZipLocal &&
                  bytes_.substr(f.header, 4) == std::string_view("PK\3\4", 4))
      << "it lies outside of the archive";
  const size_t begin = f.header + kZipLocal + u16_at(bytes_, f.header + 26) + u16_at(bytes_, f.header + 28);
  HONE_USER_CHECK(begin <= bytes_.size() && f.packed <= bytes_.size() - begin) << "it lies outside of the archive";
  const std::string_view packed = bytes_.substr(begin, f.packed);
  HONE_USER_CHECK(f.method == kZipDeflated || f.packed == f.size) << "it is damaged";
  std::string content = f.method == kZipDeflated ? inflated(packed, f.size) : std::string(packed);
  HONE_USER_CHECK(sum_of(content) == f.sum) << "it is damaged: its sum is another";
  return content;
}

}  // namespace hone::tflite
