// A model's file, its tensors and what is stored of them. Nothing in a file is trusted: flatbuffers' verifier has seen
// that all tables lie in it; numbers, sizes and names are checked before they are used.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/frontend/tflite/tflite_generated.h"
#include "compiler/graph/tensor_data.h"

namespace hone::tflite {

/// How whole numbers stand for real ones: (number - zero) * scale.
struct Scales {
  std::vector<float> scale;   ///< one, or one for each extent of `axis`
  std::vector<int64_t> zero;  ///< as many
  size_t axis = 0;
  bool operator==(const Scales&) const = default;
};

/// A tensor of a subgraph.
struct TensorInfo {
  std::string name;                              ///< for messages; `tensor 3` where the file has none
  TensorType type;                               ///< an extent that callers choose is 1
  std::vector<std::optional<int64_t>> declared;  ///< extents; none: callers choose it
  uint32_t buffer = 0;
  const file::Sparsity* sparsity = nullptr;
  std::optional<Scales> scales;
  bool is_variable = false;
  bool is_resource = false;  ///< it names a variable: `type` is of s32
  bool is_complex = false;   ///< `type` is of f32: a value has a last axis more, of real and imaginary parts
};

/// Names of the main subgraph's inputs and outputs, by their tensors.
struct PortNames {
  std::map<int64_t, std::string> inputs, outputs;
};

/// A model as read.
class ModelFile {
 public:
  /// UserError, one line that begins with the path, for a file that cannot be read, is larger than 2 GB, or is no model
  /// of TensorFlow Lite: cut off, with tables that lie outside of it, nested deeper than 64, more than 4 million.
  explicit ModelFile(const std::string& path);

  /// The main one, which every file has, and those of control flow behind it.
  const file::SubGraph& graph(size_t index = 0) const;
  size_t graph_count() const { return model_->subgraphs()->size(); }
  /// UserError, as below, for an index that is none.
  const file::OperatorCode& code(uint32_t index) const;
  /// UserError, one line with the tensor's name, for an index that is none, a type that is not supported, more axes
  /// than a graph has, negative or huge extents, and scales that are none.
  const TensorInfo& tensor(int64_t index, size_t graph = 0);
  /// Those of the first signature of the main subgraph, where the file has one.
  PortNames port_names() const;
  /// The bytes that programs left in it under this name; empty where there are none. UserError, one line, for a buffer
  /// that is none or lies outside of the file.
  std::string_view note(std::string_view name) const;
  /// All of the file; files may be packed behind the model.
  std::string_view bytes() const { return *bytes_; }
  /// Whether the file has elements of it.
  bool has_data(const TensorInfo& t) const;
  /// These elements, all of them where they are stored sparsely. UserError, one line with the tensor's name, where
  /// there are more or fewer than its type says.
  TensorData data_of(const TensorInfo& t) const;

 private:
  std::span<const char> bytes_of_buffer(uint32_t buffer, const std::string& what) const;

  std::shared_ptr<const std::string> bytes_;
  const file::Model* model_ = nullptr;
  std::map<std::pair<size_t, int64_t>, TensorInfo> tensors_;  ///< those that were asked for, by graph and index
};

}  // namespace hone::tflite
