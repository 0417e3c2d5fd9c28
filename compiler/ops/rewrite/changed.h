// Workloads that differ from another in one thing, as passes need them. A chain is given as a value; its text, which
// databases keep, is written here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/functions/chain.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/workload.h"

namespace hone {

/// `w` with this text for an attribute; as Workload::changed().
Workload with(const Workload& w, std::string_view attribute, std::string_view text);

/// `w`, an operator that moves elements, of elements of type `t`.
Workload with_elements(const Workload& w, DType t);
/// `w`, a convolution or a dense product, with so many output channels.
Workload with_output_channels(const Workload& w, int64_t channels);
/// `w`, a convolution, with so many of the rows and columns at the ends of its image as padding. UserError for more
/// than an operator may have.
Workload with_padding_for(const Workload& w, const Pads& ends);
/// `w`, products of f16 with sums in f32, with sums in f16 (runs.h); nothing where it is something else.
std::optional<Workload> with_sums_in_f16(const Workload& w);

/// `w` with its weights of f16 or bf16 in f32; nothing where it has none, or sums in f16.
std::optional<Workload> with_weights_in_f32(const Workload& w);

/// `w` with this chain, in canonical form, behind its own result, whose shape is `value`. UserError when the operator
/// does not take it: it is too long.
Workload with_epilogue(const Workload& w, const Chain& chain, const std::vector<int64_t>& value,
                       const FunctionTable& functions);
/// `w` with this chain, of f32, in front of its first input, whose shape is `value`; else as with_epilogue().
/// `channel_axis`: of that value, where it has channels.
Workload with_prologue(const Workload& w, const Chain& chain, const std::vector<int64_t>& value,
                       const FunctionTable& functions, std::optional<size_t> channel_axis = std::nullopt);
/// The `elementwise` workload `w` with these functions of an x of type `x`; nothing where they do nothing.
std::optional<Workload> with_functions(const Workload& w, const Chain& chain, DType x, const FunctionTable& functions);

/// `w`, a convolution or pooling of planes, with its input's channels in blocks of `in` and its output's in blocks of
/// `out`; a convolution of so many channels, which may be more than it had.
Workload with_blocks(const Workload& w, int64_t in, int64_t out, int64_t input_channels, int64_t output_channels);
/// `w`, a convolution in f32, of a picture of `given` numbers through this chain; interleaved: its channels innermost.
Workload with_picture(const Workload& w, DType given, bool is_interleaved, const Chain& chain,
                      const FunctionTable& functions);

/// x seen with another shape of as many elements, and with its axes in another order.
Workload reshape_of(const OperatorTable& operators, const TensorType& x, const std::vector<int64_t>& to);
Workload transpose_of(const OperatorTable& operators, const TensorType& x, const std::vector<int64_t>& perm);

/// The operation of `w` on one image, for x of another type: a reduction over rows and columns, which stay as axes of
/// one element; padding around x with zeros (or w's value, or neighbours); x resized to `size` in w's axes.
Workload reduction_of_planes(const OperatorTable& operators, const Workload& w, const TensorType& x);
Workload pad_of(const OperatorTable& operators, const Workload& w, const TensorType& x,
                const std::vector<int64_t>& before, const std::vector<int64_t>& after);
Workload resize_of(const OperatorTable& operators, const Workload& w, const TensorType& x,
                   const std::vector<int64_t>& size);
/// A product of matrices of the types of `w`, another one, without its chains.
Workload product_of(const OperatorTable& operators, const Workload& w, const std::vector<TensorType>& types);

/// The `elementwise` workload of this chain on tensors of these types, x first; nothing where it does nothing.
/// UserError as infer().
std::optional<Workload> elementwise_of(const OperatorTable& operators, const FunctionTable& functions,
                                       const Chain& chain, const std::vector<TensorType>& types);

}  // namespace hone
