// The generic template on definitions of several reductions and several outputs, against the naive program in the
// interpreter.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/arith/verify.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/templates/generic.h"
#include "tests/fakes/generic_definitions.h"
#include "tests/fakes/reference_check.h"

namespace hone {
namespace {

using generic::kGenericDefinitions;

class GenericDefinitions : public testing::TestWithParam<int> {};

TEST_P(GenericDefinitions, ComputeWhatTheNaiveProgramDoes) {
  const Definition d = kGenericDefinitions[GetParam()].make();
  const Target target = host_target(2);
  std::mt19937_64 rng(3);
  std::vector<std::vector<char>> tensors;
  std::vector<InterpArg> args;
  for (const auto& [tensor, role] : d.inputs)
    tensors.push_back(random_elements(f32, element_count(tensor->shape), rng));
  for (const Tensor& t : d.outputs)
    tensors.emplace_back(static_cast<size_t>(element_count(t->shape) * t->buffer->dtype.bytes()));
  for (auto& bytes : tensors) args.push_back({bytes.data(), static_cast<int64_t>(bytes.size() / 4)});
  interpret(lower(Schedule(d.inputs, d.outputs), {}), args);

  const Space space("generic_cpu", 1, [&](Knobs& knobs) { generic_cpu(d, target, knobs, nullptr); });
  for (int n = 0; n < 30; ++n) {
    const Config config = n == 0 ? space.default_config() : *space.sample(rng);
    SCOPED_TRACE(space.print(config));
    std::unique_ptr<Schedule> s;
    Knobs knobs = space.reader(config);
    generic_cpu(d, target, knobs, &s);
    const Module m = lower(*s, {.workers = 2});
    const auto unproved = verify(m);
    ASSERT_TRUE(unproved.empty()) << unproved[0].access << "\n" << to_string(m);
    LocalKernel kernel(m, target);
    for (size_t i = 0; i < d.inputs.size(); ++i) kernel.set_input(i, tensors[i].data());
    ASSERT_EQ(kernel.run(), HONE_OK);
    for (size_t o = 0; o < d.outputs.size(); ++o) {
      const size_t place = d.inputs.size() + o;
      ASSERT_EQ(m.params[place].shape, d.outputs[o]->shape) << "the caller's shape";
      const DType t = d.outputs[o]->buffer->dtype;
      const auto got = kernel.get_output(place);
      for (int64_t i = 0; i < element_count(d.outputs[o]->shape); ++i) {
        const double want = element(tensors[place], t, i);
        ASSERT_NEAR(element(got, t, i), want, 2e-5 * std::max(1.0, std::fabs(want)))
            << "output " << o << ", element " << i << "\n"
            << s->text();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, GenericDefinitions, testing::Range(0, static_cast<int>(std::size(kGenericDefinitions))),
                         [](const auto& info) { return std::string(kGenericDefinitions[info.param].name); });

// Which of its templates takes a definition, told by their knobs.
TEST(GenericTemplate, TakesRowsTogetherWhereReductionsShareThem) {
  const Target target = host_target(2);
  for (const auto& [name, make] : kGenericDefinitions) {
    const Definition d = make();
    const Space space("generic_cpu", 1, [&](Knobs& knobs) { generic_cpu(d, target, knobs, nullptr); });
    const std::string text = space.print(space.default_config()), of = name;
    const bool apart = of == "both_ways" || of == "sums_of_sums" || of == "symmetric_softmax" ||
                       of == "normalised_with_statistics" || of == "softmax_of_one_row" ||
                       of == "softmax_of_one_element";
    EXPECT_EQ(text.find("cut=") != std::string::npos, apart) << name << " " << text;
    EXPECT_EQ(text.find("keep=") != std::string::npos, !apart) << name << " " << text;
  }
}

}  // namespace
}  // namespace hone
