#include "tests/bench/kernel_workloads.h"

#include <fmt/format.h>

#include <random>

#include "compiler/ops/windows/conv_shape.h"
#include "tests/fakes/workloads.h"

namespace hone::bench {
namespace {

struct Conv {
  const char* name;
  int size, ci, co, kernel, stride;
};
constexpr Conv kConvs[] = {{"C1", 224, 3, 64, 7, 2},    {"C2", 56, 64, 64, 3, 1},    {"C3", 56, 64, 64, 1, 1},
                           {"C4", 56, 64, 128, 3, 2},   {"C5", 56, 64, 128, 1, 2},   {"C6", 28, 128, 128, 3, 1},
                           {"C7", 28, 128, 256, 3, 2},  {"C8", 28, 128, 256, 1, 2},  {"C9", 14, 256, 256, 3, 1},
                           {"C10", 14, 256, 512, 3, 2}, {"C11", 14, 256, 512, 1, 2}, {"C12", 7, 512, 512, 3, 1}};

struct Depthwise {
  const char* name;
  int size, channels, kernel, stride;
};
constexpr Depthwise kDepthwise[] = {{"D1", 112, 32, 3, 1}, {"D2", 112, 64, 3, 2}, {"D3", 56, 128, 3, 1},
                                    {"D4", 56, 128, 3, 2}, {"D5", 28, 256, 3, 1}, {"D6", 28, 256, 3, 2},
                                    {"D7", 14, 512, 3, 1}, {"D8", 14, 512, 3, 2}, {"D9", 7, 1024, 3, 1}};

constexpr std::pair<const char*, const char*> kProducts[] = {{"M1", "dense(m=1,n=1000,k=512)"},
                                                             {"M2", "dense(m=128,n=768,k=768)"},
                                                             {"M3", "dense(m=128,n=3072,k=768)"},
                                                             {"M4", "dense(m=1024,n=1024,k=1024)"},
                                                             {"B1", "batch_matmul(b=12,m=128,n=128,k=64)"},
                                                             {"B2", "batch_matmul(b=12,m=128,n=64,k=128)"},
                                                             {"B3", "batch_matmul(b=8,m=512,n=512,k=64)"}};

// Workloads that move data more than they compute: ResNet's, VGG's and Inception's poolings, activations and residuals
// of ResNet and BERT, means and norms.
constexpr std::pair<const char*, const char*> kMemoryBound[] = {
    {"P1", "max_pool2d(c=64,h=112,w=112)"},
    {"P2", "max_pool2d(c=256,h=56,w=56,kh=2,kw=2,pad=0)"},
    {"P3", "max_pool2d(c=192,h=28,w=28,stride=1)"},
    {"P4", "avg_pool2d(c=192,h=28,w=28,kh=3,kw=3,stride=1,pad=1)"},
    {"P5", "avg_pool2d(c=2048,h=7,w=7,kh=7,kw=7,stride=1)"},
    {"P6", "max_pool2d(c=64,h=112,w=112,layout=NCHW)"},
    {"E1", "elementwise(op=relu,shape=1x64x112x112)"},
    {"E2", "elementwise(op=add,shape=1x256x56x56)"},
    {"E3", "elementwise(op=gelu,shape=128x3072)"},
    {"E4", "elementwise(op=tanh,shape=128x768)"},
    {"E5", "elementwise(op=mul+add+relu,shape=1x256x56x56,operands=1x256x1x1:1x256x1x1)"},
    {"E6", "elementwise(op=sigmoid,shape=1000003)"},
    {"S1", "reduce(op=mean,shape=1x2048x7x7,axes=2:3)"},
    {"S2", "reduce(op=sum,shape=128x768,axes=1)"},
    {"S3", "reduce(op=max,shape=1536x128,axes=1)"},
    {"S4", "reduce(op=sum,shape=1024x1024,axes=0)"},
    {"S5", "reduce(op=sum,shape=4000000,axes=all)"},
    {"S6", "reduce(op=mean,shape=64x32x3136,axes=0:2)"}};

constexpr double kMaxFlops = 2e9;

class Dice {
 public:
  explicit Dice(uint64_t seed) : rng_(seed) {}
  // std::uniform_int_distribution differs between standard libraries; the bias of a remainder does not matter here.
  int between(int low, int high) { return low + static_cast<int>(rng_() % static_cast<uint64_t>(high - low + 1)); }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<int>(values.size()) - 1)];
  }
  // Half of the time a multiple of 16, else anything.
  int channels(int high) { return between(0, 1) ? 16 * between(1, high / 16) : between(1, high); }

 private:
  std::mt19937_64 rng_;
};

