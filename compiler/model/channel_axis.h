// Which axis of an input holds its channels: models of other frameworks have them last, and say so nowhere.
#pragma once

#include <cstddef>
#include <optional>

#include "compiler/graph/graph.h"

namespace hone {

/// The axis of `input` that becomes the channels of the first convolution (of `g`, as it was imported) that it reaches
/// through nodes which keep, permute, cut or fill up its axes. Nothing where it reaches none, or where several axes of
/// one element could be it.
std::optional<size_t> channel_axis(const Graph& g, ValueId input);

}  // namespace hone
