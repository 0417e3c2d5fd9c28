// Transposition: tiles whose rows are contiguous where they are read and whose columns are where they are written. A
// tile is read into registers in whole vectors, turned there, and written in whole vectors.
#include <algorithm>
#include <bit>
#include <optional>

#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

// The output's axis along which x is contiguous; none where that is the last one, so that rows are copied.
std::optional<size_t> turned_axis(const TensorNode* out) {
  const Load* l = as<Load>(out->body);
  if (!l || l->indices.size() != out->axes.size()) return std::nullopt;
  for (size_t d = 0; d + 1 < out->axes.size(); ++d)
    if (l->indices.back().get() == out->axes[d].var.get()) return d;
  return std::nullopt;
}

struct TransposeChoices {
  int64_t read, written;  // elements of a tile along the axes that are contiguous in x and in the output
  bool read_inside;       // tiles next to each other in x follow each other
  bool parallel;
  int64_t vector_bits;
};

TransposeChoices choose_transpose(int64_t read, int64_t written, int64_t others, const Target& target, Knobs& knobs) {
  const auto lanes = [](int64_t bits) { return bits / 32; };
  const int64_t most = lanes(target.vector_bits);
  std::vector<int64_t> widths;
  for (int64_t n = 2; n <= most && n < 2 * read; n *= 2) widths.push_back(n);
  TransposeChoices x{};
  x.vector_bits = choose_vector_bits(knobs, target);
  x.read = knobs.choice("tile_read", widths.empty() ? std::vector<int64_t>{1} : widths, most);
  // A tile wider than the written extent, the blocks of a layout, would store all its vectors by masks.
  x.written = std::min(lanes(x.vector_bits), static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(written))));
  x.read_inside = knobs.choice("read_inside", {0, 1}, 0) != 0;
  constexpr int64_t kWorthAThread = 16384;
  x.parallel =
      knobs.thread_choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          read * written * others >= kWorthAThread ? 1 : 0) != 0;
  knobs.require("a tile fits half the registers", 2 * x.read <= target.vector_registers);
  return x;
}

// Whether the output has elements of 8 or 16 bits, few of which are written side by side (the words of an image): then
// one vector interleaves their rows.
bool is_word(const TensorNode* out, size_t turned) {
  constexpr int64_t kMost = 4;
  const int64_t written = out->shape.back();
  return out->buffer->dtype.bytes() <= 2 && turned + 2 == out->shape.size() && written <= kMost &&
         std::has_single_bit(static_cast<uint64_t>(written));
}

void transpose_words(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const TensorNode* stage = d.output().node().get();
  const int64_t words = stage->shape[stage->shape.size() - 2], written = stage->shape.back();
  const int64_t vector_bits = choose_vector_bits(knobs, target);
  std::vector<int64_t> lanes;
  for (int64_t n = 4 * written; n <= kUsualMostLanes && n < 2 * words * written; n *= 2) lanes.push_back(n);
  const int64_t width = knobs.choice("lanes", lanes.empty() ? std::vector<int64_t>{written} : lanes,
                                     vector_bits / (8 * stage->buffer->dtype.bytes()));
  constexpr int64_t kWorthAThread = 65536;
  const bool parallel =
      knobs.thread_choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          product_of(stage->shape, stage->shape.size()) >= kWorthAThread ? 1 : 0) != 0;
  if (!out) return;
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const std::vector<LoopRef> axes = s.loops(s.block(d.output()->name));
  const auto [words_o, words_i] = s.split(axes[axes.size() - 2], width / written);
  s.vectorize(s.fuse(words_i, axes.back()));
  std::vector<LoopRef> outer(axes.begin(), axes.end() - 2);
  outer.push_back(words_o);
  if (parallel) s.parallel(fuse_all(s, outer));
  s.annotate("vector_bits", vector_bits);
}

}  // namespace

void transpose_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition d = collapse(define(w));
  const TensorNode* stage = d.output().node().get();
  const std::optional<size_t> turned = turned_axis(stage);
  if (!turned || stage->buffer->dtype.bytes() > 4) return fused_cpu(d, target, knobs, out);
  if (is_word(stage, *turned)) return transpose_words(d, target, knobs, out);
  const int64_t read = stage->shape[*turned], written = stage->shape.back();
  int64_t others = 1;
  for (const int64_t extent : stage->shape) others *= extent;
  others /= read * written;
  const TransposeChoices x = choose_transpose(read, written, others, target, knobs);
  if (!out) return;

  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const BlockRef writer = s.block(d.output()->name);
  const BlockRef tile = s.cache_read(d.inputs[0].first->name, writer, BufferScope::kStack);
  const std::vector<LoopRef> axes = s.loops(writer);
  const auto [read_o, read_i] = s.split(axes[*turned], x.read);
  const auto [written_o, written_i] = s.split(axes.back(), x.written);
  std::vector<LoopRef> order;
  for (size_t a = 0; a + 1 < axes.size(); ++a)
    if (a != *turned) order.push_back(axes[a]);
  const size_t outer = order.size() + 2;
  order.insert(order.end(),
               {x.read_inside ? written_o : read_o, x.read_inside ? read_o : written_o, read_i, written_i});
  s.reorder(order);
  s.vectorize(written_i);
  s.unroll(read_i);
  const LoopRef tiles = fuse_all(s, {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(outer)});
  s.compute_at(tile, tiles);
  const std::vector<LoopRef> own = s.loops(tile);
  s.vectorize(own.back());
  for (size_t l = own.size() - 1; l-- > own.size() - axes.size();) s.unroll(own[l]);
  if (x.parallel) s.parallel(tiles);
  s.annotate("vector_bits", x.vector_bits);
}

}  // namespace hone
