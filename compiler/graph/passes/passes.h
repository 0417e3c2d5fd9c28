// The passes over graphs: each a function of its own file, run by the driver of ir/passes.h.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/graph/fusion_notes.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/growth.h"
#include "compiler/graph/passes/user_pass.h"
#include "compiler/ir/passes.h"

namespace hone {

/// Seconds of the best known kernel of a workload on the target; nothing when none was measured there.
using MeasuredTime = std::function<std::optional<double>(const Workload&)>;

/// How much passes do, as -O says: the named sets of passes, each with those before it.
enum class OptLevel : uint8_t {
  kNeeded,    ///< what kernels and options ask for; each node of the model has a kernel of its own
  kSimplify,  ///< nodes that do nothing, or the same as others, go; movement and functions become shorter
  kFuse,      ///< nodes become one; products of bytes, rows and attention are recognized
  kAll,       ///< layouts, siblings, and what measured times decide
};

/// The tables and options that passes create nodes with. Must outlive the passes.
struct PassContext {
  const OperatorTable& operators;
  const FunctionTable& functions;
  /// Vector lanes of f32 on the target: the size of channel blocks between convolutions. 0: no blocks.
  int64_t lanes = 0;
  /// Output: the reasons why nodes were not fused; may be null.
  FusionNotes* notes = nullptr;
  /// Measured times of kernels; empty: none.
  MeasuredTime measured = {};
  /// Output: workloads without a measurement that a pass would compare, for the tuner to measure; may be null.
  std::vector<Workload>* alternatives = nullptr;
  /// Bytes: parts of tensors that begin at a multiple of this are views, others are copied.
  int64_t part_alignment = 1;
  /// Caches that grow in place; null: there are none.
  const Growth* growth = nullptr;
  /// Whether products of f16 are summed in f16, in runs (ops/runs.h).
  bool sums_in_f16 = false;
  /// The types whose products the target computes more slowly than those of f32.
  std::vector<DType> slow_products = {};
  bool for_gpu = false;  ///< the target is one, whose templates take no layouts of CPUs
  OptLevel level = OptLevel::kAll;
  const std::vector<UserPass>* user_passes = nullptr;  ///< null: none
};

/// Products of f16 with sums in f32   ->   with sums in f16 (dtype f16:f16:f16:…)
Graph sum_in_f16(const Graph& g, const PassContext& context);

/// Products of weights of 16 bits by many rows, of a type that the target multiplies slowly   ->   by weights in f32
/// (dtype bf16:f32:…), unless that was measured to be slower.
Graph multiply_in_f32(const Graph& g, const PassContext& context);

/// All passes for models of the context's level, in order, with the user's between them. UserError as
/// with_user_passes().
std::vector<Pass<Graph>> graph_passes(const PassContext& context);
/// UserError, one line, unless all of `names` are passes of some level, or the user's: what is left out by them.
void check_pass_names(const std::vector<std::string>& names, const std::vector<UserPass>& own);
/// The names of the passes that a level has beyond those of the one before it, for help: `fold_pads, fold_repeats`.
std::string names_of_level(OptLevel level);

/// Removes nodes whose outputs have no reader, and unused values.
Graph remove_dead(const Graph& g);
/// Two nodes of one workload on the same inputs become one.
Graph share_nodes(const Graph& g, const PassContext& context);
/// Transposes that change no position in memory become reshapes; transposes of transposes one; reshapes of reshapes
/// one, and those to the same shape none.
Graph simplify_movement(const Graph& g, const PassContext& context);
/// Transposes of transposes, seen under other shapes in between, become one where their axes are pieces of each other:
/// blocks of channels, shuffled and put in blocks again, are moved once. Not where only few elements stay together.
Graph join_transposes(const Graph& g, const PassContext& context);
/// Zeros around images that a convolution reads   ->   its own padding
Graph fold_pads(const Graph& g, const PassContext& context);
/// Products of one row with repeated matrices (the keys that a group of heads shares, expanded)   ->   products of
/// several rows with each matrix once: a decoder reads its cache once, not once a head.
Graph fold_repeats(const Graph& g, const PassContext& context);
/// Products and convolutions of numbers that bytes were dequantised to, with weights that are whole numbers times a
/// scale a channel   ->   sums of products of bytes (u8 by s8, exact in s32), scaled
/// So are products of two inputs (batch_matmul) whose result becomes bytes.
/// Dense products of few rows of floats with such weights read them as bytes (f32 by s8). The weights' whole numbers
/// are found in the numbers themselves, however an exporter came to them.
Graph narrow_products(const Graph& g, const PassContext& context);
/// Steps of an output's bytes go into the factors that sums of bytes are scaled with; functions from one byte to the
/// next that do nothing, or bound it, become that: a bound behind a quantisation, a pooling between equal ones.
Graph fold_requantization(const Graph& g, const PassContext& context);
/// softmax, layer_norm, rms_norm and l2_norm in place of the means, roots and quotients that exporters write, with the
/// constants that scale and shift a row. For f32 and f64 only: 16-bit types round between these nodes.
Graph recognize_rows(const Graph& g, const PassContext& context);
/// Functions, concatenations and slices of sequences ([n, c, l]) that a convolution gave as images of one row ([n, c,
/// 1, l]) are of images, too: they lie in blocks of channels then, as the convolutions around them want.
Graph sequences_as_images(const Graph& g, const PassContext& context);
/// elementwise(f) behind elementwise(g), its only reader   ->   elementwise(g+f)
/// Also where f reads an input of g (`x=s+sigmoid+mul[s]`), and where it reads g's result several times.
Graph fuse_elementwise(const Graph& g, const PassContext& context);
/// elementwise(f) behind an operator that a user defines, its only reader   ->   an operator with both definitions in
/// one. Also cheap functions, transposes, slices and repetitions in front of it, of which it reads each element about
/// once.
Graph compose_definitions(const Graph& g, const PassContext& context);
/// elementwise(f) of a moved value, its only reader   ->   movement of elementwise(f)'s result
/// When the value comes from an operator with an epilogue: fuse_epilogues then finds f behind it. Past views, too: the
/// constant operands of f are repeated where several positions of the operator's result have the same.
Graph sink_transposes(const Graph& g, const PassContext& context);
/// elementwise(f) behind an operator with an epilogue, its only reader   ->   the operator with `+f` in its epilogue
/// Also through a view between them.
Graph fuse_epilogues(const Graph& g, const PassContext& context);
/// An operator on elementwise(f), its only reader, which reads each element about once   ->   the operator with f as
/// its prologue, where f is a few instructions: rows (softmax, norms) and poolings whose windows do not overlap.
Graph fuse_prologues(const Graph& g, const PassContext& context);
/// Functions of f32 and f64 as short as possible: a division by a number becomes a product, and the chains that
/// exporters write for silu, hard_swish and gelu become these.
Graph simplify_chains(const Graph& g, const PassContext& context);
/// softmax(Q K) V, three nodes and views between them without other readers   ->   attention
Graph fuse_attention(const Graph& g, const PassContext& context);
/// Attention over a cache's rows, one of them new   ->   cached_attention, with the number of rows as an input
/// Keys are read in rows, as they lie. Only for a graph with caches that grow (PassContext::growth).
Graph use_caches(const Graph& g, const PassContext& context);
/// Constant scales and shifts of the channels of a convolution or a dense product   ->   in its weights and its bias
/// Behind another function they go into the weights of all readers instead. In front of borders, which are zeros, a
/// shift stays.
Graph fold_scales(const Graph& g, const PassContext& context);
/// Learned numbers (more than four digits) in epilogues of convolutions and dense products become operands of one
/// element: equal layers are one workload, whatever their numbers.
Graph lift_numbers(const Graph& g, const PassContext& context);
/// Images in blocks of channels (NCHW16c) between convolutions, and where elementwise operators, poolings, concats,
/// resizes and reductions of planes stand between them; row-major elsewhere, with conversions (transposes) where the
/// two meet. How large the blocks are follows from the number of channels alone; a last block is filled up with
/// channels of padding where little is missing. Convolutions and poolings that were measured in blocks and in planes
/// are where the whole takes the least time, with the conversions around them; context.notes say so.
Graph choose_layouts(const Graph& g, const PassContext& context);
/// 1x1 convolutions of one image in planes (NCHW) become batch_matmul, a matrix for each group: weights times planes,
/// whose pixels, all in one line, are vectors. As convolutions their vectors are output channels, which lie apart.
Graph planar_products(const Graph& g, const PassContext& context);
/// The batch_matmul that planar_products() makes of a node of `g`; nothing where it leaves it as it is.
std::optional<Workload> planar_product_of(const Graph& g, const Node& n, const PassContext& context);

/// Convolutions of one image, or products of one row, with the same input that differ in nothing but their weights   ->
/// one with all channels, and slices of its result. Not where a concatenation or the caller has positions for the
/// parts.
Graph merge_siblings(const Graph& g, const PassContext& context);
/// A layer of several steps (ops/recurrence.h)   ->   a node for each, on its parts, and their results concatenated
/// For GPUs, whose kernels hold no loop over launches. UserError where there are too many steps.
Graph unroll_steps(const Graph& g, const PassContext& context);
/// Movement of numbers that were dequantised from bytes   ->   movement of the bytes, dequantised behind it
/// A node with several inputs (a concatenation) qualifies when all are dequantised alike.
Graph move_bytes(const Graph& g, const PassContext& context);
/// Functions in a row from one byte to a byte, of numbers that are known   ->   a lookup in a table of 256 entries
/// Where they take longer: sigmoid, tanh, gelu and their like between quantisations, or many of them.
Graph use_tables(const Graph& g, const PassContext& context);
/// The nodes between a picture and its first convolution (bytes to numbers, centred and scaled; channels that lie
/// side by side or in the opposite order)   ->   the convolution of the picture as it is
/// Each of its tasks converts its input once. Channels in the opposite order are permuted in the weights.
Graph fold_preprocessing(const Graph& g, const PassContext& context);
/// The operator with `f+g` in its epilogue   ->   the operator with f, elementwise(g) behind it
/// When the two were measured faster: the tuner's veto on a fusion. The parts of groups that matter and are not
/// measured yet go to the context's alternatives.
Graph split_groups(const Graph& g, const PassContext& context);
/// The least or the greatest of all elements that a node computes, perhaps moved since   ->   another output of the
/// node, which finds it while it stores them (ops/extremes.h). DynamicQuantizeLinear needs both. The last pass: others
/// take such a node for one with a single output.
Graph fuse_extremes(const Graph& g, const PassContext& context);

}  // namespace hone
