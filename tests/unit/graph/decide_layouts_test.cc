// Layouts by measured times: which nodes leave the rule, and that they compute the same.
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

#include "base/hash.h"
#include "compiler/graph/passes/passes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kLanes = 16;

PassContext with_times(MeasuredTime measured) {
  PassContext context = test_context();
  context.lanes = kLanes;
  context.measured = std::move(measured);
  return context;
}

// Seconds of workloads whose canonical text contains these pieces; the first piece that fits says it.
using Times = std::vector<std::pair<std::string, std::optional<double>>>;
MeasuredTime times(Times known) {
  return [known = std::move(known)](const Workload& w) -> std::optional<double> {
    const std::string text = to_string(w);
    for (const auto& [piece, seconds] : known)
      if (text.find(piece) != std::string::npos) return seconds;
    return std::nullopt;
  };
}

Graph by_rule(const Graph& g) { return choose_layouts(g, with_times({})); }
Graph by_times(const Graph& g, Times known) { return choose_layouts(g, with_times(times(std::move(known)))); }

// Three convolutions of 3x3; only the second has 16 output channels.
Graph chain() {
  return read_graph(R"(graph g
input "x" %x f32[1, 3, 6, 6]
%u = constant f32[32, 3, 3, 3] fill 1
%v = constant f32[16, 32, 3, 3] fill 2
%w = constant f32[32, 16, 3, 3] fill 3
%a = conv2d(ci=3,h=6,w=6,co=32,kh=3,kw=3,pad=1,layout=NCHW,epilogue=relu) %x %u  # first
%b = conv2d(ci=32,h=6,w=6,co=16,kh=3,kw=3,pad=1,layout=NCHW,epilogue=relu) %a %v  # second
%c = elementwise(op=abs,shape=1x16x6x6) %b  # middle
%d = conv2d(ci=16,h=6,w=6,co=32,kh=3,kw=3,pad=1,layout=NCHW) %c %w  # third
output "y" %d f32[1, 32, 6, 6]
)");
}

const std::string kBlocksOfSecond = "co=16,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW16c",
                  kPlanesOfSecond = "co=16,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW,";

TEST(DecideLayouts, AConvolutionThatIsFasterInPlanesIsThere) {
  const Graph g = chain();
  const Graph made = by_times(g, {{kBlocksOfSecond, 1e-3}, {kPlanesOfSecond, 1e-4}});
  EXPECT_THAT(to_string(made), AllOf(HasSubstr(kPlanesOfSecond), testing::Not(HasSubstr(kBlocksOfSecond))));
  EXPECT_THAT(to_string(made), HasSubstr("elementwise(op=abs,shape=1x16x6x6,")) << "it follows what it reads";
  EXPECT_EQ(count_of(made, "transpose"), count_of(by_rule(g), "transpose") + 2);
  expect_same_values(g, made, 1e-5);
}

TEST(DecideLayouts, ConversionsMayCostMore) {
  const Graph g = chain();
  EXPECT_EQ(to_string(by_times(g, {{kBlocksOfSecond, 1e-3}, {kPlanesOfSecond, 1e-4}, {"transpose", 5e-4}})),
            to_string(by_rule(g)));
  // Also without measured times: converting 36 pixels of 32 and of 16 channels takes some hundred nanoseconds.
  EXPECT_EQ(to_string(by_times(g, {{kBlocksOfSecond, 1.0e-6}, {kPlanesOfSecond, 0.9e-6}})), to_string(by_rule(g)));
  EXPECT_NE(to_string(by_times(g, {{kBlocksOfSecond, 2.0e-6}, {kPlanesOfSecond, 0.9e-6}})), to_string(by_rule(g)));
}

TEST(DecideLayouts, WhatIsHardlyFasterStays) {
  const Graph g = chain();
  EXPECT_EQ(to_string(by_times(g, {{kBlocksOfSecond, 1.04}, {kPlanesOfSecond, 1}})), to_string(by_rule(g)));
}

TEST(DecideLayouts, WhatIsMeasuredOnOneSideAloneStays) {
  const Graph g = chain();
  EXPECT_EQ(to_string(by_times(g, {{kBlocksOfSecond, 1}})), to_string(by_rule(g)));
  EXPECT_EQ(to_string(by_times(g, {{kPlanesOfSecond, 1e-9}})), to_string(by_rule(g)));
}

