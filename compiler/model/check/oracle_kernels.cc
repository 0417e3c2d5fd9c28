#include "compiler/model/check/oracle_kernels.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/build/build.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/local_reference.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

// Operations that a naive program takes as long for as a kernel and its reference take to compile.
constexpr double kLarge = 1e8;
constexpr double kReferenceBudget = 2e7;  // multiply-adds for each output

}  // namespace

// The kernel of a workload's default config. Its first results are compared with the reference.
class OracleKernels::Fast {
 public:
  // UserError where there is no template.
  Fast(const Workload& w, const Target& here, Denormals denormals)
      : target_(here), types_(physical_types(w)), module_(module_of(w, here)) {
    compile(denormals);
  }

  // Nothing where it is wrong.
  std::vector<TensorData> evaluate(const Workload& w, std::span<const TensorData> inputs, Denormals denormals) {
    if (denormals != denormals_) compile(denormals);
    std::vector<TensorData> logical;
    for (size_t i = 0; i < inputs.size(); ++i) {
      logical.push_back(to_logical(inputs[i], types_.inputs[i]));
      kernel_->set_input(i, logical[i].bytes().data());
    }
    const Status ran = status_of(kernel_->run());
    HONE_USER_CHECK(ran.ok()) << message_of(ran);
    std::vector<TensorData> out;
    for (size_t o = 0; o < types_.outputs.size(); ++o) {
      const std::vector<char> bytes = kernel_->get_output(inputs.size() + o);
      out.emplace_back(types_.outputs[o].logical, std::string(bytes.begin(), bytes.end()));
    }
    if (!is_checked_ && !agrees(w, logical, out)) return {};
    is_checked_ = true;
    for (size_t o = 0; o < out.size(); ++o) out[o] = to_physical(out[o], types_.outputs[o]);
    return out;
  }

 private:
  static Module module_of(const Workload& w, const Target& here) {
    const Space space = make_space(w, here);
    return lower_config(w, here, space, space.default_config());
  }

  // One kernel at a time has tensors: callers compute all of a model in one way before they do in another.
  void compile(Denormals denormals) {
    kernel_.reset();
    kernel_ = std::make_unique<LocalKernel>(module_, target_, std::vector<const void*>(), denormals);
    denormals_ = denormals;
  }

  bool agrees(const Workload& w, const std::vector<TensorData>& in, const std::vector<TensorData>& out) const {
    LocalReference reference(define(w), 1, kReferenceBudget, target_, denormals_);
    for (size_t i = 0; i < in.size(); ++i) reference.set_input(i, in[i].bytes().data());
    if (!reference.run().ok()) return false;
    for (size_t o = 0; o < out.size(); ++o)
      if (!reference.compare(o, out[o].bytes().data(), {.bounds_norm = false}).ok) return false;
    return true;
  }

  const Target& target_;
  const PhysicalTypes types_;
  const Module module_;
  std::unique_ptr<LocalKernel> kernel_;
  Denormals denormals_ = Denormals::kKeep;  // how the kernel treats them
  bool is_checked_ = false;
};

OracleKernels::OracleKernels(const Target& here) : target_(here), naive_(here) {}
OracleKernels::~OracleKernels() = default;

size_t OracleKernels::fast() const {
  return static_cast<size_t>(std::ranges::count_if(fast_, [](const auto& f) { return f.second != nullptr; }));
}

std::vector<TensorData> OracleKernels::evaluate(const Workload& w, std::span<const TensorData> inputs,
                                                Denormals denormals) {
  if (!w.op->define || flops(w) < kLarge) return naive_.evaluate(w, inputs, denormals);
  const std::string text = to_string(w);
  auto found = fast_.find(text);
  if (found == fast_.end()) {
    found = fast_.emplace(text, nullptr).first;
    try {
      found->second = std::make_unique<Fast>(w, target_, denormals);
    } catch (const UserError&) {
      // No template serves it here.
    }
  }
  if (found->second) {
    std::vector<TensorData> out = found->second->evaluate(w, inputs, denormals);
    if (!out.empty()) return out;
    found->second.reset();
  }
  return naive_.evaluate(w, inputs, denormals);
}

}  // namespace hone
