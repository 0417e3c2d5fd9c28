#include "compiler/driver/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "compiler/build/config_words.h"
#include "compiler/driver/model_layers.h"
#include "compiler/model/prepare.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Time = std::chrono::steady_clock;

double seconds_since(Time::time_point begin) { return std::chrono::duration<double>(Time::now() - begin).count(); }

// A layer of a built graph, found by a node of the model that it stands for.
struct TimedLayer {
  const Kernel* kernel = nullptr;
  double seconds = 0;
};

// A built graph with its kernels' times, each by itself.
struct TimedGraph {
  const Graph& graph;
  const Layers& layers;
  std::vector<double> seconds;  // by kernel

  TimedLayer find(const std::string& origin) const {
    for (const Layer& call : layers.calls) {
      const std::string& own = graph.nodes[call.node].origin;
      const Kernel& k = layers.kernels[call.kernel];
      const bool is_product = is<ops::Conv2d, ops::DepthwiseConv2d, ops::Dense, ops::BatchMatmul>(k.workload);
      if (is_product && (" + " + own + " + ").find(" + " + origin + " + ") != std::string::npos)
        return {&k, seconds[call.kernel]};
    }
    return {};
  }
};

// Why a layer takes longer in int8, as far as its workload says it.
std::string why_slower(const Kernel& floats, const Kernel& bytes, const Target& target) {
  const Workload& w = bytes.workload;
  if (dtypes_of(w).accumulate != i32) return "it stayed in f32";
  const ConfigWords words = config_words(floats.workload, target, floats.config);
  if (words.all.find("winograd") != std::string::npos) return "in f32 Winograd's algorithm saves multiplications";
  const bool is_convolution = w.attributes.has("layout");
  if (is<ops::DepthwiseConv2d>(w) && (conv_shape(w).dilation_w > 1 || layout_of(w).in == "NCHW"))
    return "its taps do not lie together: nothing sums four bytes at once";
  if (is<ops::Conv2d>(w) && (conv_shape(w).ci / conv_shape(w).groups) % 4 != 0)
    return "its channels fill no words of four bytes";
  if (is_convolution && layout_of(w).in == "NCHW") return "its channels do not lie together";
  if (w.attributes.text("epilogue").find(":f32") != std::string::npos && flops(w) < 1e7)
    return "it is small: scaling and rounding take longer than the products";
  return "";
}

}  // namespace

ModelQuantizer::ModelQuantizer(const ModelRequest& request, const PassContext& context, Target here,
                               const Events& events)
    : asked_(request.quantize),
      context_(context),
      here_(std::move(here)),
      events_(events),
      method_(range_method(asked_.range)) {
  HONE_USER_CHECK(asked_.type == "int8") << "--quantize " << asked_.type << ": there is int8";
  HONE_USER_CHECK(!asked_.calibrate.empty())
      << "--quantize: it takes --calibrate FOLDER with samples, or a file that --ranges wrote";
  HONE_USER_CHECK(!request.cache) << "--quantize and --cache do not go together";
  std::error_code ignored;
  if (fs::is_directory(asked_.calibrate, ignored))
    samples_.emplace(asked_.calibrate);
  else
    ranges_ = read_ranges(asked_.calibrate);
}

// Says now and then how far it is, and when it will be done.
SampleProgress ModelQuantizer::progress(const std::string& what) {
  const auto begin = Time::now();
  auto last = std::make_shared<Time::time_point>(begin);
  return [this, what, begin, last](size_t done, size_t all) {
    constexpr double kEvery = 2;  // seconds
    if (done == all || seconds_since(*last) < kEvery) return;
    *last = Time::now();
    const double left = seconds_since(begin) / static_cast<double>(done) * static_cast<double>(all - done);
    events_.tell(fmt::format("{}: {} of {} samples, {:.0f} s left", what, done, all, left));
  };
}

void ModelQuantizer::find_ranges(const Graph& imported) {
  const auto begin = Time::now();
  ranges_ = calibrate(imported, plan_, context_, here_, *samples_, method_, progress("calibrating"));
  events_.tell(fmt::format("calibrated {} values on {} sample{} ({}) in {:.1f} s", plan_.values.size(),
                           samples_->count(), samples_->count() == 1 ? "" : "s", asked_.range, seconds_since(begin)));
  if (asked_.ranges.empty()) return;
  const Status written = write_atomically(asked_.ranges, {ranges_text(*ranges_)});
  HONE_USER_CHECK(written.ok()) << message_of(written);
  events_.tell("wrote " + asked_.ranges);
}

Graph ModelQuantizer::quantize(const Graph& imported) {
  const QuantizationPlan plan = plan_quantization(imported, asked_.keep);
  const bool is_first = imported_.nodes.empty();
  if (is_first) plan_ = plan, imported_ = imported;
  if (!ranges_) find_ranges(imported);
  Graph out = quantized(imported, plan, *ranges_, context_);
  if (is_first) quantized_ = out;
  return out;
}

StatusOr<std::optional<QuantizationReport>> ModelQuantizer::report(const Built* built) {
  if (!samples_ && !built) return std::optional<QuantizationReport>();
  QuantizationErrors errors;
  constexpr size_t kMostSamples = 200;
  if (samples_)
    errors = compare_quantized(imported_, quantized_, plan_, context_, here_, *samples_, kMostSamples,
                               progress("comparing with f32"));
  Graph graph_of_floats;
  BuiltModel built_of_floats;
  std::optional<TimedGraph> floats, bytes;
  if (built) {
    graph_of_floats = prepare_graph(imported_, context_, here_);
    built_of_floats = build_model(graph_of_floats, {"floats", here_, built->choose});
    HONE_ASSIGN_OR_RETURN(std::vector<double> in_f32, kernel_seconds(built_of_floats.variants[0].layers, here_));
    HONE_ASSIGN_OR_RETURN(std::vector<double> in_int8, kernel_seconds(built->layers, here_));
    floats.emplace(TimedGraph{graph_of_floats, built_of_floats.variants[0].layers, std::move(in_f32)});
    bytes.emplace(TimedGraph{built->graph, built->layers, std::move(in_int8)});
  }
  QuantizationReport out;
  for (size_t p = 0; p < plan_.products.size(); ++p) {
    QuantizedLayer& layer = out.layers.emplace_back();
    layer.name = imported_.nodes[static_cast<size_t>(plan_.products[p])].origin;
    if (samples_) layer.error = errors.products[p];
    if (!built) continue;
    const TimedLayer f = floats->find(layer.name), b = bytes->find(layer.name);
    if (f.kernel) layer.seconds_f32 = f.seconds;
    if (b.kernel) layer.seconds = b.seconds;
    if (layer.is_slower()) layer.why_slower = why_slower(*f.kernel, *b.kernel, here_);
  }
  if (!samples_) return std::optional(std::move(out));
  for (size_t o = 0; o < errors.outputs.size(); ++o)
    out.outputs.emplace_back(imported_.outputs[o].name, errors.outputs[o]);
  out.tops = errors.tops, out.equal_tops = errors.equal_tops;
  return std::optional(std::move(out));
}

}  // namespace hone
