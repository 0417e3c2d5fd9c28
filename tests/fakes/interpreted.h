// Runs a kernel of a module in the interpreter.
#pragma once

#include <vector>

#include "compiler/ir/interp.h"
#include "tests/fakes/logical_elements.h"

namespace hone {

/// Logical elements of the outputs of `f`, one output behind the other, a kernel of `m` at any stage of lowering, on
/// logical elements of the inputs by parameter. Memory that nothing wrote over consists of 0xff. `unwritten`: as of
/// interpret().
inline std::vector<char> interpreted(const Function& f, const Module& m, const std::vector<std::vector<char>>& inputs,
                                     Unwritten unwritten = Unwritten::kMayBeComputedWith) {
  std::vector<std::vector<char>> tensors;
  std::vector<InterpArg> args;
  for (size_t i = 0; i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    tensors.emplace_back(static_cast<size_t>(p.layout.physical_size() * p.dtype.bytes()), '\xff');
    if (i < inputs.size()) pack(inputs[i].data(), tensors.back().data(), p.shape, p.layout, p.dtype.bytes());
    args.push_back({tensors.back().data(), p.layout.physical_size()});
  }
  interpret(f, args, {}, unwritten);
  std::vector<char> out;
  for (size_t i = inputs.size(); i < m.params.size(); ++i) append_logical(tensors[i].data(), m.params[i], &out);
  return out;
}

}  // namespace hone