TEST(DecideLayouts, AConvolutionReadsPlanesWhereThatSavesAConversion) {
  const Graph g = chain();
  const std::string planes_to_blocks = "ci=16,h=6,w=6,co=32,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW";
  PassContext context = with_times(times({{kBlocksOfSecond, 1e-3},
                                          {kPlanesOfSecond, 1e-4},
                                          {planes_to_blocks + "1c:16c", 3.0e-5},
                                          {planes_to_blocks + "16c", 2.9e-5},
                                          {"transpose", 1e-5}}));
  FusionNotes notes;
  context.notes = &notes;
  const Graph made = choose_layouts(g, context);
  EXPECT_EQ(notes.layout_of("first"), "");
  EXPECT_EQ(notes.layout_of("second"), "in planes 0.100 ms as measured, 1.00 ms in NCHW16c");
  EXPECT_EQ(notes.layout_of("third"),
            "reads planes 0.0300 ms as measured, 0.0290 ms in NCHW16c, but with other conversions");
  EXPECT_THAT(to_string(made), AllOf(HasSubstr(kPlanesOfSecond), HasSubstr(planes_to_blocks + "1c:16c")));
  EXPECT_EQ(count_of(made, "transpose"), count_of(by_rule(g), "transpose") + 1);
  expect_same_values(g, made, 1e-5);
}

TEST(DecideLayouts, A1x1ConvolutionIsComparedAsTheProductThatItBecomes) {
  const Graph g = read_graph(R"(graph g
input "x" %x f32[1, 16, 6, 6]
%w = constant f32[16, 16, 1, 1] fill 1
%b = constant f32[16] fill 2
%y = conv2d(ci=16,h=6,w=6,co=16,kh=1,kw=1,pad=0,layout=NCHW,epilogue=bias+relu) %x %w %b  # pointwise
output "y" %y f32[1, 16, 6, 6]
)");
  PassContext context = with_times(times({{"batch_matmul(b=1,m=16,n=36,k=16", 1e-5}, {"layout=NCHW16c", 1e-3}}));
  FusionNotes notes;
  context.notes = &notes;
  const Graph made = planar_products(choose_layouts(g, context), context);
  EXPECT_EQ(count_of(made, "batch_matmul"), 1);
  EXPECT_EQ(count_of(made, "transpose"), 0);
  EXPECT_EQ(notes.layout_of("pointwise"), "in planes 0.0100 ms as measured, 1.00 ms in NCHW16c");
  expect_same_values(g, made, 1e-5);
}

// A residual around two convolutions, and a pooling behind it.
Graph residual() {
  return read_graph(R"(graph g
input "x" %x f32[1, 3, 6, 6]
%u = constant f32[16, 3, 1, 1] fill 1
%v = constant f32[16, 16, 3, 3] fill 2
%w = constant f32[16, 16, 1, 1] fill 3
%a = conv2d(ci=3,h=6,w=6,co=16,kh=1,kw=1,pad=0,layout=NCHW,epilogue=relu) %x %u
%b = conv2d(ci=16,h=6,w=6,co=16,kh=3,kw=3,pad=1,layout=NCHW,epilogue=relu) %a %v
%c = conv2d(ci=16,h=6,w=6,co=16,kh=1,kw=1,pad=0,layout=NCHW,epilogue=add) %b %w %a
%d = max_pool2d(c=16,h=6,w=6,kh=2,kw=2,stride=2,pad=0,layout=NCHW) %c
%m = reduce(op=mean,shape=1x16x3x3,axes=2:3,keepdims=1) %d
output "y" %m f32[1, 16, 1, 1]
)");
}

TEST(DecideLayouts, BranchesAreOneQuestion) {
  const Graph g = residual();
  const std::string rule = to_string(by_rule(g));
  const Times planes{
      {"conv2d(n=1,ci=3", 2e-4}, {"conv2d(n=1,ci=16", 2e-4}, {"batch_matmul(b=1,", 1e-4}, {"max_pool2d", 1e-5}};
  const auto with = [&](Times first) {
    first.insert(first.end(), planes.begin(), planes.end());
    return by_times(g, std::move(first));
  };
  // All of it is faster in planes, but the 3x3 convolution takes as long there: no conversion is left.
  const Graph all = with({{"transpose", 1e-3}});
  EXPECT_EQ(count_of(all, "transpose"), 0);
  EXPECT_THAT(to_string(all), testing::Not(HasSubstr("NCHW16c")));
  expect_same_values(g, all, 1e-5);
  // It is so slow there that nothing else matters, as its image is the residual, too.
  EXPECT_EQ(to_string(with({{"kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHW,", 1}, {"transpose", 1e-3}})),
            rule);
  // A pooling that was not measured in planes keeps reading blocks.
  const Graph before = with({{"kh=2,kw=2,stride=2,pad=0,dilation=1,layout=NCHW,", std::nullopt}, {"transpose", 1e-6}});
  EXPECT_THAT(to_string(before), AllOf(HasSubstr("c=16,h=6,w=6,kh=2,kw=2,stride=2,pad=0,dilation=1,layout=NCHW16c"),
                                       HasSubstr("layout=NCHW,")));
  expect_same_values(g, before, 1e-5);
}

