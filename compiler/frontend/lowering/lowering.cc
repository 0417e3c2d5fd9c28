#include "compiler/frontend/lowering/lowering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/shell_command.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/attributes/attribute.h"

namespace hone::frontend {
namespace {

// The shape with ones in front up to this rank.
Extents padded(const Extents& shape, size_t rank) {
  Extents out(rank - std::min(rank, shape.size()), 1);
  out.insert(out.end(), shape.begin(), shape.end());
  return out;
}

}  // namespace

std::string join(const Extents& numbers, std::string_view separator) {
  return fmt::format("{}", fmt::join(numbers, separator));
}
std::string extents_text(const Extents& shape) { return join(shape, "x"); }

std::string number_text(double v, DType t) {
  std::string text = t == f32 ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
  std::erase(text, '+');
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Extents broadcast_shape(const std::vector<Extents>& shapes) {
  size_t rank = 0;
  for (const Extents& s : shapes) rank = std::max(rank, s.size());
  Extents out(rank, 1);
  for (const Extents& s : shapes)
    for (size_t d = 0; d < s.size(); ++d) {
      int64_t& extent = out[rank - s.size() + d];
      HONE_USER_CHECK(s[d] == extent || s[d] == 1 || extent == 1)
          << "shapes [" << join(s, ", ") << "] and [" << join(out, ", ") << "] do not broadcast";
      if (s[d] != 1) extent = s[d];
    }
  return out;
}

void check_axes(const Extents& shape) {
  HONE_USER_CHECK(shape.size() <= kMostAxes)
      << "a tensor of " << shape.size() << " axes; " << kMostAxes << " are the most";
}

int64_t axis_of(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  HONE_USER_CHECK(axis >= -r && axis < r) << "axis " << axis << " of a tensor of rank " << rank;
  return axis < 0 ? axis + r : axis;
}

Operand Lowering::constant(const TensorData& data, std::string_view name) {
  if (data.bytes().empty()) return {kNoValue, data.type()};
  const TensorData kept = data.type().shape.empty() ? data.reshaped({1}) : data;
  return {b.constant(kept, name), data.type()};
}

Operand Lowering::number(double v, DType t) {
  return cast(constant(TensorData({f64, {}}, std::string(reinterpret_cast<const char*>(&v), sizeof(v)))), t);
}

Operand Lowering::filled(double v, const TensorType& type) {
  if (element_count(type.shape) == 0) return {kNoValue, type};
  return broadcast(number(v, type.dtype), type.shape);
}

std::optional<TensorData> Lowering::data_of(const Operand& x) const {
  if (x.is_empty()) return TensorData(x.type, std::string());
  const TensorData* data = b.constant_of(x.id);
  if (!data) return std::nullopt;
  return data->reshaped(x.type.shape);
}

std::string Lowering::how_to_know(const Operand& x) const {
  if (!is_model_) return ", and depends on the inputs' elements";
  constexpr int64_t kMostElements = 4096;  // axes, sizes and scales have fewer; images have more
  constexpr size_t kMostNamed = 3;
  const std::vector<Port> inputs = b.inputs_behind(x.id);
  std::vector<std::string> names;
  std::string flags, types;
  bool are_small = !inputs.empty() && inputs.size() <= kMostNamed;
  for (const Port& p : inputs) {
    are_small = are_small && element_count(p.type.shape) <= kMostElements;
    if (names.size() < kMostNamed) names.push_back("'" + p.name + "'");
    flags += " " + shell_option("--bind-data", p.name + "=FILE.npy");
    types += fmt::format("{}{} [{}]", types.empty() ? "" : ", ", to_string(p.type.dtype), join(p.type.shape, ", "));
  }
  if (are_small) return fmt::format(": give{} ({})", flags, types);
  if (names.empty()) return ", and would take too long to compute";
  return fmt::format(", and depends on the elements of {}{}", fmt::join(names, ", "),
                     inputs.size() > names.size() ? ", …" : "");
}

bool Lowering::may_make(int64_t bytes) {
  if (bytes > most_bytes_ / 4 || bytes > most_bytes_ - made_bytes_) return false;
  made_bytes_ += bytes;
  return true;
}

void Lowering::count_expanded(int64_t bytes) {
  constexpr int64_t kMost = int64_t{1} << 36;
  HONE_USER_CHECK(bytes <= kMost - expanded_bytes_) << "its weights take more than 64 GB as floats";
  expanded_bytes_ += bytes;
}

ValueId Lowering::as(const Operand& x, const Extents& shape) {
  HONE_USER_CHECK(!x.is_empty()) << "a tensor without elements, " << to_string(x.type) << ", is not supported here";
  // Computation decodes its operands first, and operations that move elements set the encoding of their results.
  HONE_USER_CHECK(x.encoding == Encoding::kPlain) << name_of(x.encoding) << " is not supported here";
  if (b.type(x.id).shape == shape) return x.id;
  HONE_USER_CHECK(element_count(shape) == element_count(x.type.shape))
      << to_string(x.type) << " where there must be " << element_count(shape) << " elements";
  if (const TensorData* data = b.constant_of(x.id)) return b.constant(data->reshaped(shape));
  return b.add_one("reshape", {{"to", extents_text(shape)}}, {x.id});
}

Operand Lowering::add(std::string_view op, const AttributeTexts& given, const std::vector<ValueId>& inputs,
                      std::optional<Extents> shape) {
  const ValueId id = b.add_one(op, given, inputs, output_name);
  TensorType type = b.type(id);
  if (shape) type.shape = std::move(*shape);
  check_axes(type.shape);
  HONE_ICHECK(element_count(type.shape) == element_count(b.type(id).shape)) << op << " gives " << to_string(b.type(id));
  return {id, std::move(type)};
}

Operand Lowering::pointwise(const std::string& text, const std::vector<Operand>& operands) {
  std::vector<Extents> shapes;
  for (const Operand& o : operands) shapes.push_back(o.type.shape);
  const Extents shape = broadcast_shape(shapes);
  if (element_count(shape) == 0) {
    // The result's type for operands without elements is found on operands of one element.
    std::vector<Operand> ones;
    for (const Operand& o : operands) {
      TensorType one{o.type.dtype, {1}};
      ones.push_back(constant(TensorData(one, std::string(static_cast<size_t>(one.dtype.bytes()), '\0'))));
    }
    return {kNoValue, {pointwise(text, ones).type.dtype, shape}};
  }
  std::string chain = text;
  std::vector<Operand> in = operands;
  // A constant of one element becomes a number of the chain.
  const auto number_of = [&](const Operand& o) -> std::optional<std::string> {
    const DType t = o.type.dtype;
    if (element_count(o.type.shape) != 1 || !(t.is_float() || t.is_integer())) return std::nullopt;
    const auto data = data_of(o);
    if (!data) return std::nullopt;
    const double v = data->values()[0];
    // Chains have no -0.
    if (!std::isfinite(v) || std::abs(v) >= 0x1p53 || (v == 0 && std::signbit(v))) return std::nullopt;
    return number_text(v, t);
  };
  const bool has_arguments = text.find_first_of("[:") != std::string::npos;
  if (in.size() == 2 && !has_arguments) {
    // The operand of the full shape comes first, and one that is no number.
    const bool first_is_small = element_count(in[0].type.shape) < element_count(in[1].type.shape);
    const bool first_is_number = number_of(in[0]) && !number_of(in[1]);
    const std::string other(exchanged(chain));
    if ((first_is_small || first_is_number) && !other.empty()) {
      std::swap(in[0], in[1]);
      chain = other;
    }
    if (const auto number = number_of(in[1]); number && !data_of(in[0])) {
      chain += "[" + *number + "]";
      in.pop_back();
    }
  }
  const Extents in_graph = shape.empty() ? Extents{1} : shape;
  std::vector<ValueId> ids;
  for (const Operand& o : in) ids.push_back(as(o, padded(o.type.shape, in_graph.size())));
  if (b.type(ids[0]).shape != in_graph && in.size() == 1) ids[0] = value(broadcast(in[0], shape));
  return add("elementwise", {{"op", chain}}, ids, shape);
}

Operand Lowering::cast(const Operand& x, DType to) {
  if (x.type.dtype == to) return x;
  if (x.is_empty()) return {kNoValue, {to, x.type.shape}};
  return pointwise("cast:" + to_string(to), {x});
}

Operand Lowering::reshape(const Operand& x, Extents shape) {
  check_axes(shape);
  HONE_USER_CHECK(element_count(shape) == element_count(x.type.shape))
      << to_string(x.type) << " has no shape [" << join(shape, ", ") << "]";
  Operand out{x.id, {x.type.dtype, std::move(shape)}};
  out.encoding = x.encoding;
  return out;
}

Operand Lowering::transpose(const Operand& x, const Extents& perm) {
  Extents shape;
  bool is_same = true;
  for (size_t d = 0; d < perm.size(); ++d) {
    shape.push_back(x.type.shape[static_cast<size_t>(perm[d])]);
    is_same = is_same && perm[d] == static_cast<int64_t>(d);
  }
  if (is_same || x.is_empty()) return {x.id, {x.type.dtype, shape}};
  return add("transpose", {{"perm", join(perm)}}, {value(x)}, shape);
}

Operand Lowering::broadcast(const Operand& x, const Extents& shape) {
  if (x.type.shape == shape) return x;
  HONE_USER_CHECK(broadcast_shape({x.type.shape, shape}) == shape)
      << to_string(x.type) << " does not broadcast to [" << join(shape, ", ") << "]";
  if (element_count(shape) == 0) return {kNoValue, {x.type.dtype, shape}};
  if (element_count(shape) == element_count(x.type.shape)) return reshape(x, shape);
  return add("broadcast", {{"to", extents_text(shape)}}, {as(x, padded(x.type.shape, shape.size()))});
}

Operand Lowering::concat(const std::vector<Operand>& parts, int64_t axis) {
  HONE_USER_CHECK(!parts.empty()) << "nothing is joined";
  Operand last;
  std::vector<ValueId> ids;
  TensorType type = parts[0].type;
  type.shape[static_cast<size_t>(axis)] = 0;
  for (const Operand& p : parts) {
    HONE_USER_CHECK(p.type.dtype == type.dtype && p.rank() == type.shape.size())
        << to_string(p.type) << " does not go with " << to_string(parts[0].type);
    type.shape[static_cast<size_t>(axis)] += p.type.shape[static_cast<size_t>(axis)];
    if (p.is_empty()) continue;
    last = p;
    ids.push_back(value(p));
  }
  if (ids.empty()) return {kNoValue, type};
  if (ids.size() == 1) return last;
  return {b.concat(std::move(ids), static_cast<size_t>(axis), output_name), type};
}

Operand Lowering::slice(const Operand& x, const Extents& begin, const Extents& step, const Extents& size) {
  if (element_count(size) == 0) return {kNoValue, {x.type.dtype, size}};
  if (size == x.type.shape && std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; })) return x;
  Extents steps = step;
  for (size_t d = 0; d < steps.size(); ++d)
    if (size[d] == 1) steps[d] = 1;
  return add("slice", {{"begin", join(begin)}, {"step", join(steps)}, {"size", extents_text(size)}}, {value(x)});
}

