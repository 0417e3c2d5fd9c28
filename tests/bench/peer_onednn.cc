#include <omp.h>

#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <unordered_map>

#include <dnnl.hpp>

#include "compiler/ops/by_row/reduce.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/windows/conv_shape.h"
#include "tests/bench/peers.h"

namespace hone::bench {
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// Memory in the layout that the primitive chose, with values that make no denormals.
memory filled(const memory::desc& desc) {
  memory m(desc, engine());
  std::minstd_rand rng(1);
  std::uniform_real_distribution<float> draw(-1, 1);
  if (desc.data_type() == memory::data_type::bf16) {
    auto* halves = static_cast<uint16_t*>(m.get_data_handle());
    for (size_t i = 0; i < desc.get_size() / sizeof(uint16_t); ++i) {
      const float v = draw(rng);
      uint32_t bits = 0;
      std::memcpy(&bits, &v, sizeof bits);
      halves[i] = static_cast<uint16_t>(bits >> 16);
    }
    return m;
  }
  if (desc.data_type() != memory::data_type::f32) {
    auto* bytes = static_cast<uint8_t*>(m.get_data_handle());
    for (size_t i = 0; i < desc.get_size(); ++i) bytes[i] = static_cast<uint8_t>(rng() >> 8);
    return m;
  }
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

constexpr std::string_view kBytes = "u8:s8:s32:s32", kBf16 = "bf16:bf16:f32:f32";

// The types of a product's input, weights and output.
struct Types {
  memory::data_type in = memory::data_type::f32, weight = in, out = in;
};
Types types_of(const Workload& w) {
  using enum memory::data_type;
  const std::string& dtype = w.attributes.text("dtype");
  if (dtype == "f32") return {};
  if (dtype == kBf16) return {bf16, bf16, f32};
  return {u8, s8, w.operator_name() == "dense" || w.operator_name() == "batch_matmul" ? s32 : u8};
}

memory::desc any(const memory::dims& dims, memory::data_type t) { return {dims, t, memory::format_tag::any}; }

std::vector<Contender> convolutions(const Workload& w) {
  const ConvShape& s = conv_shape(w);
  const memory::dims weights = s.groups == 1 ? memory::dims{s.co, s.ci, s.kh, s.kw}
                                             : memory::dims{s.groups, s.co / s.groups, s.ci / s.groups, s.kh, s.kw};
  const Types t = types_of(w);
  dnnl::primitive_attr scaled;
  if (t.out == memory::data_type::u8) scaled.set_output_scales(0, {0.01f});
  std::vector<Contender> found;
  for (const auto& [name, algorithm] : {std::pair{"onednn_direct", dnnl::algorithm::convolution_direct},
                                        {"onednn_auto", dnnl::algorithm::convolution_auto},
                                        {"onednn_winograd", dnnl::algorithm::convolution_winograd}}) {
    const dnnl::convolution_forward::desc desc(
        dnnl::prop_kind::forward_inference, algorithm, any({s.n, s.ci, s.h, s.w}, t.in), any(weights, t.weight),
        any({s.n, s.co, s.oh, s.ow}, t.out), {s.stride_h, s.stride_w}, {s.dilation_h - 1, s.dilation_w - 1},
        {s.pad_top, s.pad_left}, {s.pad_bottom, s.pad_right});
    const dnnl::convolution_forward::primitive_desc chosen(desc, scaled, engine(), /*allow_empty=*/true);
    if (!chosen) continue;
    found.push_back(contender(name, dnnl::convolution_forward(chosen),
                              {{DNNL_ARG_SRC, filled(chosen.src_desc())},
                               {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc())},
                               {DNNL_ARG_DST, memory(chosen.dst_desc(), engine())}}));
  }
  return found;
}

std::vector<Contender> products(const Workload& w) {
  const int64_t m = w.attributes.number("m"), n = w.attributes.number("n"), k = w.attributes.number("k");
  const bool dense = w.operator_name() == "dense";
  const Types t = types_of(w);
  const auto plain = [&](const memory::dims& dims, memory::data_type type) {
    return memory::desc(dims, type, memory::format_tag::abc);
  };
  const int64_t b = dense ? 1 : w.attributes.number("b");
  const dnnl::matmul::desc desc =
      dense ? dnnl::matmul::desc(memory::desc({m, k}, t.in, memory::format_tag::ab), any({k, n}, t.weight),
                                 memory::desc({m, n}, t.out, memory::format_tag::ab))
            : dnnl::matmul::desc(plain({b, m, k}, t.in), plain({b, k, n}, t.weight), plain({b, m, n}, t.out));
  const dnnl::matmul::primitive_desc chosen(desc, engine(), /*allow_empty=*/true);
  if (!chosen) return {};
  return {contender("onednn", dnnl::matmul(chosen),
                    {{DNNL_ARG_SRC, filled(chosen.src_desc())},
                     {DNNL_ARG_WEIGHTS, filled(chosen.weights_desc())},
                     {DNNL_ARG_DST, memory(chosen.dst_desc(), engine())}})};
}

// oneDNN's reference implementation, used where it has no kernel: correct, but not representative of its speed.
template <class Description>
bool is_reference(const Description& chosen) {
  return std::string_view(chosen.impl_info_str()).substr(0, 3) == "ref";
}

memory::dims strides_of(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

memory::desc row_major(const memory::dims& dims) { return {dims, memory::data_type::f32, strides_of(dims)}; }

std::vector<Contender> poolings(const Workload& w) {
  const ConvShape& s = conv_shape(w);
  const std::string& layout = w.attributes.text("layout");
  const auto tag = layout == "NHWC"                     ? memory::format_tag::nhwc
                   : layout != "NCHW" && s.ci % 16 == 0 ? memory::format_tag::nChw16c
                                                        : memory::format_tag::nchw;
  const memory::desc src({s.n, s.ci, s.h, s.w}, memory::data_type::f32, tag),
      dst({s.n, s.co, s.oh, s.ow}, memory::data_type::f32, tag);
  const auto algorithm = w.operator_name() == "max_pool2d"               ? dnnl::algorithm::pooling_max
                         : w.attributes.text("count_include_pad") == "1" ? dnnl::algorithm::pooling_avg_include_padding
                                                                         : dnnl::algorithm::pooling_avg_exclude_padding;
  const dnnl::pooling_v2_forward::desc desc(
      dnnl::prop_kind::forward_inference, algorithm, src, dst, {s.stride_h, s.stride_w}, {s.kh, s.kw},
      {s.dilation_h - 1, s.dilation_w - 1}, {s.pad_top, s.pad_left}, {s.pad_bottom, s.pad_right});
  const dnnl::pooling_v2_forward::primitive_desc chosen(desc, engine(), /*allow_empty=*/true);
  if (!chosen || is_reference(chosen)) return {};
  return {contender("onednn", dnnl::pooling_v2_forward(chosen),
                    {{DNNL_ARG_SRC, filled(src)}, {DNNL_ARG_DST, memory(dst, engine())}})};
}

std::vector<Contender> elementwise_functions_of_one(const Workload& w) {
  const ElementwiseShape& s = elementwise_shape(w);
  if (s.chain.links.size() != 1) return {};
  static const std::unordered_map<std::string_view, std::pair<dnnl::algorithm, float>> kUnary = {
      {"relu", {dnnl::algorithm::eltwise_relu, 0.f}},
      {"abs", {dnnl::algorithm::eltwise_abs, 0.f}},
      {"exp", {dnnl::algorithm::eltwise_exp, 0.f}},
      {"log", {dnnl::algorithm::eltwise_log, 0.f}},
      {"tanh", {dnnl::algorithm::eltwise_tanh, 0.f}},
      {"sqrt", {dnnl::algorithm::eltwise_sqrt, 0.f}},
      {"square", {dnnl::algorithm::eltwise_square, 0.f}},
      {"sigmoid", {dnnl::algorithm::eltwise_logistic, 0.f}},
      {"gelu", {dnnl::algorithm::eltwise_gelu_erf, 0.f}},
      {"silu", {dnnl::algorithm::eltwise_swish, 1.f}},
      {"hard_swish", {dnnl::algorithm::eltwise_hardswish, 0.f}}};
  static const std::unordered_map<std::string_view, dnnl::algorithm> kBinary = {
      {"add", dnnl::algorithm::binary_add}, {"sub", dnnl::algorithm::binary_sub}, {"mul", dnnl::algorithm::binary_mul},
      {"div", dnnl::algorithm::binary_div}, {"max", dnnl::algorithm::binary_max}, {"min", dnnl::algorithm::binary_min}};
  const memory::desc x = row_major(s.shape);
  const std::string_view name = s.chain.links[0].function->name;
  if (const auto unary = kUnary.find(name); unary != kUnary.end()) {
    const dnnl::eltwise_forward::primitive_desc chosen(
        {dnnl::prop_kind::forward_inference, unary->second.first, x, unary->second.second, 0.f}, engine());
    return {contender("onednn", dnnl::eltwise_forward(chosen),
                      {{DNNL_ARG_SRC, filled(x)}, {DNNL_ARG_DST, memory(x, engine())}})};
  }
  const auto binary = kBinary.find(name);
  if (binary == kBinary.end()) return {};
  const memory::desc y = row_major(s.operands[0]);
  const dnnl::binary::primitive_desc chosen({binary->second, x, y, x}, engine(), /*allow_empty=*/true);
  if (!chosen || is_reference(chosen)) return {};
  return {contender("onednn", dnnl::binary(chosen),
                    {{DNNL_ARG_SRC_0, filled(x)}, {DNNL_ARG_SRC_1, filled(y)}, {DNNL_ARG_DST, memory(x, engine())}})};
}

std::vector<Contender> reductions(const Workload& w) {
  const ReduceShape& s = reduce_shape(w);
  const auto algorithm = s.op == "sum"    ? dnnl::algorithm::reduction_sum
                         : s.op == "mean" ? dnnl::algorithm::reduction_mean
                         : s.op == "max"  ? dnnl::algorithm::reduction_max
                                          : dnnl::algorithm::reduction_min;
  memory::dims kept = s.shape;
  for (const int64_t axis : s.axes) kept[static_cast<size_t>(axis)] = 1;
  const memory::desc src = row_major(s.shape), dst = row_major(kept);
  const dnnl::reduction::primitive_desc chosen({algorithm, src, dst, 0.f, 0.f}, engine(), /*allow_empty=*/true);
  if (!chosen || is_reference(chosen)) return {};
  return {contender("onednn", dnnl::reduction(chosen),
                    {{DNNL_ARG_SRC, filled(src)}, {DNNL_ARG_DST, memory(dst, engine())}})};
}

}  // namespace

std::vector<Contender> onednn_contenders(const Workload& w, int threads) {
  const std::string& dtype = w.attributes.text("dtype");
  if (dtype != "f32" && dtype != kBytes && dtype != kBf16) return {};
  omp_set_num_threads(threads);
  if (w.operator_name() == "conv2d" || w.operator_name() == "depthwise_conv2d") return convolutions(w);
  if (w.operator_name() == "max_pool2d" || w.operator_name() == "avg_pool2d") return poolings(w);
  if (w.operator_name() == "elementwise") return elementwise_functions_of_one(w);
  return w.operator_name() == "reduce" ? reductions(w) : products(w);
}

}  // namespace hone::bench
