#include "compiler/cli/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "base/time_text.h"
#include "compiler/build/config_words.h"
#include "compiler/cli/model_layers.h"
#include "compiler/model/prepare.h"
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/dtypes.h"

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
      const std::string& own = graph.nodes[static_cast<size_t>(call.node)].origin;
      const Kernel& k = layers.kernels[call.kernel];
      const std::string& task = k.workload.task();
      const bool is_product =
          task == "conv2d" || task == "depthwise_conv2d" || task == "dense" || task == "batch_matmul";
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
  if (w.task() == "depthwise_conv2d" && (conv_shape(w).dilation_w > 1 || layout_of(w).in == "NCHW"))
    return "its taps do not lie together: nothing sums four bytes at once";
  if (w.task() == "conv2d" && (conv_shape(w).ci / conv_shape(w).groups) % 4 != 0)
    return "its channels fill no words of four bytes";
  if (is_convolution && layout_of(w).in == "NCHW") return "its channels do not lie together";
  if (w.attributes.text("epilogue").find(":f32") != std::string::npos && flops(w) < 1e7)
    return "it is small: scaling and rounding take longer than the products";
  return "";
}

}  // namespace

ModelQuantizer::ModelQuantizer(const TensorcOptions& o, const PassContext& context, Target here, std::ostream& err)
    : o_(o), context_(context), here_(std::move(here)), err_(err), method_(range_method(o.quantize.range)) {
  HONE_USER_CHECK(o.quantize.type == "int8") << "--quantize " << o.quantize.type << ": there is int8";
  HONE_USER_CHECK(!o.quantize.calibrate.empty())
      << "--quantize: it takes --calibrate FOLDER with samples, or a file that --ranges wrote";
  HONE_USER_CHECK(o.cache.empty()) << "--quantize and --cache do not go together";
  std::error_code ignored;
  if (fs::is_directory(o.quantize.calibrate, ignored)) {
    samples_.emplace(o.quantize.calibrate);
    return;
  }
  ranges_ = read_ranges(o.quantize.calibrate);
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
    err_ << fmt::format("{}: {} of {} samples, {:.0f} s left", what, done, all, left) << std::endl;
  };
}

void ModelQuantizer::find_ranges(const Graph& imported) {
  const auto begin = Time::now();
  ranges_ = calibrate(imported, plan_, context_, here_, *samples_, method_, progress("calibrating"));
  err_ << fmt::format("calibrated {} values on {} sample{} ({}) in {:.1f} s\n", plan_.values.size(), samples_->count(),
                      samples_->count() == 1 ? "" : "s", o_.quantize.range, seconds_since(begin));
  if (o_.quantize.ranges.empty()) return;
  const Status written = write_atomically(o_.quantize.ranges, {ranges_text(*ranges_)});
  HONE_USER_CHECK(written.ok()) << message_of(written);
  err_ << "wrote " << o_.quantize.ranges << "\n";
}

Graph ModelQuantizer::quantize(const Graph& imported) {
  const QuantizationPlan plan = plan_quantization(imported, o_.quantize.keep);
  const bool is_first = imported_.nodes.empty();
  if (is_first) plan_ = plan, imported_ = imported;
  if (!ranges_) find_ranges(imported);
  Graph out = quantized(imported, plan, *ranges_, context_);
  if (is_first) quantized_ = out;
  return out;
}

Status ModelQuantizer::report(const Built* built, std::ostream& out) {
  if (!samples_ && !built) return absl::OkStatus();
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
  out << fmt::format("{:>9} {:>9} {:>9}  quantised layer\n", "error", "f32 ms", "int8 ms");
  for (size_t p = 0; p < plan_.products.size(); ++p) {
    const std::string& origin = imported_.nodes[static_cast<size_t>(plan_.products[p])].origin;
    const TimedLayer f = floats ? floats->find(origin) : TimedLayer{}, b = bytes ? bytes->find(origin) : TimedLayer{};
    const bool is_slower = f.kernel && b.kernel && b.seconds > f.seconds;
    const std::string why = is_slower ? why_slower(*f.kernel, *b.kernel, here_) : "";
    const auto time = [](const TimedLayer& l) { return l.kernel ? ms_text(l.seconds) : "-"; };
    out << fmt::format("{:>9} {:>9} {:>9}  {}{}\n", samples_ ? fmt::format("{:.2g}", errors.products[p]) : "-", time(f),
                       time(b), origin, is_slower ? "  slower" + (why.empty() ? "" : ": " + why) : "");
  }
  if (!samples_) return absl::OkStatus();
  for (size_t o = 0; o < errors.outputs.size(); ++o)
    out << fmt::format("output '{}' is off by {:.2g} of its norm\n", imported_.outputs[o].name, errors.outputs[o]);
  if (errors.tops > 0)
    out << fmt::format("the largest element of '{}' is at the same place in {} of {} rows\n", imported_.outputs[0].name,
                       errors.equal_tops, errors.tops);
  return absl::OkStatus();
}

}  // namespace hone