Operand Lowering::reduce(const std::string& op, const Operand& x, const Extents& axes, bool keepdims) {
  Extents shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!reduced || keepdims) shape.push_back(reduced ? 1 : x.type.shape[d]);
  }
  if (axes.empty()) return x;
  return add("reduce", {{"op", op}, {"axes", join(axes)}, {"keepdims", keepdims ? "1" : "0"}}, {value(x)}, shape);
}

Operand Lowering::from_front(const Operand& positions, const Operand& extent) {
  const Operand wide = cast(positions, i64);
  const Operand flat = reshape(wide, wide.type.shape.empty() ? Extents{1} : wide.type.shape);
  const Operand moved =
      pointwise("where", {pointwise("add", {flat, extent}), pointwise("less", {flat, number(0, i64)}), flat});
  return reshape(moved, wide.type.shape);
}

Operand Lowering::dense(const Operand& x, const Operand& weight, bool transposed, const std::string& epilogue,
                        const std::vector<Operand>& more) {
  HONE_USER_CHECK(x.rank() >= 1 && weight.rank() == 2) << to_string(x.type) << " times " << to_string(weight.type);
  const Operand w = transposed ? weight : transpose(weight, {1, 0});
  const int64_t k = x.type.shape.back(), n = w.type.shape[0];
  HONE_USER_CHECK(w.type.shape[1] == k && k > 0) << to_string(x.type) << " times " << to_string(weight.type);
  Extents shape = x.type.shape;
  shape.back() = n;
  std::vector<ValueId> ids{as(x, {element_count(x.type.shape) / k, k}), value(w)};
  for (const Operand& o : more) ids.push_back(value(o));
  return add("dense", {{"epilogue", epilogue}}, ids, shape);
}

