#include "compiler/ir/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "base/check.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of_in_layout(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Layout, ParsesBlocks) {
  const Layout l = Layout::parse("NCHW16c", "NCHW", {1, 20, 4, 5});
  EXPECT_THAT(l.dims, ElementsAre(LayoutDim{0, 1, 1}, LayoutDim{1, 16, 2}, LayoutDim{2, 1, 4}, LayoutDim{3, 1, 5},
                                  LayoutDim{1, 1, 16}));
  EXPECT_THAT(l.physical_shape(), ElementsAre(1, 2, 4, 5, 16));
  EXPECT_EQ(l.physical_size(), 640);
  EXPECT_EQ(l.name("NCHW"), "NCHW16c");
  EXPECT_EQ(Layout::parse("NCHW", "NCHW", {2, 3, 4, 5}), Layout::identity({2, 3, 4, 5}));
}

TEST(Layout, NamesRoundTrip) {
  const std::vector<int64_t> shape = {2, 20, 7, 9};
  for (const char* name : {"NCHW", "NHWC", "NCHW16c", "NHWC8c", "CNWH4c2n", "NC8cHW", "NCHW4c2c", "HWNC3h5w"}) {
    const Layout l = Layout::parse(name, "NCHW", shape);
    EXPECT_NO_THROW(l.validate(shape)) << name;
    EXPECT_EQ(l.name("NCHW"), name);
    EXPECT_EQ(Layout::parse(l.name("NCHW"), "NCHW", shape), l) << name;
  }
}

TEST(Layout, RefusesMalformedNames) {
  const auto error = [](const char* name) { return error_of_in_layout([&] { Layout::parse(name, "NC", {4, 8}); }); };
  EXPECT_THAT(error("NX"), HasSubstr("malformed at 'X'"));
  EXPECT_THAT(error("N4C"), HasSubstr("malformed"));
  EXPECT_THAT(error("NCc"), HasSubstr("malformed"));
  EXPECT_THAT(error("NC0c"), HasSubstr("malformed"));
  EXPECT_THAT(error("NC4"), HasSubstr("malformed"));
  EXPECT_THAT(error("NC99999999999999999999c"), HasSubstr("malformed"));
  EXPECT_THAT(error("N"), HasSubstr("must name each of NC once"));
  EXPECT_THAT(error("NCC"), HasSubstr("axis C"));
  EXPECT_THAT(error("N4cC"), HasSubstr("axis C must stand before its blocks"));
}

TEST(Layout, RefusesDimsThatDoNotSplitTheShape) {
  const auto error = [](std::vector<LayoutDim> dims) {
    return error_of_in_layout([&] { Layout{std::move(dims)}.validate({6, 4}); });
  };
  EXPECT_EQ(error({{0, 1, 6}, {1, 1, 4}}), "no error");
  EXPECT_EQ(error({{1, 1, 4}, {0, 4, 2}, {0, 1, 4}}), "no error");
  EXPECT_THAT(error({{0, 1, 6}}), HasSubstr("axis 1"));
  EXPECT_THAT(error({{0, 1, 5}, {1, 1, 4}}), HasSubstr("layout covers 5 of axis 0's 6"));
  EXPECT_THAT(error({{0, 4, 2}, {0, 1, 3}, {1, 1, 4}}), HasSubstr("stride 4 after 3"));
  EXPECT_THAT(error({{0, 2, 6}, {1, 1, 4}}), HasSubstr("stride 2 after 1"));
  EXPECT_THAT(error({{0, 1, 6}, {1, 1, 4}, {2, 1, 1}}), HasSubstr("out of range"));
  EXPECT_THAT(error({{0, 1, 0}, {1, 1, 4}}), HasSubstr("out of range"));
  EXPECT_THAT(error({{0, 1, 6}, {1, 1, int64_t{1} << 60}}), HasSubstr("too large"));
}

TEST(Layout, PacksAndPads) {
  std::vector<int32_t> logical(5), physical(8, -1), back(5);
  std::iota(logical.begin(), logical.end(), 1);
  // 5 columns in blocks of 4, the block outermost: 1 5 | 2 . | 3 . | 4 .
  const Layout l{{{0, 1, 4}, {0, 4, 2}}};
  l.validate({5});
  pack(logical.data(), physical.data(), {5}, l, 4);
  EXPECT_THAT(physical, ElementsAre(1, 5, 2, 0, 3, 0, 4, 0));
  unpack(physical.data(), back.data(), {5}, l, 4);
  EXPECT_EQ(back, logical);
}

