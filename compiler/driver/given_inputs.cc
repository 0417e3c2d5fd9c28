#include "compiler/driver/given_inputs.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/exit_code.h"
#include "compiler/frontend/tensor_file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// `wanted_bytes`: of the largest tensor that is expected, as read_tensor_file() takes it.
std::vector<TensorData> tensors_of(const std::string& folder, const std::string& kind, int64_t wanted_bytes) {
  std::vector<TensorData> out;
  for (;;) {
    const std::string stem = fmt::format("{}/{}_{}", folder, kind, out.size());
    const std::string file = fs::exists(stem + ".npy") ? stem + ".npy" : stem + ".pb";
    if (!fs::exists(file)) return out;
    out.push_back(read_tensor_file(file, wanted_bytes));
  }
}

int64_t most_bytes(const std::vector<VariantPorts>& variants) {
  int64_t most = 0;
  for (const VariantPorts& v : variants)
    for (const std::vector<Port>* ports : {&v.ports->inputs, &v.ports->outputs})
      for (const Port& p : *ports) most = std::max(most, bytes_of(p.type));
  return most;
}

// A folder may have files of inputs that were bound, too: their numbers are the model's.
void leave_out_bound(const std::vector<std::string>& names, const std::vector<Port>& ports,
                     std::vector<TensorData>* given) {
  if (given->size() != names.size() || ports.size() == names.size()) return;
  std::vector<TensorData> left;
  for (size_t i = 0; i < names.size(); ++i)
    if (std::any_of(ports.begin(), ports.end(), [&](const Port& p) { return p.name == names[i]; }))
      left.push_back((*given)[i]);
  *given = std::move(left);
}

}  // namespace

StatusOr<GivenInputs> GivenInputs::read(const std::string& folder, const std::vector<VariantPorts>& variants,
                                        const std::vector<std::string>& names) {
  std::error_code ignored;
  HONE_USER_CHECK(fs::is_directory(folder, ignored)) << "--inputs " << folder << ": there is no such folder";
  GivenInputs out;
  const int64_t bytes = most_bytes(variants);
  TestTensors& t = out.tensors_.emplace(TestTensors{tensors_of(folder, "input", bytes),  //
                                                    tensors_of(folder, "output", bytes)});
  leave_out_bound(names, variants[0].ports->inputs, &t.inputs);
  const size_t taken = caller_inputs(*variants[0].ports, variants[0].growth);
  if (t.inputs.empty() && taken > 0)
    return usage_error(
        fmt::format("--inputs {}: it has no input_0.npy or input_0.pb; the model takes {}", folder, taken));
  if (t.inputs.size() != taken)
    return usage_error(
        fmt::format("--inputs {}: it has {} inputs; the model takes {}", folder, t.inputs.size(), taken));
  for (const VariantPorts& v : variants)
    out.takes_.push_back(variants.size() == 1 ||
                         std::equal(t.inputs.begin(), t.inputs.end(), v.ports->inputs.begin(),
                                    [](const TensorData& given, const Port& p) { return p.type == given.type(); }));
  if (std::find(out.takes_.begin(), out.takes_.end(), true) != out.takes_.end()) return out;
  const auto type = [](std::string* text, const TensorData& given) { *text += to_string(given.type()); };
  return usage_error(fmt::format("--inputs {}: no variant takes {}", folder, absl::StrJoin(t.inputs, ", ", type)));
}

}  // namespace hone
