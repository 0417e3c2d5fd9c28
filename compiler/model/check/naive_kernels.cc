#include "compiler/model/check/naive_kernels.h"

#include "base/check.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/denormal_scope.h"
#include "compiler/ops/operator.h"
#include "compiler/runtime/artifact.h"

namespace hone {
namespace {

// Operations that the interpreter does in the time that a compilation takes.
constexpr double kSmall = 2e5;

double operations(const Workload& w, const PhysicalTypes& types) {
  double n = flops(w);
  for (const auto& t : types.outputs) n += static_cast<double>(element_count(t.logical.shape));
  return n;
}

}  // namespace

NaiveKernels::NaiveKernels(const Target& here) : target_(here) { target_.threads = 1; }
NaiveKernels::~NaiveKernels() = default;

std::vector<TensorData> NaiveKernels::evaluate(const Workload& w, std::span<const TensorData> inputs,
                                               Denormals denormals) {
  const DenormalScope scope(denormals);  // all of it runs on this thread
  const PhysicalTypes types = physical_types(w);
  if (!w.op->define || operations(w, types) < kSmall) return hone::evaluate(w, inputs);
  std::unique_ptr<LocalKernel>& kernel = kernels_[to_string(w)];
  if (!kernel) kernel = std::make_unique<LocalKernel>(naive_module(w), target_);
  for (size_t i = 0; i < inputs.size(); ++i)
    kernel->set_input(i, to_logical(inputs[i], types.inputs[i]).bytes().data());
  const Status ran = status_of(kernel->run());
  HONE_USER_CHECK(ran.ok()) << message_of(ran);
  std::vector<TensorData> out;
  for (size_t o = 0; o < types.outputs.size(); ++o) {
    const std::vector<char> bytes = kernel->get_output(inputs.size() + o);
    out.push_back(to_physical({types.outputs[o].logical, std::string(bytes.begin(), bytes.end())}, types.outputs[o]));
  }
  return out;
}

}  // namespace hone
