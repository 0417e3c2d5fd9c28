#include "compiler/frontend/tensor_file.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/plain_file.h"
#include "compiler/frontend/npy_header.h"
#include "compiler/frontend/onnx/file/lone_tensor.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

// A tensor of another type is named by it, not by its size: so many bytes of elements are read.
int64_t most_bytes(int64_t wanted) {
  constexpr int64_t kTimes = 8, kAtLeast = int64_t{1} << 20, kMost = int64_t{1} << 48;
  return std::max(kAtLeast, std::min(wanted, kMost) * kTimes);
}

// The most bytes of a message: a number of one byte takes up to ten there. Protobuf reads 2 GB.
int64_t most_bytes_of_proto(int64_t wanted) {
  constexpr int64_t kOfANumber = 10, kMost = std::numeric_limits<int>::max();
  return std::min(kMost, most_bytes(wanted) * kOfANumber);
}

std::string text_of(StatusOr<std::string> read) {
  if (!read.ok()) throw UserError(message_of(read.status()));
  return *std::move(read);
}

// The result of `f`; errors begin with the path.
template <class F>
auto in_file(const std::string& path, const F& f) {
  try {
    return f();
  } catch (const UserError& e) {
    throw UserError(path + ": " + e.what());
  }
}

TensorData npy_tensor(const std::string& path, const PlainFile& file, int64_t wanted_bytes) {
  std::string begin = text_of(file.next(kMostNpyHeader));
  const NpyHeader header = in_file(path, [&] {
    NpyHeader h = npy_header(begin);
    const int64_t bytes = bytes_of(h.type), there = file.size() - static_cast<int64_t>(h.bytes);
    HONE_USER_CHECK(there == bytes) << to_string(h.type) << " takes " << bytes << " bytes; it has " << there;
    HONE_USER_CHECK(bytes <= most_bytes(wanted_bytes))
        << to_string(h.type) << " takes " << bytes << " bytes; wanted are " << wanted_bytes;
    return h;
  });
  std::string elements = begin.erase(0, header.bytes) + text_of(file.next(file.size()));
  HONE_USER_CHECK(std::ssize(elements) == bytes_of(header.type)) << path << ": it changed while it was read";
  return {header.type, std::move(elements)};
}

TensorData proto_tensor(const std::string& path, const PlainFile& file, int64_t wanted_bytes) {
  const std::string text = text_of(file.all(most_bytes_of_proto(wanted_bytes)));
  return in_file(path, [&] { return parse_onnx_tensor(text); });
}

}  // namespace

TensorData read_tensor_file(const std::string& path, int64_t wanted_bytes) {
  const StatusOr<PlainFile> file = PlainFile::open(path);
  if (!file.ok()) throw UserError(message_of(file.status()));
  return path.ends_with(".npy") ? npy_tensor(path, *file, wanted_bytes) : proto_tensor(path, *file, wanted_bytes);
}

}  // namespace hone
