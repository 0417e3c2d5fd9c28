#include "compiler/ops/windows/winograd.h"

#include <cmath>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

// Coefficients of the product of (x - p) over `points` but the one at `skip`, constant first.
std::vector<double> polynomial(const std::vector<double>& points, size_t skip) {
  std::vector<double> c{1};
  for (size_t i = 0; i < points.size(); ++i) {
    if (i == skip) continue;
    c.insert(c.begin(), 0);
    for (size_t k = 0; k + 1 < c.size(); ++k) c[k] -= points[i] * c[k + 1];
  }
  return c;
}

// sum of c[k] * x[k]; null when all are zero.
Expr combination(const std::vector<double>& c, const std::vector<Expr>& x) {
  Expr sum;
  // A positive term first: -a + b is b - a.
  std::vector<size_t> order;
  for (const bool positive : {true, false})
    for (size_t k = 0; k < c.size(); ++k)
      if (c[k] != 0 && (c[k] > 0) == positive) order.push_back(k);
  for (size_t k : order) {
    const double size = std::fabs(c[k]);
    const Expr term = size == 1 ? x[k] : x[k] * make_const(size, x[k]->dtype);
    if (!sum)
      sum = c[k] > 0 ? term : make_const(0, term->dtype) - term;
    else
      sum = c[k] > 0 ? sum + term : sum - term;
  }
  return sum;
}

// Two rows are twins when they differ in the signs of some entries only.
bool twins(const std::vector<double>& a, const std::vector<double>& b) {
  bool same = false, opposite = false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (std::fabs(a[k]) != std::fabs(b[k])) return false;
    if (a[k] != 0) (a[k] == b[k] ? same : opposite) = true;
  }
  return same && opposite;
}

Matrix transposed(const Matrix& m) {
  Matrix t(m[0].size(), std::vector<double>(m.size()));
  for (size_t i = 0; i < m.size(); ++i)
    for (size_t j = 0; j < m[i].size(); ++j) t[j][i] = m[i][j];
  return t;
}

// Columns that are twins: x_j and x_k become their sum and their difference.
void share_columns(Matrix* matrix, std::vector<Expr>* x) {
  Matrix columns = transposed(*matrix);
  for (size_t j = 0; j < columns.size(); ++j)
    for (size_t k = j + 1; k < columns.size(); ++k) {
      if (!twins(columns[j], columns[k])) continue;
      const Expr sum = (*x)[j] + (*x)[k], difference = (*x)[j] - (*x)[k];
      (*x)[j] = sum, (*x)[k] = difference;
      for (size_t i = 0; i < columns[j].size(); ++i) {
        const double c = columns[j][i];
        const bool same = c == columns[k][i];
        columns[j][i] = same ? c : 0;
        columns[k][i] = same ? 0 : c;
      }
    }
  *matrix = transposed(columns);
}

}  // namespace

WinogradMatrices winograd_matrices(int m, int r) {
  HONE_ICHECK(r == 3 && (m == 2 || m == 4 || m == 6)) << "no points for F(" << m << ", " << r << ")";
  WinogradMatrices w{m, r, m + r - 1, {}, {}, {}};
  const auto alpha = static_cast<size_t>(w.alpha), outputs = static_cast<size_t>(m), taps = static_cast<size_t>(r);
  std::vector<double> points{0, 1, -1, 2, -2, 0.5, -0.5};
  points.resize(alpha - 1);
  w.a_t.assign(outputs, std::vector<double>(alpha, 0));
  for (size_t j = 0; j + 1 < alpha; ++j) {
    double norm = 1;
    for (size_t l = 0; l + 1 < alpha; ++l)
      if (l != j) norm *= points[j] - points[l];
    std::vector<double> g, b = polynomial(points, j);
    for (size_t k = 0; k < taps; ++k) g.push_back(std::pow(points[j], static_cast<double>(k)) / norm);
    b.resize(alpha, 0);
    w.g.push_back(g);
    w.b_t.push_back(b);
    for (size_t i = 0; i < outputs; ++i) w.a_t[i][j] = std::pow(points[j], static_cast<double>(i));
  }
  w.g.emplace_back(taps, 0)[taps - 1] = 1;
  w.b_t.push_back(polynomial(points, points.size()));
  w.a_t[outputs - 1][alpha - 1] = 1;
  return w;
}

std::vector<Expr> transform(const Matrix& matrix, const std::vector<Expr>& x) {
  Matrix rows = matrix;
  std::vector<Expr> terms = x, out(matrix.size());
  share_columns(&rows, &terms);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (out[i]) continue;
    out[i] = combination(rows[i], terms);
    for (size_t k = i + 1; k < rows.size(); ++k) {
      if (out[k] || !twins(rows[i], rows[k])) continue;
      std::vector<double> same(terms.size(), 0), opposite(terms.size(), 0);
      for (size_t c = 0; c < terms.size(); ++c) (rows[i][c] == rows[k][c] ? same : opposite)[c] = rows[i][c];
      const Expr even = combination(same, terms), odd = combination(opposite, terms);
      out[i] = even + odd;
      out[k] = even - odd;
      break;
    }
  }
  return out;
}

