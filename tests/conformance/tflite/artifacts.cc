#include <algorithm>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/model/build_model.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"
#include "tests/conformance/tflite/computed.h"

namespace hone {
namespace {

using Tensors = std::vector<TensorData>;

std::vector<ComputedCase> run_as_one(const ReadCases& some) {
  ModelOptions options{"m", host_target(1), {}};
  options.choose = [](const Workload&, const Target&, const Space& space) {
    return ChosenConfig{space.default_config(), "", ""};
  };
  const Graph g = prepare_graph(joined(some.graphs), {standard_operators(), standard_functions()}, options.target);
  LoadedModel model(build_model(g, options), options.name, 1);
  return called(some, [&](const std::vector<Tensors>& inputs) {
    Tensors all;
    for (const Tensors& of_case : inputs) all.insert(all.end(), of_case.begin(), of_case.end());
    const Tensors outputs = model.run(all);
    std::vector<Tensors> out;
    for (size_t at = 0; const Graph& part : some.graphs) {
      out.emplace_back(outputs.begin() + static_cast<std::ptrdiff_t>(at),
                       outputs.begin() + static_cast<std::ptrdiff_t>(at + part.outputs.size()));
      at += part.outputs.size();
    }
    return out;
  });
}

ReadCases part_of(const ReadCases& all, size_t from, size_t to) {
  const auto part = [&](const auto& of) {
    return std::decay_t<decltype(of)>(of.begin() + static_cast<std::ptrdiff_t>(from),
                                      of.begin() + static_cast<std::ptrdiff_t>(to));
  };
  return {part(all.cases), part(all.graphs), {}};
}

}  // namespace

std::vector<ComputedCase> run_as_artifacts(const ReadCases& all) {
  constexpr size_t kInOne = 100;
  std::vector<ComputedCase> out;
  for (size_t begin = 0; begin < all.cases.size(); begin += kInOne) {
    const size_t end = std::min(begin + kInOne, all.cases.size());
    try {
      const auto some = run_as_one(part_of(all, begin, end));
      out.insert(out.end(), some.begin(), some.end());
    } catch (const std::exception&) {
      for (size_t c = begin; c < end; ++c) try {
          out.push_back(run_as_one(part_of(all, c, c + 1))[0]);
        } catch (const std::exception& e) {
          out.push_back({e.what(), {}});
        }
    }
  }
  return out;
}

}  // namespace hone