std::string random_text(Dice& dice) {
  switch (dice.between(0, 5)) {
    case 0:
      return fmt::format("dense(m={},n={},k={})", dice.one_of({1, 7, 32, 100, 128, 384, 1000}), dice.between(10, 3072),
                         dice.between(16, 3072));
    case 1:
      return fmt::format("batch_matmul(b={},m={},n={},k={})", dice.between(2, 16), dice.between(1, 512),
                         dice.between(1, 512), dice.between(8, 256));
    case 2: {
      const int kernel = dice.one_of({3, 5, 7}), size = dice.between(kernel, 112);
      return fmt::format("depthwise_conv2d(c={},h={},w={},kh={},kw={},stride={},pad={})", dice.channels(1024), size,
                         size, kernel, kernel, dice.between(1, 2), kernel / 2);
    }
    default: {
      const int kernel = dice.one_of({1, 1, 3, 3, 5, 7}), height = dice.between(7, 112),
                width = dice.between(0, 3) ? height : dice.between(7, 112);
      const int dilation = kernel == 3 && dice.between(0, 7) == 0 ? 2 : 1, groups = dice.between(0, 7) == 0 ? 4 : 1;
      const int ci = groups * dice.channels(512 / groups), co = groups * dice.channels(512 / groups);
      return fmt::format("conv2d(ci={},h={},w={},co={},kh={},kw={},stride={},pad={},dilation={},groups={})", ci, height,
                         width, co, kernel, kernel, dice.between(0, 2) ? 1 : 2, kernel / 2 * dilation, dilation,
                         groups);
    }
  }
}

}  // namespace

std::vector<NamedWorkload> fixed_workloads() {
  std::vector<NamedWorkload> all;
  for (const Conv& c : kConvs)
    all.push_back(
        {c.name, parse_workload(fmt::format("conv2d(ci={},h={},w={},co={},kh={},kw={},stride={},pad={})", c.ci, c.size,
                                            c.size, c.co, c.kernel, c.kernel, c.stride, c.kernel / 2))});
  for (const Depthwise& d : kDepthwise)
    all.push_back(
        {d.name, parse_workload(fmt::format("depthwise_conv2d(c={},h={},w={},kh={},kw={},stride={},pad={})", d.channels,
                                            d.size, d.size, d.kernel, d.kernel, d.stride, d.kernel / 2))});
  for (const auto& [name, text] : kProducts) all.push_back({name, parse_workload(text)});
  for (const auto& [name, text] : kMemoryBound) all.push_back({name, parse_workload(text)});
  return all;
}

std::vector<NamedWorkload> of_bytes(const std::vector<NamedWorkload>& workloads) {
  const std::pair<std::string, std::string> as_bytes[] = {{"dtype", "u8:s8:s32:s32"},
                                                          {"epilogue", "cast:f32+mul[1]+round+saturate:u8"}};
  std::vector<NamedWorkload> out;
  for (const NamedWorkload& named : workloads) {
    const bool is_product =
        named.workload.operator_name() == "dense" || named.workload.operator_name() == "batch_matmul";
    if (!is_memory_bound(named.workload))
      out.push_back({named.name, Workload::changed(named.workload, {as_bytes, is_product ? 1u : 2u})});
  }
  return out;
}

Workload with_whole_words(const Workload& w) {
  constexpr int64_t kWord = 4;
  if (w.operator_name() != "conv2d" || !w.attributes.text("dtype").starts_with("u8")) return w;
  const ConvShape& s = conv_shape(w);
  if (s.groups > 1 || s.ci % kWord == 0) return w;
  const std::pair<std::string, std::string> channels{"ci", std::to_string((s.ci + kWord - 1) / kWord * kWord)};
  return Workload::changed(w, {&channels, 1});
}

std::vector<NamedWorkload> of_bf16(const std::vector<NamedWorkload>& workloads) {
  const std::pair<std::string, std::string> dtype{"dtype", "bf16:bf16:f32:f32"};
  std::vector<NamedWorkload> out;
  for (const NamedWorkload& named : workloads)
    if (!is_memory_bound(named.workload) && named.workload.operator_name() != "depthwise_conv2d")
      out.push_back({named.name, Workload::changed(named.workload, {&dtype, 1})});
  return out;
}

bool is_memory_bound(const Workload& w) {
  return w.operator_name() == "max_pool2d" || w.operator_name() == "avg_pool2d" || w.operator_name() == "elementwise" ||
         w.operator_name() == "reduce";
}

std::vector<NamedWorkload> random_workloads(int count, uint64_t seed) {
  Dice dice(seed);
  std::vector<NamedWorkload> all;
  while (static_cast<int>(all.size()) < count) {
    Workload w = parse_workload(random_text(dice));
    if (flops(w) <= kMaxFlops) all.push_back({fmt::format("R{}", all.size() + 1), std::move(w)});
  }
  return all;
}

}  // namespace hone::bench
