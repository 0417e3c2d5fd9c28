#include "compiler/frontend/tflite/file/model_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/plain_file.h"
#include "base/text.h"
#include "compiler/frontend/tflite/file/element_type.h"
#include "compiler/frontend/tflite/file/sparse.h"
#include "compiler/graph/text.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

constexpr int64_t kMostBytes = (int64_t{1} << 31) - 2;  // flatbuffers' offsets
constexpr int kDeepest = 64;
constexpr int kMostTables = 1 << 22;
constexpr size_t kMostOfName = 200;

// As read: null where the file has no such scales.
std::optional<Scales> scales_of(const file::Quantization* q, const TensorType& type, const std::string& what) {
  if (!q || !q->scale() || q->scale()->size() == 0 || !type.dtype.is_integer()) return std::nullopt;
  HONE_USER_CHECK(q->details_type() == 0) << what << "its quantization is none by scales, which is not supported";
  Scales s;
  const size_t count = q->scale()->size();
  if (count > 1) {
    const int64_t axis = q->quantized_dimension();
    HONE_USER_CHECK(axis >= 0 && axis < static_cast<int64_t>(type.shape.size()) &&
                    type.shape[static_cast<size_t>(axis)] == static_cast<int64_t>(count))
        << what << "it has " << count << " scales for axis " << axis << " of " << to_string(type);
    s.axis = static_cast<size_t>(axis);
  }
  const size_t zeros = q->zero_point() ? q->zero_point()->size() : 0;
  HONE_USER_CHECK(zeros == 0 || zeros == count)
      << what << "it has " << count << " scales and " << zeros << " zero points";
  const int bits = type.dtype.bits;
  const bool is_signed = type.dtype.code == TypeCode::kInt;
  for (size_t i = 0; i < count; ++i) {
    const float scale = q->scale()->Get(static_cast<flatbuffers::uoffset_t>(i));
    HONE_USER_CHECK(std::isfinite(scale) && scale > 0) << what << "a scale of " << scale;
    // The verifier lets a vector of these begin at any multiple of four bytes.
    int64_t zero = 0;
    if (zeros) std::memcpy(&zero, q->zero_point()->Data() + i * sizeof(zero), sizeof(zero));
    // Types wider than 16 bits have no zero point but 0.
    const int64_t least = bits > 16   ? 0
                          : is_signed ? -(int64_t{1} << (bits - 1))
                                      : 0,
                  most = bits > 16 ? 0 : (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    HONE_USER_CHECK(zero >= least && zero <= most)
        << what << "a zero point of " << zero << " among " << to_string(type.dtype);
    s.scale.push_back(scale);
    s.zero.push_back(zero);
  }
  return s;
}

}  // namespace

ModelFile::ModelFile(const std::string& path) {
  const StatusOr<PlainFile> file = PlainFile::open(path);
  HONE_USER_CHECK(file.ok()) << message_of(file.status());
  StatusOr<std::string> bytes = file->all(kMostBytes);
  HONE_USER_CHECK(bytes.ok()) << message_of(bytes.status());
  bytes_ = std::make_shared<const std::string>(*std::move(bytes));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes_->data()), bytes_->size(), kDeepest,
                                 kMostTables);
  HONE_USER_CHECK(bytes_->size() >= 8 && file::VerifyModelBuffer(verifier))
      << path << ": not a model of TensorFlow Lite, or cut off";
  model_ = file::GetModel(bytes_->data());
  constexpr uint32_t kVersion = 3;
  HONE_USER_CHECK(model_->version() == kVersion)
      << path << ": it is of version " << model_->version() << " of the format; " << kVersion << " is supported";
  HONE_USER_CHECK(model_->subgraphs() && model_->subgraphs()->size() > 0) << path << ": it has no subgraph";
}