Expr pick(const Expr& index, const std::vector<Expr>& rows) {
  Expr picked = rows.back();
  for (size_t i = rows.size() - 1; i-- > 0;)
    picked = select(eq(index, make_int(static_cast<int64_t>(i))), rows[i], picked);
  return picked;
}

bool winograd_applies(const Workload& w, int m) {
  const ConvShape& s = conv_shape(w);
  if (s.depthwise) return false;
  const DTypes& t = dtypes_of(w);
  return s.kh == 3 && s.kw == 3 && s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
         s.groups == 1 && !t.f16_runs && t.accumulate.is_float() && t.in.is_float() &&
         t.first_factor() == t.accumulate && t.weight == t.accumulate &&
         s.ci >= (m == 2   ? 1
                  : m == 4 ? 16
                           : 48);
}

Definition winograd_convolution(const Workload& w, int m) {
  const ConvShape s = conv_shape(w);
  const WinogradMatrices matrices = winograd_matrices(m, 3);
  const int64_t alpha = matrices.alpha, rows = ceil_div(s.oh, m), columns = ceil_div(s.ow, m),
                tiles = s.n * rows * columns;
  const auto each = [](int64_t n, const auto& element) {
    std::vector<Expr> out;
    for (int64_t i = 0; i < n; ++i) out.push_back(element(make_int(i)));
    return out;
  };
  ConvolutionStages c = begin_convolution(w, {rows * m - s.oh, columns * m - s.ow});

  const Tensor patches =
      compute("patches", {tiles, s.ci, alpha, alpha}, {"p", "ic", "y", "x"}, {c.pad}, [&](const std::vector<Expr>& i) {
        return c.pad.at({floor_div(i[0], rows * columns), i[1],
                         floor_mod(floor_div(i[0], columns), make_int(rows)) * m + i[2],
                         floor_mod(i[0], make_int(columns)) * m + i[3]});
      });
  const Tensor input_rows = compute("input_rows", {alpha, alpha, tiles, s.ci}, {"a", "x", "p", "ic"}, {patches},
                                    [&](const std::vector<Expr>& i) {
                                      return pick(i[0], transform(matrices.b_t, each(alpha, [&](const Expr& k) {
                                                                    return patches.at({i[2], i[3], k, i[1]});
                                                                  })));
                                    });
  const Tensor input_tiles = compute("input_tiles", {alpha, alpha, tiles, s.ci}, {"a", "b", "p", "ic"}, {input_rows},
                                     [&](const std::vector<Expr>& i) {
                                       return pick(i[1], transform(matrices.b_t, each(alpha, [&](const Expr& k) {
                                                                     return input_rows.at({i[0], k, i[2], i[3]});
                                                                   })));
                                     });
  const Tensor weight_rows = compute("weight_rows", {alpha, 3, s.ci, s.co}, {"a", "x", "ic", "oc"}, {c.weight},
                                     [&](const std::vector<Expr>& i) {
                                       return pick(i[0], transform(matrices.g, each(3, [&](const Expr& k) {
                                                                     return c.weight.at({i[3], i[2], k, i[1]});
                                                                   })));
                                     });
  const Tensor weight_tiles = compute("weight_tiles", {alpha, alpha, s.ci, s.co}, {"a", "b", "ic", "oc"}, {weight_rows},
                                      [&](const std::vector<Expr>& i) {
                                        return pick(i[1], transform(matrices.g, each(3, [&](const Expr& k) {
                                                                      return weight_rows.at({i[0], k, i[2], i[3]});
                                                                    })));
                                      });
  const Tensor products = compute_reduce(
      "products", {alpha, alpha, tiles, s.co}, {"a", "b", "p", "oc"}, {input_tiles, weight_tiles},
      [&](const std::vector<Expr>& i) {
        const Axis ic = reduce_axis("ic", s.ci);
        return sum(input_tiles.at({i[0], i[1], i[2], ic}) * weight_tiles.at({i[0], i[1], ic, i[3]}), {ic});
      });
  const Tensor output_rows = compute("output_rows", {m, alpha, tiles, s.co}, {"i", "b", "p", "oc"}, {products},
                                     [&](const std::vector<Expr>& i) {
                                       return pick(i[0], transform(matrices.a_t, each(alpha, [&](const Expr& k) {
                                                                     return products.at({k, i[1], i[2], i[3]});
                                                                   })));
                                     });
  c.definition.anchor = output_rows;
  const Tensor conv =
      compute("conv", {s.n, s.co, s.oh, s.ow}, {"n", "oc", "oh", "ow"}, {output_rows}, [&](const std::vector<Expr>& i) {
        const Expr tile = (i[0] * rows + floor_div(i[2], m)) * columns + floor_div(i[3], m);
        return pick(floor_mod(i[3], make_int(m)),
                    transform(matrices.a_t, each(alpha, [&](const Expr& k) {
                                return output_rows.at({floor_mod(i[2], make_int(m)), k, tile, i[1]});
                              })));
      });
  return finish_convolution(w, std::move(c), conv);
}

}  // namespace hone
