// One node of an ONNX model, and the lowering that knows the model's file: the arguments of all converters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"
#include "compiler/frontend/onnx/file/element_type.h"
#include "compiler/frontend/onnx/file/model_file.h"

namespace hone::onnx {

using namespace frontend;  // converters are written in its words

/// A lowering with the contents of an ONNX file.
class FileLowering : public Lowering {
 public:
  FileLowering(GraphBuilder& builder, ModelFile& file, double most_bytes)
      : Lowering(builder, most_bytes), file_(file) {}
  /// For another graph, of the same file and function.
  FileLowering(GraphBuilder& builder, const FileLowering& other)
      : Lowering(builder, other), function_attributes(other.function_attributes), file_(other.file_) {}

  Operand of_proto(const Tensor& t) {
    Operand out = constant(tensor_of(t, file_), t.name());
    out.encoding = element_type_of(t.data_type(), "").encoding;
    return out;
  }

  /// The attributes, by name, of the model's function whose nodes are read; nodes' attributes may refer to them. Null
  /// outside of functions.
  const std::map<std::string, const Attribute*, std::less<>>* function_attributes = nullptr;

 private:
  ModelFile& file_;
};

/// One node of the model while it is read.
struct NodeContext {
  const Node& node;
  int64_t opset;  ///< of the node's domain
  std::vector<std::optional<Operand>> inputs;
  std::vector<Operand> outputs;  ///< to be filled in, as many as the node names
  FileLowering& l;
  std::vector<bool> is_wanted;  ///< of each output: whether something reads it, or it is one of the model's

  bool has(size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  /// Whether something reads this output, or it is one of the model's.
  bool wants(size_t output) const {
    return output < outputs.size() && (output >= is_wanted.size() || is_wanted[output]);
  }
  /// UserError where it is left out.
  const Operand& in(size_t i) const;
  /// Input `i`, which must be known while the model is read.
  TensorData constant(size_t i, std::string_view what) const;
  /// The same of whole numbers, at most `most` of them (a few bytes of a file may compute any number), and of a single
  /// one.
  std::vector<int64_t> constant_numbers(size_t i, std::string_view what, size_t most = 2 * kMostAxes) const;
  int64_t constant_number(size_t i, std::string_view what) const;

  const Attribute* find(std::string_view name) const;
  int64_t number(std::string_view name, int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::optional<Extents> numbers(std::string_view name) const;
  /// UserError where something reads an output behind the first `n`.
  void require_outputs(size_t n) const;
};

using Converter = void (*)(NodeContext& c);
/// Runs `convert` on a node that is several operators here, with inputs of f16 or bf16 as f32: values between them are
/// f32 at least, as an operator's sums are, and the outputs are rounded once, to the type of the first such input.
void run_in_f32(NodeContext& c, Converter convert);
/// The same as a converter.
template <Converter converter>
void in_f32(NodeContext& c) {
  run_in_f32(c, converter);
}
/// Converters by `domain:operator`; ONNX's own domain is empty.
using ConverterTable = std::unordered_map<std::string, Converter>;
/// All converters.
const ConverterTable& converters();
void add_constant_operators(ConverterTable& t);
void add_pointwise_operators(ConverterTable& t);
void add_movement_operators(ConverterTable& t);
void add_resize_operators(ConverterTable& t);
void add_conv_transpose_operators(ConverterTable& t);
void add_window_operators(ConverterTable& t);
void add_product_operators(ConverterTable& t);
void add_reduction_operators(ConverterTable& t);
void add_quantized_operators(ConverterTable& t);
void add_microsoft_quantized_operators(ConverterTable& t);
void add_position_operators(ConverterTable& t);
void add_loss_operators(ConverterTable& t);
void add_fourier_operators(ConverterTable& t);
void add_einsum_operators(ConverterTable& t);
void add_sampling_operators(ConverterTable& t);
void add_recurrent_operators(ConverterTable& t);
void add_selection_operators(ConverterTable& t);
void add_norm_operators(ConverterTable& t);
void add_attention_operators(ConverterTable& t);
void add_fused_operators(ConverterTable& t);
void add_block_operators(ConverterTable& t);
void add_region_operators(ConverterTable& t);
void add_ngram_operators(ConverterTable& t);
void add_sequence_operators(ConverterTable& t);

}  // namespace hone::onnx
