#include <omp.h>

#include <memory>
#include <random>
#include <unordered_map>

#include <dnnl.hpp>

#include "compiler/ops/conv_shape.h"
#include "tests/bench/peers.h"

namespace hone::bench {
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// Memory of whatever layout the primitive chose, with values that make no denormals.
memory filled(const memory::desc& desc) {
  memory m(desc, engine());
  std::minstd_rand rng(1);
  std::uniform_real_distribution<float> draw(-1, 1);
  float* values = static_cast<float*>(m.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) values[i] = draw(rng);
  return m;
}

Contender contender(std::string name, const dnnl::primitive& primitive, Arguments arguments) {
  auto stream = std::make_shared<dnnl::stream>(engine());
  return {std::move(name), [primitive, arguments = std::move(arguments), stream] {
            primitive.execute(*stream, arguments);
            stream->wait();
          }};
}

memory::desc any(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

std::vector<Contender> convolutions(const Workload& w) {
  const ConvShape s = conv_shape(w);
  const memory::dims weights = s.groups == 1 ? memory::dims{s.co, s.ci, s.kh, s.kw} : memory::dims{s.groups, s.co / s.groups, s.ci / s.groups, s.kh, s.kw};
  std::vector<Contender> found;
  for (const auto& [name, algorithm] : {std::pair{"onednn_direct", dnnl::algorithm::convolution_direct}, {"onednn_auto", dnnl::algorithm::convolution_auto},
                                        {"onednn_winograd", dnnl::algorithm::convolution_winograd}}) {
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, any({s.n, s.ci, s.h, s.w}), any(weights), any({s.n, s.co, s.oh, s.ow}), {s.stride_h, s.stride_w},
                                               {s.dilation_h - 1, s.dilation_w - 1}, {s.pad_top, s.pad_left}, {s.pad_bottom, s.pad_right});
    const dnnl::convolution_forward::primitive_desc chosen(desc, engine(), /*allow_empty=*/true);
    if (!chosen) continue;
    found.push_back(contender(name, dnnl::convolution_forward(chosen),
                              {{DNNL_ARG_SRC, filled(chosen.src_desc())}, {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc())}, {DNNL_ARG_DST, memory(chosen.dst_desc(), engine())}}));
  }
  return found;
}

std::vector<Contender> products(const Workload& w) {
  const int64_t m = w.number("m"), n = w.number("n"), k = w.number("k");
  const bool dense = w.task == "dense";
  const auto f32 = memory::data_type::f32;
  const auto plain = [&](const memory::dims& dims) { return memory::desc(dims, f32, memory::format_tag::abc); };
  const int64_t b = dense ? 1 : w.number("b");
  const dnnl::matmul::desc desc = dense ? dnnl::matmul::desc(memory::desc({m, k}, f32, memory::format_tag::ab), any({k, n}), memory::desc({m, n}, f32, memory::format_tag::ab))
                                        : dnnl::matmul::desc(plain({b, m, k}), plain({b, k, n}), plain({b, m, n}));
  const dnnl::matmul::primitive_desc chosen(desc, engine(), /*allow_empty=*/true);
  if (!chosen) return {};
  return {contender("onednn", dnnl::matmul(chosen),
                    {{DNNL_ARG_SRC, filled(chosen.src_desc())}, {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc())}, {DNNL_ARG_DST, memory(chosen.dst_desc(), engine())}})};
}

}  // namespace

std::vector<Contender> onednn_contenders(const Workload& w, int threads) {
  if (w.text("dtype") != "f32") return {};
  omp_set_num_threads(threads);
  return w.task == "conv2d" || w.task == "depthwise_conv2d" ? convolutions(w) : products(w);
}

}  // namespace hone::bench
