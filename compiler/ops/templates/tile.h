// How templates begin: the stages behind the anchor become one writer, and tensors of the output's shape are laid out
// like it. It works for any stages (an epilogue's functions, an average).
#pragma once

#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"

namespace hone {

/// Whether stages follow the anchor: an epilogue, a division.
bool has_epilogue(const Definition& d);

/// Inlines the stages between the anchor and the output. Returns the output's block, which writes the results.
BlockRef begin_writer(Schedule& s, const Definition& d);

/// Two blocks: the anchor, whose sums are kept in a tile's accumulators on the stack, and its writer: the output's
/// block or, where the anchor is the output, a copy from the accumulators.
struct Tile {
  BlockRef sum, writer;
};
Tile begin_tile(Schedule& s, const Definition& d);

/// The same for a product that may be cut into parts (split_matrix_product()): the blocks are those of the parts, and
/// the anchor, which adds them up, is left alone.
Tile begin_product(Schedule& s, const Definition& d);

/// Where the anchor `sum`, which stands in its tile, adds up runs in f16 (ops/runs.h): adds one after the other to its
/// tile, `lanes` in vectors, and begins a tile of a run's sums there. Returns the block of these; else `sum`.
BlockRef begin_runs(Schedule& s, const Definition& d, BlockRef sum, const std::vector<std::string>& rows,
                    std::string_view lanes);

/// `reader` reads a copy of the first input in `scope`: the stage of the prologue where there is one, else a
/// cache_read(). Returns the stage that makes it; its loops are i0, i1, …
BlockRef cache_first_input(Schedule& s, const Definition& d, BlockRef reader, BufferScope scope);

/// Lays out the first input, and the inputs of its shape that the prologue reads.
void lay_out_first_input(Schedule& s, const Definition& d, const Layout& layout);

/// Lays out the output, and the inputs of its shape that the stages behind the anchor read.
void lay_out_like(Schedule& s, const Definition& d, const Layout& output);

}  // namespace hone