TEST(DecideLayouts, WhatWouldBeComparedIsTold) {
  PassContext context = with_times({});
  std::vector<Workload> told;
  context.alternatives = &told;
  EXPECT_EQ(to_string(choose_layouts(chain(), context)), to_string(by_rule(chain())));
  std::vector<std::string> texts;
  for (const Workload& w : told) texts.push_back(to_string(w));
  const auto conv = [](const std::string& ci, const std::string& co, const std::string& layout,
                       const std::string& epilogue) {
    return "conv2d(n=1,ci=" + ci + ",h=6,w=6,co=" + co +
           ",kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=" + layout + ",dtype=f32,epilogue=" + epilogue + ")";
  };
  // One block of channels; and the last one, whose output is converted for the caller. Not the first. And the tensors
  // that would be converted around them.
  const auto transpose = [](const std::string& shape, const std::string& perm) {
    return "transpose(shape=" + shape + ",perm=" + perm + ",dtype=f32)";
  };
  EXPECT_THAT(texts, ElementsAre(conv("32", "16", "NCHW16c", "relu"), conv("32", "16", "NCHW", "relu"),
                                 transpose("1x2x6x6x16", "0:1:4:2:3"), transpose("1x1x16x6x6", "0:1:3:4:2"),
                                 conv("16", "32", "NCHW16c", "none"), conv("16", "32", "NCHW", "none"),
                                 transpose("1x1x6x6x16", "0:1:4:2:3"), transpose("1x2x16x6x6", "0:1:3:4:2")));
  told.clear();
  context.measured = times({{"conv2d", 1}});
  choose_layouts(chain(), context);
  EXPECT_THAT(told, IsEmpty()) << "all of it is measured";
}

TEST(DecideLayouts, WhatCannotBeMadeAsItWasComparedStays) {
  // By rule the image of one pixel is filled up for the product, and %k finds it so.
  const Graph g = read_graph(R"(graph g
input "x" %x f32[1, 3, 4, 4]
input "s" %s f32[1, 30, 1, 1]
%u = constant f32[30, 3, 3, 3] fill 1
%v = constant f32[16, 30, 1, 1] fill 2
%w = constant f32[16, 30, 3, 3] fill 3
%a = conv2d(ci=3,h=4,w=4,co=30,kh=3,kw=3,pad=1,layout=NCHW) %x %u
%e = elementwise(op=mul,shape=1x30x4x4,operands=1x30x1x1) %a %s
%k = conv2d(ci=30,h=1,w=1,co=16,kh=1,kw=1,pad=0,layout=NCHW) %s %v
%d = conv2d(ci=30,h=4,w=4,co=16,kh=3,kw=3,pad=1,layout=NCHW) %e %w
output "d" %d f32[1, 16, 4, 4]
output "k" %k f32[1, 16, 1, 1]
)");
  const std::string rule = to_string(by_rule(g));
  EXPECT_THAT(rule, HasSubstr("ci=32,h=1,w=1"));
  const Times convs{{"ci=30,h=1,w=1", std::nullopt}, {"layout=NCHW,", 1e-5}, {"conv2d", 1e-3}};
  const Graph made = by_times(g, convs);
  EXPECT_EQ(to_string(made), rule);
  expect_same_values(g, made, 1e-5);
}

