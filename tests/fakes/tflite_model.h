// Models of TensorFlow Lite made by hand, with the tables that Hone reads.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/tflite/tflite_generated.h"

namespace hone {

namespace tables = tflite::file;

/// TensorFlow Lite's numbers of types, and of the operators that tests have by name.
enum TfliteType : int8_t {
  kTfFloat = 0,
  kTfHalf = 1,
  kTfInt = 2,
  kTfByte = 3,
  kTfLong = 4,
  kTfString = 5,
  kTfBool = 6,
  kTfShort = 7,
  kTfSigned = 9,
  kTfResource = 13
};

template <class T>
std::string bytes_of_numbers(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Scales and zero points of a tensor.
struct TfliteScales {
  std::vector<float> scale = {};
  std::vector<int64_t> zero = {};
  int axis = 0;
};

/// Tensors are known by their names; those that an operator names and nothing says more of are f32, [].
class TfliteModel {
 public:
  flatbuffers::FlatBufferBuilder b;  ///< for options and what else tests put into a model
  uint32_t version = 3;
  std::map<int32_t, int32_t> operator_versions;  ///< of operators for which a model says another one than 1

  TfliteModel& tensor(const std::string& name, const std::vector<int32_t>& shape, int8_t type = kTfFloat,
                      const TfliteScales& scales = {}, uint32_t buffer = 0, const std::vector<int32_t>& signature = {},
                      flatbuffers::Offset<tables::Sparsity> sparsity = 0, bool is_variable = false) {
    flatbuffers::Offset<tables::Quantization> q = 0;
    if (!scales.scale.empty()) q = tables::CreateQuantizationDirect(b, &scales.scale, &scales.zero, 0, scales.axis);
    indices_[name] = static_cast<int32_t>(tensors_.size());
    tensors_.push_back(tables::CreateTensorDirect(b, &shape, type, buffer, name.c_str(), q, is_variable, sparsity,
                                                  signature.empty() ? nullptr : &signature));
    return *this;
  }
  TfliteModel& input(const std::string& name, const std::vector<int32_t>& shape, int8_t type = kTfFloat,
                     const TfliteScales& scales = {}, const std::vector<int32_t>& signature = {}) {
    tensor(name, shape, type, scales, 0, signature);
    inputs_.push_back(indices_.at(name));
    return *this;
  }
  /// A tensor with these bytes.
  TfliteModel& data(const std::string& name, const std::vector<int32_t>& shape, int8_t type, const std::string& bytes,
                    const TfliteScales& scales = {}, flatbuffers::Offset<tables::Sparsity> sparsity = 0) {
    return tensor(name, shape, type, scales, buffer(bytes), {}, sparsity);
  }
  TfliteModel& floats(const std::string& name, const std::vector<int32_t>& shape, const std::vector<float>& values) {
    return data(name, shape, kTfFloat, bytes_of_numbers(values));
  }
  TfliteModel& numbers(const std::string& name, const std::vector<int32_t>& values) {
    return data(name, {static_cast<int32_t>(values.size())}, kTfInt, bytes_of_numbers(values));
  }
  TfliteModel& number(const std::string& name, int32_t value) {
    return data(name, {}, kTfInt, bytes_of_numbers<int32_t>({value}));
  }
  /// The sparsity of a matrix [2, 3] in rows, of which elements (0, 0), (0, 2) and (1, 2) are stored.
  flatbuffers::Offset<tables::Sparsity> three_of_two_rows() {
    const std::vector<int32_t> segments{0, 2, 3}, order{0, 1};
    const std::vector<uint8_t> places{0, 2, 2};
    const std::vector<flatbuffers::Offset<tables::SparseDimension>> dimensions{
        tables::CreateSparseDimension(b, 0, 2),
        tables::CreateSparseDimension(b, 1, 0, tables::Positions::Words,
                                      tables::CreateWordsDirect(b, &segments).Union(), tables::Positions::Bytes,
                                      tables::CreateBytesDirect(b, &places).Union())};
    return tables::CreateSparsityDirect(b, &order, nullptr, &dimensions);
  }
  uint32_t buffer(const std::string& bytes) {
    buffers_.push_back(
        tables::CreateBuffer(b, b.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())));
    return static_cast<uint32_t>(buffers_.size());  // behind the empty one
  }

  /// Bytes that a program leaves in the file under a name.
  TfliteModel& note(const std::string& name, const std::string& bytes) { return note_at(name, buffer(bytes)); }
  TfliteModel& note_at(const std::string& name, uint32_t buffer) {
    notes_.push_back(tables::CreateMetadataDirect(b, name.c_str(), buffer));
    return *this;
  }

  /// One whose data lie elsewhere in the file.
  uint32_t buffer_at(uint64_t offset, uint64_t size) {
    buffers_.push_back(tables::CreateBuffer(b, 0, offset, size));
    return static_cast<uint32_t>(buffers_.size());
  }

  /// `""` among the inputs: left out.
  TfliteModel& op(int32_t code, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    return add(code, "", inputs, outputs, tables::Options::NONE, 0, {});
  }
  template <class Options>
  TfliteModel& op(int32_t code, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                  flatbuffers::Offset<Options> options) {
    return add(code, "", inputs, outputs, tables::OptionsTraits<Options>::enum_value, options.Union(), {});
  }
  /// With options of a kind that Hone does not read, under TensorFlow Lite's number: fields, by their numbers, of a
  /// byte and of 32 bits.
  TfliteModel& op_with(int32_t code, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                       int kind, const std::map<int, int8_t>& bytes, const std::map<int, int32_t>& words = {}) {
    const auto start = b.StartTable();
    constexpr int kFirst = 4, kEach = 2;  // where flatbuffers keeps a field's place
    const auto place = [](int field) { return static_cast<flatbuffers::voffset_t>(kFirst + kEach * field); };
    for (const auto& [field, value] : words) b.AddElement<int32_t>(place(field), value);
    for (const auto& [field, value] : bytes) b.AddElement<int8_t>(place(field), value);
    const flatbuffers::Offset<void> options(b.EndTable(start));
    return add(code, "", inputs, outputs, static_cast<tables::Options>(kind), options, {});
  }
  TfliteModel& custom(const std::string& name, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, const std::vector<uint8_t>& options) {
    constexpr int32_t kCustom = 32;
    return add(kCustom, name, inputs, outputs, tables::Options::NONE, 0, options);
  }
  TfliteModel& output(const std::string& name) {
    outputs_.push_back(index(name));
    return *this;
  }

  /// Begins another subgraph, which control flow runs; the first one is the main one.
  TfliteModel& next_graph() {
    graphs_.push_back(tables::CreateSubGraphDirect(b, &tensors_, &inputs_, &outputs_, &operators_, "graph"));
    indices_.clear(), tensors_.clear(), inputs_.clear(), outputs_.clear(), operators_.clear();
    return *this;
  }
  /// Names for callers of tensors of the subgraph in the making, whose number is `graph`.
  TfliteModel& signature(const std::vector<std::pair<std::string, std::string>>& inputs,
                         const std::vector<std::pair<std::string, std::string>>& outputs, uint32_t graph = 0) {
    const auto ports = [&](const auto& named) {
      std::vector<flatbuffers::Offset<tables::PortName>> out;
      for (const auto& [name, tensor] : named)
        out.push_back(tables::CreatePortNameDirect(b, name.c_str(), static_cast<uint32_t>(index(tensor))));
      return out;
    };
    const auto in = ports(inputs), out = ports(outputs);
    signatures_.push_back(tables::CreateSignatureDirect(b, &in, &out, "serving_default", graph));
    return *this;
  }

  /// The file's bytes; the model is of no use afterwards.
  std::string bytes() {
    next_graph();
    std::vector<flatbuffers::Offset<tables::Buffer>> all{tables::CreateBuffer(b)};
    all.insert(all.end(), buffers_.begin(), buffers_.end());
    tables::FinishModelBuffer(
        b, tables::CreateModelDirect(b, version, &codes_, &graphs_, "made by hand", &all,
                                     notes_.empty() ? nullptr : &notes_, signatures_.empty() ? nullptr : &signatures_));
    return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
  }

 private:
  int32_t index(const std::string& name) {
    if (name.empty()) return -1;
    if (!indices_.contains(name)) tensor(name, {});
    return indices_.at(name);
  }

  TfliteModel& add(int32_t code, const std::string& custom, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, tables::Options type, flatbuffers::Offset<void> options,
                   const std::vector<uint8_t>& custom_options) {
    const auto key = std::pair{code, custom};
    if (!code_indices_.contains(key)) {
      code_indices_[key] = static_cast<uint32_t>(codes_.size());
      constexpr int32_t kMostOfOld = 127;
      codes_.push_back(tables::CreateOperatorCodeDirect(
          b, static_cast<int8_t>(std::min(code, kMostOfOld)), custom.empty() ? nullptr : custom.c_str(),
          operator_versions.contains(code) ? operator_versions[code] : 1, code));
    }
    std::vector<int32_t> in, out;
    for (const std::string& name : inputs) in.push_back(index(name));
    for (const std::string& name : outputs) out.push_back(index(name));
    operators_.push_back(tables::CreateOperatorDirect(b, code_indices_.at(key), &in, &out, type, options,
                                                      custom_options.empty() ? nullptr : &custom_options));
    return *this;
  }

  std::map<std::string, int32_t> indices_;
  std::map<std::pair<int32_t, std::string>, uint32_t> code_indices_;
  std::vector<flatbuffers::Offset<tables::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tables::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tables::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tables::Operator>> operators_;
  std::vector<int32_t> inputs_, outputs_;
  std::vector<flatbuffers::Offset<tables::SubGraph>> graphs_;
  std::vector<flatbuffers::Offset<tables::Metadata>> notes_;
  std::vector<flatbuffers::Offset<tables::Signature>> signatures_;
};

}  // namespace hone
