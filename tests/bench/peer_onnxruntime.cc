#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/check.h"
#include "base/log.h"
#include "compiler/ops/windows/conv_shape.h"
#include "tests/bench/models/engine.h"
#include "tests/bench/peers.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/test_model.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kU8 = 2, kI8 = 3, kI32 = 6;  // ONNX's numbers of types

using Shape = std::vector<int64_t>;

int64_t count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

// An operator as a model of its own, from `x` (u8) to `y`, with the weights `w` (s8).
struct OneOperator {
  TestModel model;
  SideTensor x, y;

  void port(SideTensor& t, const std::string& name, const Shape& shape, int type) {
    t = {name, shape, type, count(shape) * (type == kI32 ? 4 : 1), {}};
    if (name == "x")
      model.input(name, {shape.begin(), shape.end()}, type);
    else
      model.output(name);
  }
  void weights(const Shape& shape) {
    std::minstd_rand rng(1);
    std::string bytes(static_cast<size_t>(count(shape)), 0);
    for (char& b : bytes) b = static_cast<char>(rng() >> 8);
    model.tensor("w", shape, kI8)->set_raw_data(std::move(bytes));
  }
  void zero(const std::string& name, int type) { model.tensor(name, {}, type)->set_raw_data(std::string(1, 0)); }
};

OneOperator convolution(const Workload& w) {
  const ConvShape& s = conv_shape(w);
  OneOperator one;
  one.port(one.x, "x", {s.n, s.ci, s.h, s.w}, kU8);
  one.port(one.y, "y", {s.n, s.co, s.oh, s.ow}, kU8);
  one.weights({s.co, s.ci / s.groups, s.kh, s.kw});
  one.zero("x0", kU8), one.zero("w0", kI8), one.zero("y0", kU8);
  one.model.floats("scale", {}, {1.f}).floats("y_scale", {}, {100.f});
  one.model.node("QLinearConv", {"x", "scale", "x0", "w", "scale", "w0", "y_scale", "y0"}, {"y"})
      .ints("strides", {s.stride_h, s.stride_w})
      .ints("dilations", {s.dilation_h, s.dilation_w})
      .ints("pads", {s.pad_top, s.pad_left, s.pad_bottom, s.pad_right})
      .number("group", s.groups);
  return one;
}

OneOperator dense(const Workload& w) {
  const int64_t m = w.attributes.number("m"), n = w.attributes.number("n"), k = w.attributes.number("k");
  OneOperator one;
  one.port(one.x, "x", {m, k}, kU8);
  one.port(one.y, "y", {m, n}, kI32);
  one.weights({k, n});
  one.model.node("MatMulInteger", {"x", "w"}, {"y"});
  return one;
}

}  // namespace

std::vector<Contender> onnxruntime_contenders(const Workload& w, int threads, const std::string& library) {
  const bool is_convolution = w.operator_name() == "conv2d" || w.operator_name() == "depthwise_conv2d";
  if ((!is_convolution && w.operator_name() != "dense") || w.attributes.text("dtype") != "u8:s8:s32:s32") return {};
  if (!fs::exists(library)) return {};
  OneOperator one = is_convolution ? convolution(w) : dense(w);
  one.model.model.set_ir_version(8);
  const TemporaryFolder folder;
  SideCase c;
  c.model = (fs::path(folder.path()) / "one.onnx").string();
  c.library = library;
  c.threads = threads;
  c.inputs = {one.x};
  c.outputs = {one.y};
  std::ofstream(c.model, std::ios::binary) << one.model.model.SerializeAsString();
  auto buffers = std::make_shared<Buffers>();
  buffers->inputs.push_back(allocate(one.x.bytes));
  buffers->outputs.push_back(allocate(one.y.bytes));
  std::minstd_rand rng(2);
  auto* x = static_cast<unsigned char*>(buffers->inputs[0].get());
  for (int64_t i = 0; i < one.x.bytes; ++i) x[i] = static_cast<unsigned char>(rng() >> 8);
  StatusOr<Opened> opened = open_onnxruntime(c, *buffers);
  if (!opened.ok()) {
    log::warn("{}: ONNX Runtime is left out: {}", to_string(w), message_of(opened.status()));
    return {};
  }
  const std::shared_ptr<Engine> engine = std::move(opened->engine);
  return {{"onnxrt", [engine, buffers] {
             const Status ran = engine->run();
             HONE_ICHECK(ran.ok()) << message_of(ran);
           }}};
}

}  // namespace hone::bench
