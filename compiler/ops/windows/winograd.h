// Winograd's minimal filtering: a convolution of an r x r kernel computed tile by tile, m x m outputs with (m + r -
// 1)^2 products.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

/// Row-major.
using Matrix = std::vector<std::vector<double>>;

/// Y = a_t [(g w) * (b_t d)] for m outputs of a kernel w of r taps over d, alpha = m + r - 1 inputs (* element by
/// element).
struct WinogradMatrices {
  int m, r, alpha;
  Matrix a_t;  ///< m x alpha
  Matrix g;    ///< alpha x r
  Matrix b_t;  ///< alpha x alpha
};

/// By Toom and Cook's construction on the points 0, 1, -1, 2, -2, 1/2, -1/2 (the first alpha - 1) and infinity; see
/// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. m is 2, 4 or 6, r is 3.
WinogradMatrices winograd_matrices(int m, int r);

/// matrix * x, written with few operations: zeros and ones cost nothing, and rows or columns that differ in signs only
/// share their sums.
std::vector<Expr> transform(const Matrix& matrix, const std::vector<Expr>& x);

/// rows[index] as an expression: one of the rows once `index` is a constant.
Expr pick(const Expr& index, const std::vector<Expr>& rows);

/// True when F(m x m, 3 x 3) computes `w` within the error that is allowed to any kernel (compiler/reference): conv2d,
/// 3x3, stride and dilation 1, one group, floats, and channels enough. The transforms' relative error does not shrink
/// with the reduction as the bound does: on inputs in [-1, 1) some 4, 28 and 55 units in the last place for m = 2, 4
/// and 6, while the bound is 4 sqrt(9 ci + 2). From 1, 16 and 48 channels on it is below two thirds of the bound; each
/// candidate's is checked when it is measured.
bool winograd_applies(const Workload& w, int m);

/// Like convolution(), by F(m x m, 3 x 3). Stages, with p numbering the tiles (n, row, column) of m x m outputs:
/// `patches` [p,ic,y,x]: the inputs of a tile, zeros around; `input_rows` [a,x,p,ic] and `input_tiles` [a,b,p,ic]: B^T
/// d B; `weight_rows` [a,x,ic,oc] and `weight_tiles` [a,b,ic,oc]: G w G^T; `products` [a,b,p,oc]; `output_rows`
/// [i,b,p,oc]; `conv` [n,oc,oh,ow]: A^T M A; and `out` when there is an epilogue.
Definition winograd_convolution(const Workload& w, int m);

}  // namespace hone
