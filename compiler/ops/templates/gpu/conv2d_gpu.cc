// conv2d and depthwise_conv2d on GPUs.
#include "compiler/ops/templates/gpu/conv2d_gpu.h"

#include "compiler/ops/definition.h"
#include "compiler/ops/templates/gpu/window_tile.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"
#include "compiler/ops/windows/winograd.h"

namespace hone {
namespace {

enum Algorithm : int64_t { kDirect = 0, kGemm = 1, kWinograd2 = 2, kTensorCores = 3, kWinograd4 = 4 };

std::vector<int64_t> algorithms_for(const Workload& w, const Target& target) {
  if (conv_shape(w).groups != 1) return {kDirect};
  std::vector<int64_t> out{kDirect, kGemm};
  if (tensor_cores_apply(w, target)) out.push_back(kTensorCores);
  for (const int64_t m : {kWinograd2, kWinograd4})
    if (winograd_applies(w, static_cast<int>(m))) out.push_back(m);
  return out;
}

}  // namespace

void conv2d_direct_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const WindowTile tile = choose_window_tile(knobs, target, w);
  if (!out) return;

  const Definition d = convolution(w);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  s.compute_inline(s.block("pad"));
  const auto [conv, writer] = begin_tile(s, d);
  schedule_window(s, tile, writer, conv, "oc", {"ic", "kh", "kw"});
  s.transform_layout("weight", Layout{{{1, 1, c.ci / c.groups}, {2, 1, c.kh}, {3, 1, c.kw}, {0, 1, c.co}}});
  lay_out_activations(s, w, d);
}

void conv2d_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const std::vector<int64_t> algorithms = algorithms_for(w, target);
  const int64_t algorithm = knobs.choice("algorithm", algorithms, tensor_cores_apply(w, target) ? kTensorCores : kGemm,
                                         {{kDirect, "direct"},
                                          {kGemm, "gemm"},
                                          {kWinograd2, "winograd2"},
                                          {kTensorCores, "tensor_cores"},
                                          {kWinograd4, "winograd4"}});
  const auto offered = [&](int64_t a) {
    return std::find(algorithms.begin(), algorithms.end(), a) != algorithms.end();
  };
  knobs.when(algorithm == kDirect);
  conv2d_direct_gpu(w, target, knobs, algorithm == kDirect ? out : nullptr);
  if (offered(kGemm)) {
    knobs.when(algorithm == kGemm);
    conv2d_gemm_gpu(w, target, knobs, algorithm == kGemm ? out : nullptr);
  }
  if (offered(kTensorCores)) {
    knobs.when(algorithm == kTensorCores);
    conv2d_tensor_core_gpu(w, target, knobs, algorithm == kTensorCores ? out : nullptr);
  }
  if (offered(kWinograd2)) {
    const bool winograd = algorithm == kWinograd2 || algorithm == kWinograd4;
    knobs.when(winograd);
    conv2d_winograd_gpu(w, target, static_cast<int>(winograd ? algorithm : kWinograd2), knobs,
                        winograd ? out : nullptr);
  }
}

void depthwise_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  conv2d_direct_gpu(w, target, knobs, out);
}

}  // namespace hone
