// Kernels that may write their result over an input, of all templates: run so by the interpreter, they have the results
// that they have with separate buffers.
#include <gmock/gmock.h>

#include "compiler/arith/in_place.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/layout.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

struct Buffers {
  std::vector<std::vector<char>> tensors;
  std::vector<InterpArg> args;
};

// One tensor for each parameter, of random elements. The output begins as `input` does: layouts have elements that are
// never written.
Buffers buffers_of(const Module& m, size_t input) {
  std::mt19937_64 rng(3);
  Buffers b;
  for (size_t p = 0; p < m.params.size(); ++p) {
    const KernelArgument argument = kernel_arguments(m, p).at(0);
    const int64_t count = element_count(argument.shape);
    b.tensors.push_back(p + 1 == m.params.size() ? b.tensors[input] : random_elements(argument.dtype, count, rng));
    b.args.push_back({b.tensors.back().data(), count});
  }
  return b;
}

// The number of the kernel argument that parameter `p` is; nothing where it is several.
std::optional<size_t> argument_of(const Module& m, size_t p) {
  size_t number = 0;
  for (size_t q = 0; q < p; ++q) number += kernel_arguments(m, q).size();
  return kernel_arguments(m, p).size() == 1 ? std::optional(number) : std::nullopt;
}

struct Counts {
  int in_place = 0, all = 0;
};

// Counts a workload's configs that may write over parameter `input`; those are run so.
Counts in_place_configs(const std::string& text, size_t input, size_t count) {
  const Workload w = parse_workload(text);
  Counts counts;
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    const Target target = Target::parse(std::string("llvm -mtriple=x86_64-linux -l2=512K -threads=2 -mcpu=") + cpu);
    const Space space = make_space(w, target);
    std::mt19937_64 rng(11);
    for (const Config& config : some_configs(space, count, rng)) {
      const Module m = lower_config(w, target, space, config);
      const size_t output = m.params.size() - 1;
      const auto from = argument_of(m, input), to = argument_of(m, output);
      ++counts.all;
      if (!from || !to || !may_run_in_place(m, *from, *to)) continue;
      ++counts.in_place;
      Buffers apart = buffers_of(m, input), shared = buffers_of(m, input);
      EXPECT_EQ(apart.tensors[input].size(), apart.tensors[output].size()) << text;
      shared.args[output] = shared.args[input];
      interpret(m, apart.args);
      interpret(m, shared.args);
      EXPECT_EQ(apart.tensors[output], shared.tensors[input]) << text << " " << space.print(config);
    }
  }
  return counts;
}

TEST(InPlace, ResidualsOfAllTemplates) {
  for (const char* text :
       {"conv2d(ci=4,h=7,w=9,co=10,epilogue=bias+add+relu)", "conv2d(ci=8,h=6,w=6,co=8,layout=NCHW4c,epilogue=add)",
        "conv2d(ci=8,h=5,w=6,co=8,kh=1,kw=1,pad=0,epilogue=bias+silu+add)",
        "conv2d(ci=3,h=7,w=5,co=6,layout=NCHW,epilogue=add)", "dense(m=7,n=19,k=5,epilogue=bias+add)",
        "dense(m=13,n=32,k=4,epilogue=add)", "batch_matmul(b=2,m=5,n=21,k=3,epilogue=add)",
        "depthwise_conv2d(c=9,h=7,w=5,epilogue=bias+add)", "elementwise(op=mul+add,shape=5x7x6,operands=1x7x1:same)",
        "attention(b=2,m=5,n=7,k=4,v=3,epilogue=add)"}) {
    const size_t residual = define(parse_workload(text)).inputs.size() - 1;
    const Counts counts = in_place_configs(text, residual, 8);
    EXPECT_GT(counts.in_place, counts.all / 3) << text << ": " << counts.in_place << " of " << counts.all;
  }
}

TEST(InPlace, InputsThatOtherElementsReadAreNot) {
  for (const auto& [text, input] :
       std::vector<std::pair<std::string, size_t>>{{"conv2d(ci=8,h=6,w=6,co=8,layout=NCHW4c)", 0},    // neighbours
                                                   {"conv2d(ci=8,h=6,w=6,co=8,kh=1,kw=1,pad=0)", 0},  // other channels
                                                   {"depthwise_conv2d(c=8,h=6,w=6)", 0},              // neighbours
                                                   {"dense(m=8,n=8,k=8)", 0},             // rows, by all columns
                                                   {"transpose(shape=6x6,perm=1:0)", 0},  // the mirrored element
                                                   {"layer_norm(shape=5x16,axis=1)", 0},  // the row
                                                   {"softmax(shape=5x16,axis=1)", 0},
                                                   {"max_pool2d(c=8,h=6,w=6,kh=3,kw=3,stride=1,pad=1)", 0}})
    EXPECT_EQ(in_place_configs(text, input, 12).in_place, 0) << text;
}

}  // namespace
}  // namespace hone
