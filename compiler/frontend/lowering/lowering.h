// Operands, and the graph that is being built: shared by all readers of models.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/lowering/encoding.h"
#include "compiler/graph/builder.h"
#include "compiler/graph/text.h"
#include "compiler/ir/extents.h"

namespace hone::frontend {

/// Along `axis` only the first elements are the model's, as many as `count` (s64[1]) is when a call has computed it.
struct Ragged {
  size_t axis = 0;
  ValueId count = kNoValue;
  bool operator==(const Ragged&) const = default;
};

struct Operand;
/// The elements of a sequence in the model.
using Sequence = std::vector<Operand>;

/// A tensor of the model, or a sequence of them. The graph's value has the same elements in the same order, perhaps
/// under another shape: of rank 0 there are none in a graph.
struct Operand {
  ValueId id = kNoValue;  ///< none where the tensor has no elements
  TensorType type;        ///< as the model has it
  /// For numbers that depend on a call: their values for the most rows (graph/growth.h); shapes are computed from them.
  std::optional<TensorData> known = std::nullopt;
  /// For numbers found at run time: a lower bound of each; `known` holds the upper bounds then (ragged.h).
  std::optional<TensorData> least = std::nullopt;
  std::optional<Ragged> ragged = std::nullopt;         ///< `type` has the most elements that there may be
  Encoding encoding = Encoding::kPlain;                ///< of its elements
  std::shared_ptr<const Sequence> sequence = nullptr;  ///< where it is one: there is no value then
  bool is_nothing = false;                             ///< an optional that holds nothing; no value either
  bool is_empty() const { return id == kNoValue; }
  size_t rank() const { return type.shape.size(); }
};

/// UserError for a shape of more than kMostAxes axes.
void check_axes(const Extents& shape);

/// Adds the nodes that models' operators are made of. Shapes are the model's.
class Lowering {
 public:
  /// `most_bytes`: of constants that are made out of nothing.
  Lowering(GraphBuilder& builder, double most_bytes) : b(builder), most_bytes_(static_cast<int64_t>(most_bytes)) {}
  /// For another graph, of the same model.
  Lowering(GraphBuilder& builder, const Lowering& other)
      : b(builder), rows_are_counted(other.rows_are_counted), most_bytes_(other.most_bytes_), is_model_(false) {}

  Operand constant(const TensorData& data, std::string_view name = "");
  Operand numbers(const std::vector<int64_t>& values) { return constant(TensorData::of_numbers(values)); }
  /// One number of this type, of rank 0.
  Operand number(double v, DType t);
  /// How a caller makes this operand known, behind "must be known": which inputs' elements to give, where they are few.
  std::string how_to_know(const Operand& x) const;
  /// Null unless the operand is known while the model is read.
  std::optional<TensorData> data_of(const Operand& x) const;

  /// A tensor of this type, all of whose elements are `v`.
  Operand filled(double v, const TensorType& type);

  /// A function of the table on operands that are broadcast as numpy does. `text` is a chain's: `mul`, `cast:f32`.
  Operand pointwise(const std::string& text, const std::vector<Operand>& operands);
  Operand cast(const Operand& x, DType to);
  Operand reshape(const Operand& x, Extents shape);
  Operand transpose(const Operand& x, const Extents& perm);
  Operand broadcast(const Operand& x, const Extents& shape);
  Operand concat(const std::vector<Operand>& parts, int64_t axis);
  Operand slice(const Operand& x, const Extents& begin, const Extents& step, const Extents& size);
  /// `op`: of the operator reduce. Axes are from 0, ascending.
  Operand reduce(const std::string& op, const Operand& x, const Extents& axes, bool keepdims);
  /// Positions as s64, those from the end (negative ones) counted from the front of `extent` elements, which is
  /// broadcast.
  Operand from_front(const Operand& positions, const Operand& extent);
  /// x B with B [k, n] (or [n, k] where `transposed`), x of any rank; `epilogue` and its operands as dense has them.
  Operand dense(const Operand& x, const Operand& weight, bool transposed, const std::string& epilogue = "none",
                const std::vector<Operand>& more = {});
  /// Products of matrices, [..., m, k] and [..., k, n].
  Operand batch_matmul(const Operand& a, const Operand& b);
  /// ONNX's MatMul, which takes vectors, too; a product by a known matrix is dense().
  Operand matmul(Operand x, Operand y);

  /// One operator with one output of the graph's own shape; `shape` is the output's shape in the model.
  Operand add(std::string_view op, const AttributeTexts& given, const std::vector<ValueId>& inputs,
              std::optional<Extents> shape = std::nullopt);
  /// The operand's value under `shape`.
  ValueId as(const Operand& x, const Extents& shape);
  /// The operand's value under its own shape, [1] where the rank is 0.
  ValueId value(const Operand& x) { return as(x, x.type.shape.empty() ? Extents{1} : x.type.shape); }

  /// Whether a constant of so many bytes may be made out of nothing: a quarter of all such bytes each.
  bool may_make(int64_t bytes);
  /// Counts bytes that weights of few bits take as floats. UserError where a model has too many.
  void count_expanded(int64_t bytes);

  /// The operand for this key: made by make() once, then the same one, so that equal values are recognised as equal.
  template <class F>
  Operand once(const std::vector<int64_t>& key, const F& make) {
    const auto known = once_.find(key);
    return known != once_.end() ? known->second : once_.emplace(key, make()).first->second;
  }

  GraphBuilder& b;
  /// The model is read for one of several numbers of rows of its caches (GrowingModel), which hold no others.
  bool rows_are_counted = false;
  std::string output_name;  ///< for the value that is added next

 private:
  const int64_t most_bytes_;
  const bool is_model_ = true;  ///< the graph's inputs are the model's
  int64_t made_bytes_ = 0, expanded_bytes_ = 0;
  std::map<std::vector<int64_t>, Operand> once_;
};

/// A number as chains have it.
std::string number_text(double v, DType t);
std::string join(const Extents& numbers, std::string_view separator = ":");
std::string extents_text(const Extents& shape);
/// The shape that numpy broadcasts these to. UserError where they do not fit.
Extents broadcast_shape(const std::vector<Extents>& shapes);
/// `axis` of a tensor of this rank, those from the end (negative ones) counted from 0. UserError where it is out of
/// range.
int64_t axis_of(int64_t axis, size_t rank);

}  // namespace hone::frontend
