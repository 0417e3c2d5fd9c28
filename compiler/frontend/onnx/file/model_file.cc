#include "compiler/frontend/onnx/file/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "base/check.h"
#include "base/plain_file.h"
#include "compiler/graph/text.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

constexpr int kDeepest = 100;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Opens the file at a relative path below `folder`. No part may be a link or "..": data comes with its model.
int open_below(const std::string& folder, const std::string& name) {
  const std::filesystem::path path(name);
  HONE_USER_CHECK(!name.empty() && name.find('\0') == std::string::npos && path.is_relative())
      << "external data '" << name << "' must lie below the model's folder";
  int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (auto step = path.begin(); fd >= 0 && step != path.end(); ++step) {
    const File parent(fd);
    HONE_USER_CHECK(*step != "..") << "external data '" << name << "' must lie below the model's folder";
    const bool is_last = std::next(step) == path.end();
    fd = openat(parent.fd(), step->c_str(),
                O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY));
  }
  HONE_USER_CHECK(fd >= 0) << "external data '" << name << "' cannot be opened: " << strerror(errno)
                           << " (links are not followed)";
  return fd;
}

std::pair<std::shared_ptr<const void>, std::span<const char>> map_below(const std::string& folder,
                                                                        const std::string& name) {
  const File file(open_below(folder, name));
  struct stat info {};
  HONE_USER_CHECK(fstat(file.fd(), &info) == 0 && S_ISREG(info.st_mode))
      << "external data '" << name << "' is not a plain file";
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return {nullptr, {}};
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  HONE_USER_CHECK(data != MAP_FAILED) << "external data '" << name << "' cannot be mapped: " << strerror(errno);
  return {std::shared_ptr<const void>(data, [size](const void* p) { munmap(const_cast<void*>(p), size); }),
          {static_cast<const char*>(data), size}};
}

int64_t number_of(const std::string& text, const std::string& what) {
  size_t end = 0;
  int64_t n = -1;
  try {
    n = std::stoll(text, &end);
  } catch (const std::exception&) {
    end = std::string::npos;
  }
  HONE_USER_CHECK(end == text.size() && n >= 0) << what << "'" << text << "' is not a size";
  return n;
}

// Elements of 2 or 4 bits, the lowest of a byte first, in a byte each.
std::string in_bytes(std::span<const char> packed, int64_t count, int bits, bool is_signed) {
  const int in_byte = 8 / bits, all = 1 << bits;
  std::string out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(packed[static_cast<size_t>(i / in_byte)]);
    const int part = (byte >> (i % in_byte * bits)) & (all - 1);
    out += static_cast<char>(is_signed && part >= all / 2 ? part - all : part);
  }
  return out;
}

TensorData external(const Tensor& t, const TensorType& type, int64_t bytes, const std::string& what, ModelFile& file) {
  std::string name;
  int64_t offset = 0, length = bytes;
  for (const Entry& e : t.external_data()) {
    if (e.key() == "location") name = e.value();
    if (e.key() == "offset") offset = number_of(e.value(), what + "external offset ");
    if (e.key() == "length") length = number_of(e.value(), what + "external length ");
  }
  auto it = file.mapped.find(name);
  if (it == file.mapped.end()) it = file.mapped.emplace(name, map_below(file.folder, name)).first;
  const auto& [owner, all] = it->second;
  HONE_USER_CHECK(length == bytes && offset <= static_cast<int64_t>(all.size()) &&
                  bytes <= static_cast<int64_t>(all.size()) - offset)
      << what << "it takes " << bytes << " bytes; '" << name << "' has " << all.size() << ", of which " << length
      << " from " << offset << " on are named";
  return {type, owner, all.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes))};
}

template <class To, class From>
std::string converted(const From& values) {
  std::string out;
  out.reserve(static_cast<size_t>(values.size()) * sizeof(To));
  for (const auto v : values) {
    const To to = static_cast<To>(v);
    out.append(reinterpret_cast<const char*>(&to), sizeof(To));
  }
  return out;
}

// The elements that stand in the message's typed fields.
std::string typed_elements(const Tensor& t, DType type) {
  if (type == f32) return converted<float>(t.float_data());
  if (type == f64) return converted<double>(t.double_data());
  if (type == i64) return converted<int64_t>(t.int64_data());
  if (type == u64) return converted<uint64_t>(t.uint64_data());
  if (type == u32) return converted<uint32_t>(t.uint64_data());
  if (type == i32) return converted<int32_t>(t.int32_data());
  return type.bytes() == 2 ? converted<uint16_t>(t.int32_data()) : converted<uint8_t>(t.int32_data());
}

}  // namespace

ModelFile read_model(const std::string& path) {
  const StatusOr<PlainFile> file = PlainFile::open(path);
  HONE_USER_CHECK(file.ok()) << message_of(file.status());
  HONE_USER_CHECK(file->size() < std::numeric_limits<int>::max())
      << path << ": a model's file has at most 2 GB; larger weights lie beside it as external data";
  ModelFile out;
  google::protobuf::io::FileInputStream stream(file->fd());
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kDeepest);
  HONE_USER_CHECK(out.model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage())
      << path << ": not an ONNX file, or cut off, or nested deeper than " << kDeepest;
  HONE_USER_CHECK(out.model.has_graph() && out.model.opset_import_size() > 0)
      << path << ": not an ONNX model: it has no " << (out.model.has_graph() ? "opset" : "graph");
  out.folder = std::filesystem::path(path).parent_path().string();
  return out;
}

namespace {

TensorData read_tensor(const Tensor& t, ModelFile& file) {
  const std::string what = fmt::format("tensor '{}': ", t.name());
  const auto [dtype, encoding] = element_type_of(t.data_type(), what);
  HONE_USER_CHECK(t.dims_size() <= static_cast<int>(kMostAxes))
      << what << "it has " << t.dims_size() << " axes; " << kMostAxes << " are the most";
  TensorType type{dtype, {t.dims().begin(), t.dims().end()}};
  int64_t bytes = 0, count = 0;
  try {
    bytes = bytes_of(type);
    count = element_count(type.shape);
  } catch (const UserError& e) {
    throw UserError(what + e.what());
  }
  const int bits = encoding == Encoding::kPlain ? 8 : bits_of(encoding);
  const bool is_packed = bits < 8;
  if (is_packed) bytes = (count * bits + 7) / 8;
  if (t.data_location() == 1) {
    TensorData data = external(t, is_packed ? TensorType{u8, {bytes}} : type, bytes, what, file);
    if (!is_packed) return data;
    return {type, in_bytes(data.bytes(), count, bits, dtype == i8)};
  }
  std::string elements = t.has_raw_data() ? t.raw_data() : typed_elements(t, type.dtype);
  HONE_USER_CHECK(!elements.empty() || bytes == 0)
      << what << to_string(type) << " has no data: the model was stripped of its weights";
  HONE_USER_CHECK(static_cast<int64_t>(elements.size()) == bytes)
      << what << to_string(type) << " takes " << bytes << " bytes; the file has " << elements.size();
  if (type.dtype.is_bool())
    for (char& c : elements) c = c != 0;
  if (is_packed) elements = in_bytes(elements, count, bits, dtype == i8);
  return {std::move(type), std::move(elements)};
}

}  // namespace

TensorData tensor_of(const Tensor& t, ModelFile& file) {
  const auto known = file.read.find(&t);
  if (known != file.read.end()) return known->second;
  return file.read.emplace(&t, read_tensor(t, file)).first->second;
}

}  // namespace hone::onnx
