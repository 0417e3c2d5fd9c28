// Parts that operators for moving elements share: attributes that are lists of numbers, axes, limits of shapes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/infer.h"

namespace hone {

/// `count` whole numbers joined by colons, each from `least` to `most`; one number stands for all of them. `what`
/// begins the error.
std::vector<int64_t> parse_numbers(std::string_view what, std::string_view text, size_t count, int64_t least,
                                   int64_t most);
/// `0:1:2`
std::string text_of_numbers(const std::vector<int64_t>& numbers);

/// A number for each dimension of the attribute `shape`, which stands before this one. Value: std::vector<int64_t>.
AttributeParser number_each(int64_t least, int64_t most);

/// The number of one of `rank` dimensions, counted from the end where it is negative; printed counted from the first.
/// Value: int64_t.
AttributeParser axis_of(std::function<size_t(const Attributes& before)> rank);

/// `shape`, which follows from attributes, if it is within the limits of extents(): UserError, beginning with `what`,
/// where it is not. A shape without dimensions becomes one of one element, which no tensor is without.
std::vector<int64_t> checked_shape(std::string_view what, std::vector<int64_t> shape);
/// The product of two numbers of elements; UserError, beginning with `what`, past 2^62.
int64_t checked_product(std::string_view what, int64_t a, int64_t b);

/// The attributes `shape` and `dtype` as input 0, called `x`, says them.
AttributeTexts infer_shape_and_dtype(std::span<const TensorType> inputs);

/// Elements of the output: one operation each, so that a rate says how many are moved.
double elements_moved(const Workload& w);
/// Whether that is all it does: it computes nothing, and a rate of operations says nothing of it.
bool only_moves(const Workload& w);

/// x (input) of the attributes `shape` and `dtype`, and an output `out` of `shape`: its element at `i` is body(x, i).
Definition moved(const Workload& w, const std::vector<int64_t>& shape,
                 const std::function<Expr(const Tensor& x, const std::vector<Expr>& i)>& body);

/// An index that is an element: counted from the end of `extent` elements where it is negative, and clamped to the
/// first and last of them, so that no access can be outside.
Expr index_within(const Expr& element, int64_t extent);

/// The extents of a tensor of indices, which has a dimension at least. Value: std::vector<int64_t>.
AttributeParser indices_of_gather();
/// The attributes `shape`, `indices`, `index` and `dtype` as inputs 0, `data`, and 1, `indices`, say them.
AttributeTexts infer_gather(std::span<const TensorType> inputs);

}  // namespace hone
