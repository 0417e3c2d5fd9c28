// hone.hpp alone, as a C++ program has it.
#include <gtest/gtest.h>
#include <hone.hpp>

namespace {

constexpr DLDataType kFloat = {kDLFloat, 32, 1};

TEST(HoneHpp, TensorsHaveASizeOrAreRefused) {
  EXPECT_EQ(hone::Tensor(kFloat, {2, 3}).bytes(), 24u);
  EXPECT_EQ(hone::Tensor(kFloat, {}).bytes(), 4u);
  EXPECT_EQ(hone::Tensor(kFloat, {5, 0}).bytes(), 0u);
  EXPECT_THROW(hone::Tensor(kFloat, {-1, 3}), std::invalid_argument);
  EXPECT_THROW(hone::Tensor(kFloat, {INT64_MAX / 2 + 1, 4}), std::invalid_argument);
  EXPECT_THROW(hone::Tensor(kFloat, {INT64_MAX / 8}), std::exception);
  EXPECT_THROW(hone::Tensor({kDLInt, 4, 1}, {8}), std::invalid_argument);
}

TEST(HoneHpp, AModelThatIsNotThereIsAnError) {
  try {
    hone::Model("/nonexistent/model.so");
    FAIL();
  } catch (const hone::Error& e) {
    EXPECT_NE(e.code(), HONE_OK);
  }
}

}  // namespace
