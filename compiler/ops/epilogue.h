// What follows a sum of products before its output is stored: functions applied in order, `bias+add+relu`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/attribute.h"
#include "compiler/ops/definition.h"

namespace hone {

/// Functions in order; none: the output is the sum.
struct Epilogue {
  std::vector<std::string> functions;
  bool has(std::string_view function) const;
};
const Epilogue& epilogue_of(const Workload& w);

/// `none`, or bias, add and relu joined by +, each once. Value: Epilogue.
AttributeParser epilogue();

/// Adds to `d` the epilogue's inputs, bias (constant) [channels] and residual (input), shaped like `product`, and stage
/// `out`, which applies the functions in the accumulators' type and rounds once. Where there is nothing to do `product`
/// is the output, and the anchor unless `d` has one. `channel_axis` is that of `product`; `axes` are the stage's.
void add_epilogue(const Workload& w, const Tensor& product, size_t channel_axis, const std::vector<std::string>& axes,
                  Definition* d);

}  // namespace hone