// A graph of convolutions, poolings, residuals, concatenations and functions on one image or two of 4x4 pixels, of 3
// channels and more.
struct RandomNet {
  explicit RandomNet(int seed) : images(std::to_string(1 + seed % 2)), random(static_cast<unsigned>(seed)) {
    text = "graph g\ninput \"x\" %x0 f32[" + images + ", 3, 4, 4]\n";
    channels = {3};
    for (int n = 4 + below(5); n > 0; --n) add();
    text += "output \"y\" %x" + std::to_string(channels.size() - 1) + " f32[" + images + ", " +
            std::to_string(channels.back()) + ", 4, 4]\noutput \"z\" %x" + std::to_string(channels.size() / 2) +
            " f32[" + images + ", " + std::to_string(channels[channels.size() / 2]) + ", 4, 4]\n";
  }
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  void add() {
    const std::string made = "%x" + std::to_string(channels.size());
    const int last = static_cast<int>(channels.size()) - 1, at = below(3) == 0 ? below(last + 1) : last;
    const int ci = channels[static_cast<size_t>(at)];
    const std::string x = "%x" + std::to_string(at), c = std::to_string(ci), w = "%w" + made.substr(2);
    int co = ci;
    const auto constant = [&](const std::string& shape) {
      text += w + " = constant f32[" + shape + "] fill " + std::to_string(below(100)) + "\n";
    };
    switch (below(7)) {
      case 0: {
        constant(c + ", 1, 3, 3");
        text +=
            made + " = depthwise_conv2d(n=" + images + ",c=" + c + ",h=4,w=4,layout=NCHW,epilogue=relu) " + x + " " + w;
        break;
      }
      case 1:
        text += made + " = max_pool2d(n=" + images + ",c=" + c + ",h=4,w=4,kh=3,kw=3,stride=1,pad=1,layout=NCHW) " + x;
        break;
      case 2:
        text += made + " = elementwise(op=relu+add,shape=" + images + "x" + c + "x4x4,operands=same) " + x + " " + x;
        break;
      case 3: {
        const int other = below(last + 1);
        const int more = channels[static_cast<size_t>(other)];
        co = ci + more;
        text += made + " = concat(axis=1,shapes=" + images + "x" + c + "x4x4:" + images + "x" + std::to_string(more) +
                "x4x4) " + x + " %x" + std::to_string(other);
        break;
      }
      default: {
        constexpr int kChannels[] = {3, 8, 15, 16, 24, 30, 32};
        co = kChannels[below(7)];
        const std::string k = below(2) == 0 ? "1" : "3";
        int residual = -1;
        for (int v = 0; v <= last && below(3) > 0; ++v)
          if (channels[static_cast<size_t>(v)] == co) residual = v;
        constant(std::to_string(co) + ", " + c + ", " + k + ", " + k);
        text += made + " = conv2d(n=" + images + ",ci=" + c + ",h=4,w=4,co=" + std::to_string(co) + ",kh=" + k +
                ",kw=" + k + ",pad=" + (k == "1" ? "0" : "1") +
                ",layout=NCHW,epilogue=" + (residual >= 0 ? "add+relu" : "relu") + ") " + x + " " + w +
                (residual >= 0 ? " %x" + std::to_string(residual) : "");
      }
    }
    text += "\n";
    channels.push_back(co);
  }

  std::string images, text;
  std::vector<int> channels;  ///< by value
  std::mt19937 random;
};

// A time for each workload, which its text says; nothing for one of `unmeasured` where that is not 0.
MeasuredTime random_times(int seed, uint64_t unmeasured) {
  return [=](const Workload& w) -> std::optional<double> {
    const std::string text = to_string(w) + std::to_string(seed);
    const uint64_t hash = hash_bytes({text.data(), text.size()}).high;
    if (unmeasured > 0 && hash % unmeasured == 0) return std::nullopt;
    const bool moves = w.operator_name() == "transpose";
    return (moves ? 1e-6 : 1e-5) * static_cast<double>(1 + hash / 7 % 100);
  };
}

TEST(DecideLayouts, WhateverTheTimesTheNumbersAreTheSame) {
  int changed = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const Graph g = remove_dead(read_graph(RandomNet(seed).text));
    const Graph rule = by_rule(g);
    EXPECT_EQ(to_string(choose_layouts(g, with_times([](const Workload&) { return std::nullopt; }))), to_string(rule));
    const Graph made = choose_layouts(g, with_times(random_times(seed, 4)));
    changed += to_string(made) == to_string(rule) ? 0 : 1;
    expect_same_values(g, made, 1e-3);
  }
  EXPECT_GE(changed, 20) << "too few of the graphs leave the rule";
}

TEST(DecideLayouts, WhereAllIsMeasuredTheWholeIsFaster) {
  int changed = 0;
  for (int seed = 0; seed < 300; ++seed) {
    const Graph g = remove_dead(read_graph(RandomNet(seed).text));
    const PassContext context = with_times(random_times(seed, 0));
    const auto seconds = [&](const Graph& chosen) {
      double sum = 0;
      for (const Node& n : planar_products(chosen, context).nodes)
        if (const std::string& task = n.workload.operator_name(); task != "reshape" && task != "pad" && task != "slice")
          sum += *context.measured(n.workload);
      return sum;
    };
    const Graph rule = by_rule(g), made = choose_layouts(g, context);
    if (to_string(made) == to_string(rule)) continue;
    ++changed;
    EXPECT_LT(seconds(made), seconds(rule)) << to_string(g);
  }
  EXPECT_GE(changed, 150);
}

}  // namespace
}  // namespace hone