Operand Lowering::matmul(Operand x, Operand y) {
  HONE_USER_CHECK(x.rank() >= 1 && y.rank() >= 1) << to_string(x.type) << " times " << to_string(y.type);
  // Vectors are matrices of one row or column, which the result does not have.
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x = reshape(x, {1, x.type.shape[0]});
  if (column) y = reshape(y, {y.type.shape[0], 1});
  const bool is_dense = y.rank() == 2 && !x.is_empty() && !y.is_empty() && data_of(y);
  const Operand out = is_dense ? dense(x, y, false) : batch_matmul(x, y);
  if (!row && !column) return out;
  Extents shape = out.type.shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return reshape(out, shape);
}

Operand Lowering::batch_matmul(const Operand& a, const Operand& b_) {
  const Extents &sa = a.type.shape, &sb = b_.type.shape;
  HONE_USER_CHECK(sa.size() >= 2 && sb.size() >= 2) << to_string(a.type) << " times " << to_string(b_.type);
  const int64_t m = sa[sa.size() - 2], k = sa.back(), n = sb.back();
  HONE_USER_CHECK(sb[sb.size() - 2] == k) << to_string(a.type) << " times " << to_string(b_.type);
  Extents batch_a(sa.begin(), sa.end() - 2), batch_b(sb.begin(), sb.end() - 2);
  const Extents batch = broadcast_shape({batch_a, batch_b});
  Extents shape = batch;
  shape.insert(shape.end(), {m, n});
  // Sums of nothing.
  if (a.is_empty() || b_.is_empty()) return filled(0, {a.type.dtype, shape});
  // One matrix B for all of A's: their rows are rows of one matrix.
  if (element_count(batch_b) == 1) {
    const int64_t rows = element_count(batch) * m;
    return add("batch_matmul", {}, {as(a, {1, rows, k}), as(b_, {1, k, n})}, shape);
  }
  const auto full = [&](const Operand& x, int64_t r, int64_t c) {
    Extents to = batch;
    to.insert(to.end(), {r, c});
    return as(broadcast(x, to), {element_count(batch), r, c});
  };
  return add("batch_matmul", {}, {full(a, m, k), full(b_, k, n)}, shape);
}

}  // namespace hone::frontend
