#include "compiler/frontend/onnx/tensor_file.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <regex>

#include "base/check.h"
#include "compiler/frontend/onnx/model_file.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

// numpy's letters, of little-endian machines.
DType dtype_of_npy(const std::string& text) {
  static const std::pair<const char*, DType> kTypes[] = {{"<f4", f32}, {"<f8", f64}, {"<f2", f16}, {"|i1", i8},
                                                         {"<i2", i16}, {"<i4", i32}, {"<i8", i64}, {"|u1", u8},
                                                         {"<u2", u16}, {"<u4", u32}, {"<u8", u64}, {"|b1", boolean}};
  for (const auto& [name, type] : kTypes)
    if (text == name) return type;
  throw UserError("elements of numpy's type '" + text + "' are not supported");
}

// "\x93NUMPY", version, length of the header, {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }, elements.
TensorData npy_tensor(const std::string& file) {
  constexpr size_t kFixed = 10;
  HONE_USER_CHECK(file.size() >= kFixed && file.compare(0, 6, "\x93NUMPY") == 0 && file[6] == 1)
      << "it is no .npy file of version 1";
  const size_t length = static_cast<uint8_t>(file[8]) | static_cast<size_t>(static_cast<uint8_t>(file[9])) << 8;
  HONE_USER_CHECK(file.size() >= kFixed + length) << "it is truncated";
  const std::string header = file.substr(kFixed, length);
  std::smatch m;
  static const std::regex kForm(
      R"(\{'descr': '([^']*)', 'fortran_order': (False|True), 'shape': \(([0-9, ]*)\), \}\s*)");
  HONE_USER_CHECK(std::regex_match(header, m, kForm)) << "its header is not understood";
  HONE_USER_CHECK(m[2] == "False") << "columns come first in it; rows must";
  TensorType type{dtype_of_npy(m[1]), {}};
  const std::string shape = m[3];
  static const std::regex kNumber("[0-9]{1,15}");
  for (std::sregex_iterator it(shape.begin(), shape.end(), kNumber), end; it != end; ++it)
    type.shape.push_back(std::stoll(it->str()));
  HONE_USER_CHECK(static_cast<int64_t>(file.size() - kFixed - length) == bytes_of(type))
      << to_string(type) << " takes " << bytes_of(type) << " bytes; it has " << file.size() - kFixed - length;
  return {type, file.substr(kFixed + length)};
}

TensorData proto_tensor(const std::string& file) {
  onnx::Tensor t;
  HONE_USER_CHECK(t.ParseFromString(file)) << "it is no ONNX tensor";
  onnx::ModelFile nothing;
  HONE_USER_CHECK(t.data_location() != 1) << "its elements lie in another file";
  return onnx::tensor_of(t, nothing);
}

}  // namespace

TensorData read_tensor_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  HONE_USER_CHECK(in) << path << ": cannot be opened";
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  try {
    return path.ends_with(".npy") ? npy_tensor(file) : proto_tensor(file);
  } catch (const UserError& e) {
    throw UserError(path + ": " + e.what());
  }
}

}  // namespace hone