const file::SubGraph& ModelFile::graph(size_t index) const {
  HONE_USER_CHECK(index < graph_count()) << "there is no subgraph " << index << "; there are " << graph_count();
  return *model_->subgraphs()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

const file::OperatorCode& ModelFile::code(uint32_t index) const {
  const size_t count = model_->codes() ? model_->codes()->size() : 0;
  HONE_USER_CHECK(index < count) << "an operator's code has the index " << index << "; there are " << count << " codes";
  return *model_->codes()->Get(index);
}

const TensorInfo& ModelFile::tensor(int64_t index, size_t graph_index) {
  const auto known = tensors_.find({graph_index, index});
  if (known != tensors_.end()) return known->second;
  const auto* tensors = graph(graph_index).tensors();
  const int64_t count = tensors ? tensors->size() : 0;
  HONE_USER_CHECK(index >= 0 && index < count) << "there is no tensor " << index << "; there are " << count;
  const file::Tensor& t = *tensors->Get(static_cast<flatbuffers::uoffset_t>(index));
  TensorInfo info;
  info.name = t.name() ? short_line(t.name()->string_view(), kMostOfName) : "";
  if (info.name.empty()) info.name = fmt::format("tensor {}", index);
  const std::string what = fmt::format("tensor {} '{}': ", index, info.name);
  const size_t rank = t.shape() ? t.shape()->size() : 0;
  HONE_USER_CHECK(rank <= kMostAxes) << what << "it has " << rank << " axes; " << kMostAxes << " are the most";
  info.is_resource = is_resource(t.type());
  info.is_complex = is_complex(t.type());
  info.type.dtype = info.is_resource ? i32 : info.is_complex ? f32 : dtype_of(t.type(), what);
  const bool has_signature = t.shape_signature() && t.shape_signature()->size() == rank;
  for (size_t d = 0; d < rank; ++d) {
    const auto i = static_cast<flatbuffers::uoffset_t>(d);
    const int64_t extent = t.shape()->Get(i), signature = has_signature ? t.shape_signature()->Get(i) : extent;
    HONE_USER_CHECK(extent >= 0 || extent == -1) << what << "an extent of " << extent;
    const bool is_open = extent < 0 || signature < 0;
    info.declared.push_back(is_open ? std::nullopt : std::optional(extent));
    info.type.shape.push_back(is_open ? 1 : extent);
  }
  try {
    bytes_of(info.type);
  } catch (const UserError& e) {
    throw UserError(what + e.what());
  }
  info.buffer = t.buffer();
  info.sparsity = t.sparsity();
  info.is_variable = t.is_variable();
  info.scales = scales_of(t.quantization(), info.type, what);
  return tensors_.emplace(std::pair(graph_index, index), std::move(info)).first->second;
}

PortNames ModelFile::port_names() const {
  PortNames names;
  const auto read = [](const auto* ports, std::map<int64_t, std::string>* out) {
    for (size_t i = 0; ports && i < ports->size(); ++i) {
      const file::PortName& port = *ports->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (port.name() && port.name()->size() > 0)
        out->emplace(port.tensor(), short_line(port.name()->string_view(), kMostOfName));
    }
  };
  for (size_t i = 0; model_->signatures() && i < model_->signatures()->size(); ++i) {
    const file::Signature& signature = *model_->signatures()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (signature.graph() != 0) continue;
    read(signature.inputs(), &names.inputs);
    read(signature.outputs(), &names.outputs);
    break;
  }
  return names;
}

std::span<const char> ModelFile::bytes_of_buffer(uint32_t buffer, const std::string& what) const {
  if (buffer == 0) return {};  // by convention the empty one
  const size_t count = model_->buffers() ? model_->buffers()->size() : 0;
  HONE_USER_CHECK(buffer < count) << what << ": its buffer is " << buffer << "; there are " << count;
  const file::Buffer& b = *model_->buffers()->Get(buffer);
  if (b.offset() > 1) {  // 0 and 1 say that the data are in the table
    HONE_USER_CHECK(b.offset() <= bytes_->size() && b.size() <= bytes_->size() - b.offset())
        << what << ": its " << b.size() << " bytes from " << b.offset() << " on lie outside of the file";
    return std::span<const char>(*bytes_).subspan(b.offset(), b.size());
  }
  if (!b.data()) return {};
  return {reinterpret_cast<const char*>(b.data()->data()), b.data()->size()};
}

std::string_view ModelFile::note(std::string_view name) const {
  for (size_t i = 0; model_->metadata() && i < model_->metadata()->size(); ++i) {
    const file::Metadata& m = *model_->metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (!m.name() || m.name()->string_view() != name) continue;
    const std::span<const char> found = bytes_of_buffer(m.buffer(), m.name()->str());
    return {found.data(), found.size()};
  }
  return {};
}

bool ModelFile::has_data(const TensorInfo& t) const {
  return !bytes_of_buffer(t.buffer, "tensor '" + t.name + "'").empty();
}

TensorData ModelFile::data_of(const TensorInfo& t) const {
  const std::span<const char> stored = bytes_of_buffer(t.buffer, "tensor '" + t.name + "'");
  const std::string what = fmt::format("tensor '{}': ", t.name);
  if (t.sparsity) return densified(*t.sparsity, t.type, stored, what);
  const int64_t bytes = bytes_of(t.type);
  HONE_USER_CHECK(static_cast<int64_t>(stored.size()) == bytes)
      << what << to_string(t.type) << " takes " << bytes << " bytes; the file has " << stored.size();
  if (!t.type.dtype.is_bool()) return {t.type, bytes_, stored};
  std::string elements(stored.begin(), stored.end());
  for (char& c : elements) c = c != 0;
  return {t.type, std::move(elements)};
}

}  // namespace hone::tflite