TEST(Layout, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 5}), 0);
  EXPECT_EQ(element_count({int64_t{1} << 24, int64_t{1} << 24}), int64_t{1} << 48);
  EXPECT_THROW(element_count({int64_t{1} << 25, int64_t{1} << 24}), UserError);
  EXPECT_THROW(element_count({-1}), UserError);
}

// Any split of any shape in any order: packing puts each element where its dims say, pads with zeros, and unpacking
// gives it back.
TEST(Layout, RandomLayoutsAreBijective) {
  std::mt19937 random(5);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 1500; ++round) {
    std::vector<int64_t> shape;
    Layout layout;
    for (int axis = 0; axis < 1 + below(4); ++axis) {
      shape.push_back(1 + below(9));
      int64_t stride = 1;
      for (int64_t blocks = below(3); blocks > 0; --blocks) {
        const int64_t block = 1 + below(4);
        layout.dims.push_back({axis, stride, block});
        stride *= block;
      }
      layout.dims.push_back({axis, stride, (shape.back() + stride - 1) / stride + (below(4) == 0)});
    }
    std::shuffle(layout.dims.begin(), layout.dims.end(), random);
    ASSERT_NO_THROW(layout.validate(shape));
    const int64_t bytes = int64_t{1} << below(4);
    const int64_t elements = element_count(shape), physical = layout.physical_size();
    std::vector<uint8_t> from(static_cast<size_t>(elements * bytes)), to(static_cast<size_t>(physical * bytes), 0xee),
        back(from.size(), 0xdd);
    for (uint8_t& b : from) b = static_cast<uint8_t>(1 + below(255));
    pack(from.data(), to.data(), shape, layout, bytes);
    const std::vector<int64_t> extents = layout.physical_shape();
    for (int64_t p = 0; p < physical; ++p) {
      std::vector<int64_t> at(shape.size(), 0);
      int64_t rest = p;
      for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
        at[static_cast<size_t>(layout.dims[d].axis)] += rest % extents[d] * layout.dims[d].stride;
      int64_t logical = 0;
      bool inside = true;
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        inside = inside && at[axis] < shape[axis];
        logical = logical * shape[axis] + at[axis];
      }
      const std::vector<uint8_t> zero(static_cast<size_t>(bytes), 0);
      const uint8_t* want = inside ? &from[static_cast<size_t>(logical * bytes)] : zero.data();
      ASSERT_EQ(std::memcmp(&to[static_cast<size_t>(p * bytes)], want, static_cast<size_t>(bytes)), 0)
          << "round " << round << " element " << p;
    }
    unpack(to.data(), back.data(), shape, layout, bytes);
    ASSERT_EQ(back, from);
  }
}

TEST(Layout, PhysicalIndicesAreWherePackPuts) {
  const std::vector<int64_t> shape = {2, 20, 7, 9};
  std::vector<int32_t> logical(static_cast<size_t>(element_count(shape)));
  std::iota(logical.begin(), logical.end(), 1);
  std::vector<int64_t> all(logical.size());
  std::iota(all.begin(), all.end(), 0);
  for (const char* name : {"NCHW", "NHWC", "NCHW16c", "NHWC8c", "CNWH4c2n", "NC8cHW", "NCHW4c2c", "HWNC3h5w"}) {
    const Layout l = Layout::parse(name, "NCHW", shape);
    std::vector<int32_t> physical(static_cast<size_t>(l.physical_size()));
    pack(logical.data(), physical.data(), shape, l, 4);
    const std::vector<int64_t> places = physical_indices(all, shape, l);
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(physical[static_cast<size_t>(places[i])], logical[i]) << name;
    // Not one behind the other, and not in order.
    std::vector<int64_t> some;
    for (int64_t i = 0; i < 400; ++i) some.push_back(i * 1237 % element_count(shape));
    const std::vector<int64_t> of_some = physical_indices(some, shape, l);
    for (size_t i = 0; i < some.size(); ++i) ASSERT_EQ(of_some[i], places[static_cast<size_t>(some[i])]) << name;
  }
  EXPECT_THAT(physical_indices(std::vector<int64_t>{0}, {}, Layout::identity({})), ElementsAre(0));
}

}  // namespace
}  // namespace hone
