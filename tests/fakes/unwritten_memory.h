// Runs a module in the interpreter on memory that nothing has written, but for its inputs.
#pragma once

#include <vector>

#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/interp.h"

namespace hone {

/// Runs the prepacks and kernels of `m` on row-major logical `inputs`, by parameter, in which all else is unwritten:
/// outputs, results of prepacks, workspace and stack. `vector_bits`: as legalized for vectors of that width; 0: in loop
/// form. UserError where a program computes with an element that nothing has written, or has left one of an output (an
/// element of the tensor, not of its layout's padding) unwritten.
inline void run_on_unwritten_memory(const Module& m, const std::vector<std::vector<char>>& inputs, int vector_bits) {
  const auto run = [&](Function f, const std::vector<InterpArg>& args) {
    if (vector_bits > 0) f.body = legalize(f.body, vector_bits);
    interpret(f, args, {}, Unwritten::kMayBeMoved);
  };
  struct Tensor {
    std::vector<char> bytes;
    std::vector<bool> written;
    InterpArg arg() { return {bytes.data(), static_cast<int64_t>(written.size()), &written}; }
  };
  const auto tensor = [](DType t, int64_t elements, bool is_written) {
    return Tensor{std::vector<char>(static_cast<size_t>(elements * t.bytes()), '\xff'),
                  std::vector<bool>(static_cast<size_t>(elements), is_written)};
  };
  std::vector<Tensor> tensors;
  std::vector<size_t> first;  // of each parameter, in `tensors`
  for (const KernelArgument& a : kernel_arguments(m)) {
    if (a.param == first.size()) first.push_back(tensors.size());
    tensors.push_back(tensor(a.dtype, element_count(a.shape), false));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Param& p = m.params[i];
    if (const Prepack* prepack = prepack_of(m, i)) {
      Tensor plain{inputs[i], std::vector<bool>(static_cast<size_t>(element_count(p.shape)), true)};
      std::vector<InterpArg> args{plain.arg()};
      for (size_t k = 1; k < prepack->function.params.size(); ++k) args.push_back(tensors[first[i] + k - 1].arg());
      run(prepack->function, args);
      continue;
    }
    pack(inputs[i].data(), tensors[first[i]].bytes.data(), p.shape, p.layout, p.dtype.bytes());
    tensors[first[i]].written.assign(tensors[first[i]].written.size(), true);
  }
  std::vector<InterpArg> args;
  for (Tensor& t : tensors) args.push_back(t.arg());
  for (const Function& kernel : m.kernels) run(kernel, args);
  for (size_t i = inputs.size(); i < m.params.size(); ++i) {
    const Param& p = m.params[i];
    std::vector<char> physical(tensors[first[i]].written.begin(), tensors[first[i]].written.end());
    std::vector<char> logical(static_cast<size_t>(element_count(p.shape)));
    unpack(physical.data(), logical.data(), p.shape, p.layout, 1);
    for (size_t e = 0; e < logical.size(); ++e)
      HONE_USER_CHECK(logical[e]) << "element " << e << " of '" << p.name << "' is left unwritten";
  }
}

}  // namespace hone
