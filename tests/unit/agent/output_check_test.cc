// The check of a kernel's outputs, of whatever layout: which elements are written and right, and which is not.
#include "rpc/agent/run/output_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "compiler/ir/layout.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;

const std::vector<int64_t> kShape{2, 20, 3, 5};

// Writes the numbers from 1 on, in logical order, in a layout of one output; `change` sees the physical elements.
class Counting final : public CheckedKernel {
 public:
  Counting(const std::string& layout, DType dtype, std::function<void(std::vector<float>&)> change = {})
      : change_(std::move(change)) {
    Param p;
    p.name = "y", p.role = ParamRole::kOutput, p.dtype = dtype, p.shape = kShape;
    p.layout = Layout::parse(layout, "NCHW", kShape);
    info.params = {p};
    data_.resize(static_cast<size_t>(p.layout.physical_size()));
    values.resize(static_cast<size_t>(element_count(kShape)));
    std::iota(values.begin(), values.end(), 1);
    samples.resize(values.size());
    std::iota(samples.begin(), samples.end(), 0);
    expected = values;
    tolerances.assign(values.size(), 0.1);
  }

  void poison_outputs(uint8_t pattern) override {
    poison(data_.data(), info.params[0].dtype, static_cast<int64_t>(data_.size()), pattern);
  }
  double call_once() override {
    const std::vector<float> poisoned = data_;
    const Param& p = info.params[0];
    if (p.dtype.is_float()) {
      const std::vector<float> logical(values.begin(), values.end());
      pack(logical.data(), data_.data(), p.shape, p.layout, 4);
    } else {
      const std::vector<int32_t> logical(values.begin(), values.end());
      pack(logical.data(), data_.data(), p.shape, p.layout, 4);
    }
    if (skipped >= 0) data_[place(skipped)] = poisoned[place(skipped)];
    if (change_) change_(data_);
    return 1e-6;
  }
  const void* output(size_t) override { return data_.data(); }

  size_t place(int64_t logical) const {
    return static_cast<size_t>(physical_indices(std::vector{logical}, kShape, info.params[0].layout)[0]);
  }
  CheckReply check() {
    const std::vector<int64_t> ints(expected.begin(), expected.end());
    const bool is_float = info.params[0].dtype.is_float();
    Expected e{.samples = samples,
               .values = is_float ? std::span<const double>(expected) : std::span<const double>(),
               .int_values = is_float ? std::span<const int64_t>() : std::span<const int64_t>(ints),
               .tolerances = tolerances};
    return check_kernel(*this, info, {e});
  }
  std::string failure() {
    try {
      return check().result.message;
    } catch (const CandidateFailure& f) {
      return f.message;
    }
  }

  ModuleInfo info;
  std::vector<int64_t> samples;
  std::vector<double> values, expected, tolerances;  ///< its output, the right one, how exact it is to be
  int64_t skipped = -1;                              ///< the element that is not written

 private:
  std::vector<float> data_;
  const std::function<void(std::vector<float>&)> change_;
};

class OutputCheck : public testing::TestWithParam<std::pair<const char*, DType>> {
 protected:
  Counting kernel(std::function<void(std::vector<float>&)> change = {}) const {
    return {GetParam().first, GetParam().second, std::move(change)};
  }
};

TEST_P(OutputCheck, AcceptsWhatIsWrittenAndRight) {
  Counting k = kernel();
  EXPECT_EQ(k.failure(), "");
  EXPECT_EQ(k.check().result.rel_error, 0);
}

TEST_P(OutputCheck, FindsEachElementThatIsNotWritten) {
  for (const int64_t skipped : {0, 1, 299, 300, 599}) {
    Counting k = kernel();
    k.skipped = skipped;
    EXPECT_EQ(k.failure(), "output element " + std::to_string(skipped) + " of 'y' was never written");
  }
}

TEST_P(OutputCheck, NamesTheLogicalElementThatIsWrong) {
  for (const int64_t wrong : {0, 17, 299, 599}) {
    const size_t at = kernel().place(wrong);
    Counting k = kernel([at](std::vector<float>& data) {
      if (GetParam().second.is_float()) {
        data[at] += 1;
      } else {
        int32_t x;
        std::memcpy(&x, &data[at], 4);
        ++x;
        std::memcpy(&data[at], &x, 4);
      }
    });
    EXPECT_THAT(k.failure(), HasSubstr("output element " + std::to_string(wrong) + " is " + std::to_string(wrong + 2)));
  }
}

TEST_P(OutputCheck, ComparesSamplesWhereTheyLie) {
  Counting k = kernel();
  k.samples = {5, 17, 430};
  k.expected = {6, 18, 431};
  k.tolerances.resize(3);
  EXPECT_EQ(k.failure(), "");
  k.expected[2] = 430;
  EXPECT_THAT(k.failure(), HasSubstr("output element 430 is 431, expected 430"));
}

INSTANTIATE_TEST_SUITE_P(Layouts, OutputCheck,
                         testing::Values(std::pair("NCHW", f32), std::pair("NCHW4c", f32), std::pair("NCHW16c", f32),
                                         std::pair("HWNC5c2n", f32), std::pair("NCHW4c", i32),
                                         std::pair("NCHW16c", i32)),
                         [](const auto& p) { return p.param.first + std::string("_") + to_string(p.param.second); });

}  // namespace
}  // namespace hone::agent
