#include "compiler/quantize/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/check.h"
#include "compiler/frontend/tensor_file.h"
#include "compiler/model/build_model.h"
#include "compiler/model/prepare.h"
#include "compiler/model/run_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

bool is_tensor_file(const fs::path& p) { return p.extension() == ".npy" || p.extension() == ".pb"; }

// Input number `i` of a sample's folder; empty: it has no file.
std::string input_file(const fs::path& folder, size_t i) {
  for (const char* extension : {".npy", ".pb"})
    if (const fs::path file = folder / fmt::format("input_{}{}", i, extension); fs::exists(file)) return file.string();
  return "";
}

// A graph as it runs here, by default configs.
class RunningGraph {
 public:
  RunningGraph(const Graph& imported, const PassContext& context, const Target& here)
      : graph_(prepare_graph(imported, context, here)), loaded_(built(here), "quantize", here.threads) {}

  std::vector<TensorData> run(const std::vector<TensorData>& inputs) { return loaded_.run(inputs); }

 private:
  BuiltModel built(const Target& here) const {
    return build_model(graph_, {"quantize", here, [](const Workload&, const Target&, const Space& space) {
                                  return ChosenConfig{space.default_config(), "default", ""};
                                }});
  }

  const Graph graph_;
  LoadedModel loaded_;
};

// Sums over samples of the squares of values and of their errors.
struct Difference {
  double values = 0, off = 0;
  void add(const TensorData& wanted, const TensorData& got) {
    const std::vector<double> a = wanted.values(), b = got.values();
    for (size_t i = 0; i < a.size(); ++i) values += a[i] * a[i], off += (a[i] - b[i]) * (a[i] - b[i]);
  }
  double relative() const { return off == 0 ? 0 : std::sqrt(off / values); }
};

std::vector<int64_t> positions_of_tops(const TensorData& t) {
  const std::vector<double> values = t.values();
  const auto row = static_cast<size_t>(t.type().shape.empty() ? 1 : t.type().shape.back());
  std::vector<int64_t> out;
  for (auto begin = values.begin(); begin != values.end(); begin += static_cast<std::ptrdiff_t>(row))
    out.push_back(std::max_element(begin, begin + static_cast<std::ptrdiff_t>(row)) - begin);
  return out;
}

PassContext default_context(const PassContext& c) { return {c.operators, c.functions}; }

}  // namespace

Samples::Samples(const std::string& folder) {
  std::error_code failed;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, failed)) {
    const bool is_sample = e.is_directory() ? !input_file(e.path(), 0).empty() : is_tensor_file(e.path());
    if (is_sample) paths_.push_back(e.path().string());
  }
  HONE_USER_CHECK(!failed) << "--calibrate " << folder << ": " << failed.message();
  // A folder that is a sample itself.
  if (!input_file(folder, 0).empty()) paths_ = {folder};
  HONE_USER_CHECK(!paths_.empty())
      << "--calibrate " << folder
      << ": there is no sample: folders with input_0.npy, …, or .npy files of the one input";
  std::sort(paths_.begin(), paths_.end());
}

std::vector<TensorData> Samples::read(size_t sample, const std::vector<Port>& ports) const {
  const std::string& path = paths_[sample];
  const bool is_folder = fs::is_directory(path);
  HONE_USER_CHECK(is_folder || ports.size() == 1)
      << path << ": the model has " << ports.size() << " inputs: a sample is a folder with input_0.npy, …";
  std::vector<TensorData> out;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string file = is_folder ? input_file(path, i) : path;
    HONE_USER_CHECK(!file.empty()) << path << ": there is no input_" << i << ".npy or .pb for '" << ports[i].name
                                   << "'";
    out.push_back(read_tensor_file(file, bytes_of(ports[i].type)));
    HONE_USER_CHECK(out.back().type() == ports[i].type) << file << ": it is " << to_string(out.back().type()) << "; '"
                                                        << ports[i].name << "' is " << to_string(ports[i].type);
  }
  return out;
}

Ranges calibrate(const Graph& imported, const QuantizationPlan& plan, const PassContext& context, const Target& here,
                 const Samples& samples, RangeMethod method, const SampleProgress& progress) {
  RunningGraph model(with_outputs(imported, plan.values), default_context(context), here);
  std::vector<Histogram> seen(plan.values.size());
  for (size_t s = 0; s < samples.count(); ++s) {
    const std::vector<TensorData> outputs = model.run(samples.read(s, imported.inputs));
    for (size_t v = 0; v < seen.size(); ++v) try {
        seen[v].add(outputs[imported.outputs.size() + v].values());
      } catch (const UserError& e) {
        throw UserError(
            fmt::format("--calibrate: of '{}' in sample {} {}", imported.value(plan.values[v]).name, s + 1, e.what()));
      }
    progress(s + 1, samples.count());
  }
  Ranges out;
  for (size_t v = 0; v < seen.size(); ++v) out[imported.value(plan.values[v]).name] = seen[v].range(method);
  return out;
}

QuantizationErrors compare_quantized(const Graph& imported, const Graph& quantized, const QuantizationPlan& plan,
                                     const PassContext& context, const Target& here, const Samples& samples,
                                     size_t most_samples, const SampleProgress& progress) {
  std::vector<ValueId> made, same;
  for (const int p : plan.products) {
    made.push_back(imported.nodes[static_cast<size_t>(p)].outputs[0]);
    const std::string& name = imported.value(made.back()).name;
    const auto at =
        std::find_if(quantized.values.begin(), quantized.values.end(), [&](const Value& v) { return v.name == name; });
    HONE_ICHECK(at != quantized.values.end()) << "no value " << name;
    same.push_back(static_cast<ValueId>(at - quantized.values.begin()));
  }
  RunningGraph floats(with_outputs(imported, made), default_context(context), here),
      bytes(with_outputs(quantized, same), default_context(context), here);
  const size_t own = imported.outputs.size(), count = std::min(most_samples, samples.count());
  std::vector<Difference> off(own + made.size());
  QuantizationErrors out;
  for (size_t s = 0; s < count; ++s) {
    const std::vector<TensorData> inputs = samples.read(s, imported.inputs);
    const std::vector<TensorData> wanted = floats.run(inputs), got = bytes.run(inputs);
    for (size_t o = 0; o < off.size(); ++o) off[o].add(wanted[o], got[o]);
    if (own > 0) {
      const std::vector<int64_t> a = positions_of_tops(wanted[0]), b = positions_of_tops(got[0]);
      for (size_t r = 0; r < a.size(); ++r) out.equal_tops += a[r] == b[r], ++out.tops;
    }
    progress(s + 1, count);
  }
  for (size_t o = 0; o < off.size(); ++o) (o < own ? out.outputs : out.products).push_back(off[o].relative());
  return out;
}

}  // namespace hone
