#include "compiler/codegen/legalize/tile_nest.h"

#include <algorithm>
#include <cmath>

#include "compiler/arith/linear.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/queries.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

constexpr size_t kMostLoops = 4;
using Vars = std::vector<const VarNode*>;

// The loops of a unit's nest, and the coefficients of their variables in the indices of the operands: i, j, k, w, or
// without k where a step has one word.
struct Pattern {
  std::vector<int64_t> extents, of_a, of_b, of_c;
  size_t row_of_b;  // the loop over B's rows
};

Pattern pattern_of(const MatrixUnit& u) {
  const int64_t words = u.depth / u.word;
  if (words == 1) return {{u.rows, u.columns, u.word}, {0, 0, 1}, {0, 0, 1}, {0, 1, 0}, 1};
  return {{u.rows, u.columns, words, u.word}, {0, 0, u.word, 1}, {0, u.word, 0, 1}, {0, 1, 0, 0}, 2};
}

// A factor: cast(type of sums, x[index]).
const Load* factor_of(const Expr& e) {
  const Cast* widened = as<Cast>(e);
  const Load* load = widened ? as<Load>(widened->value) : nullptr;
  return load && load->indices.size() == 1 && !load->dtype.is_vector() ? load : nullptr;
}

// The operand whose index has these coefficients of the nest's variables; that of variable `row` is free and becomes
// the stride.
std::optional<TileNest::Operand> operand_of(const Buffer& buffer, const Expr& index, const Vars& vars, size_t row,
                                            const std::vector<int64_t>& coefficients) {
  const auto form = linear_of(index);
  if (!form) return std::nullopt;
  Linear first;
  first.constant = form->constant;
  for (const Linear::Term& t : form->terms) {
    if (std::find(vars.begin(), vars.end(), as<VarNode>(t.atom)) != vars.end()) continue;
    if (std::any_of(vars.begin(), vars.end(), [&](const VarNode* v) { return uses_var(t.atom, v); }))
      return std::nullopt;
    first.terms.push_back(t);
  }
  for (size_t v = 0; v < vars.size(); ++v)
    if (v != row && form->coefficient_of(vars[v]) != coefficients[v]) return std::nullopt;
  return TileNest::Operand{buffer, first.to_expr(), form->coefficient_of(vars[row])};
}

Expr row_of(const Expr& first, int64_t step, int lanes) { return Expr(new Ramp(first, make_int(step), lanes)); }

Expr widened(const Expr& e, DType type) { return cast(type.with_lanes(e->dtype.lanes), e); }

}  // namespace

bool TileNest::Operand::is(const Operand& o) const {
  return buffer.same_as(o.buffer) && stride == o.stride && equal(first, o.first);
}

std::optional<TileNest> match_tile_nest(const For* outermost, const Target& target) {
  Vars vars;
  std::vector<int64_t> extents;
  Stmt body;
  for (const For* loop = outermost; loop; loop = as<For>(body)) {
    const auto extent = as_const_int(loop->extent);
    if (!extent || vars.size() == kMostLoops || loop->loop != LoopKind::kWarp || !is_const(loop->min, 0))
      return std::nullopt;
    vars.push_back(loop->var.get()), extents.push_back(*extent);
    body = loop->body;
  }
  const Store* store = as<Store>(body);
  const Binary* sum = store && !store->mask && store->indices.size() == 1 ? as<Binary>(store->value) : nullptr;
  const Load* old = sum && sum->op == BinaryOp::kAdd ? as<Load>(sum->a) : nullptr;
  const Binary* product = old ? as<Binary>(sum->b) : nullptr;
  if (!product || product->op != BinaryOp::kMul || !old->buffer.same_as(store->buffer) ||
      !equal(old->indices.at(0), store->indices[0]))
    return std::nullopt;
  const Load *x = factor_of(product->a), *y = factor_of(product->b);
  if (!x || !y || product->dtype != store->buffer->dtype) return std::nullopt;
  for (const auto& [a, b] : {std::pair(x, y), std::pair(y, x)}) {
    const MatrixUnit* unit = nest_unit(target, to_string(a->dtype), to_string(b->dtype), to_string(product->dtype));
    const std::optional<Pattern> pattern = unit ? std::optional(pattern_of(*unit)) : std::nullopt;
    if (!pattern || extents != pattern->extents) continue;
    const auto of_a = operand_of(a->buffer, a->indices[0], vars, 0, pattern->of_a),
               of_b = operand_of(b->buffer, b->indices[0], vars, pattern->row_of_b, pattern->of_b),
               of_c = operand_of(store->buffer, store->indices[0], vars, 0, pattern->of_c);
    const auto is_apart = [&](const Load* l) { return !l->buffer.same_as(store->buffer); };
    // Rows of C that overlapped would be stored over each other.
    if (of_a && of_b && of_c && of_c->stride >= unit->columns && is_apart(a) && is_apart(b))
      return TileNest{unit, *of_a, *of_b, *of_c};
  }
  return std::nullopt;
}

Stmt tile_nest_in_vectors(const TileNest& nest) {
  const MatrixUnit& u = *nest.unit;
  const Var i("i"), k("k");
  const int lanes = static_cast<int>(u.columns);
  std::vector<Expr> of_a, of_b;
  for (int64_t w = 0; w < u.word; ++w) {
    of_a.emplace_back(
        new Broadcast(load(nest.a.buffer, {nest.a.first + Expr(i) * nest.a.stride + Expr(k) * u.word + w}), lanes));
    of_b.push_back(load(nest.b.buffer, {row_of(nest.b.first + Expr(k) * nest.b.stride + w, u.word, lanes)}));
  }
  const Expr at = row_of(nest.c.first + Expr(i) * nest.c.stride, 1, lanes);
  Expr value;
  std::vector<Expr> args = of_a;
  args.insert(args.end(), of_b.begin(), of_b.end());
  if (u.a == "bf16") {
    value = call(Intrinsic::kDot2, std::move(args));
  } else if (u.a == "u8" && u.b == "s8") {
    value = call(Intrinsic::kDot4, std::move(args));
  } else if (u.a == "s8" && u.b == "u8") {
    std::rotate(args.begin(), args.begin() + u.word, args.end());
    value = call(Intrinsic::kDot4, std::move(args));
  } else {
    for (size_t w = 0; w < of_a.size(); ++w) {
      const Expr one = widened(of_a[w], nest.c.buffer->dtype) * widened(of_b[w], nest.c.buffer->dtype);
      value = value ? value + one : one;
    }
  }
  const Stmt step = make_store(nest.c.buffer, {at}, load(nest.c.buffer, {at}) + value);
  return make_for(i, make_int(0), make_int(u.rows), LoopKind::kSerial,
                  make_for(k, make_int(0), make_int(u.depth / u.word), LoopKind::kSerial, step));
}

namespace {

// Collects the nests of a statement.
class RegionMatcher {
 public:
  explicit RegionMatcher(const Target& target) : target_(target) {}

  bool match(const Stmt& s) {
    if (const Seq* seq = as<Seq>(s))
      return std::all_of(seq->stmts.begin(), seq->stmts.end(), [&](const Stmt& one) { return match(one); });
    if (as<Prefetch>(s)) return true;
    const For* loop = as<For>(s);
    if (!loop) return false;
    if (loop->loop == LoopKind::kWarp) return match_nest(loop);
    if (loop->loop != LoopKind::kSerial) return false;
    around_.push_back(loop->var.get());
    return match(loop->body);
  }

  // The nests do not read each other's sums, and all iterations have the same tiles of them.
  bool is_region() const {
    const auto is_a_sum = [&](const Buffer& b) {
      return std::any_of(region.sums.begin(), region.sums.end(), [&](const auto& c) { return c.buffer.same_as(b); });
    };
    for (const auto& [loop, nest] : region.nests)
      if (is_a_sum(nest.a.buffer) || is_a_sum(nest.b.buffer)) return false;
    for (const TileNest::Operand& c : region.sums)
      for (const VarNode* v : around_)
        if (uses_var(c.first, v)) return false;
    return !region.nests.empty();
  }

  TileRegion region;

 private:
  bool match_nest(const For* loop) {
    auto nest = match_tile_nest(loop, target_);
    // Sums that overlap would have to be stored in between.
    if (!nest || reads_memory(nest->c.first)) return false;
    const auto known =
        std::find_if(region.sums.begin(), region.sums.end(), [&](const TileNest::Operand& c) { return c.is(nest->c); });
    if (known == region.sums.end()) {
      for (const TileNest::Operand& c : region.sums)
        if (!are_apart(c, nest->c, *nest->unit)) return false;
      region.sums.push_back(nest->c);
    }
    const size_t most = static_cast<size_t>(nest->unit->count) - 2;  // one of A and one of B
    region.nests.emplace(loop, std::move(*nest));
    return region.sums.size() <= most;
  }

  // Whether no row of one overlaps a row of the other; rows of one of them do not (match_tile_nest()).
  static bool are_apart(const TileNest::Operand& x, const TileNest::Operand& y, const MatrixUnit& u) {
    if (!x.buffer.same_as(y.buffer)) return true;
    const auto a = linear_of(x.first), b = linear_of(y.first);
    const auto distance = a && b ? add(*b, *a, -1) : std::nullopt;
    if (!distance || !distance->is_constant() || x.stride != y.stride) return false;
    // Rows of y begin `between` behind those of x, a number of whole rows left out.
    const int64_t between = ((distance->constant % x.stride) + x.stride) % x.stride;
    const int64_t rows = (distance->constant - between) / x.stride;
    return (between >= u.columns && between + u.columns <= x.stride) || rows >= u.rows ||
           rows <= -u.rows - (between > 0 ? 1 : 0);
  }

  const Target& target_;
  std::vector<const VarNode*> around_;
};

}  // namespace

std::optional<TileRegion> match_tile_region(const Stmt& s, const Target& target) {
  RegionMatcher matcher(target);
  if (!matcher.match(s) || !matcher.is_region()) return std::nullopt;
  return std::move(matcher.region);
}

bool fills_with_zeros(const Stmt& s, const TileRegion& region) {
  const Buffer& sums = region.sums.front().buffer;
  const int64_t elements = sums->shape.size() == 1 ? as_const_int(sums->shape[0]).value_or(0) : 0;
  const bool is_all = std::all_of(region.sums.begin(), region.sums.end(),
                                  [&](const TileNest::Operand& c) { return c.buffer.same_as(sums); });
  if (!is_all || elements != static_cast<int64_t>(region.sums.size()) * region.unit().rows * region.unit().columns)
    return false;
  std::vector<const For*> loops;
  Stmt body = s;
  for (const For* loop = as<For>(body); loop; loop = as<For>(body)) {
    if (loop->loop != LoopKind::kSerial || !is_const(loop->min, 0) || !as_const_int(loop->extent)) return false;
    loops.push_back(loop);
    body = loop->body;
  }
  const Store* store = as<Store>(body);
  if (!store || store->mask || !store->buffer.same_as(sums)) return false;
  const Broadcast* lanes_of = as<Broadcast>(store->value);
  const Expr& value = lanes_of ? lanes_of->value : store->value;
  const FloatImm* number = as<FloatImm>(value);
  if (number ? number->value != 0 || std::signbit(number->value) : !is_const(value, 0)) return false;
  const Ramp* lanes = as<Ramp>(store->indices.at(0));
  if (lanes && !is_const(lanes->stride, 1)) return false;
  const auto at = linear_of(lanes ? lanes->base : store->indices[0]);
  if (!at || at->constant != 0 || at->terms.size() != loops.size()) return false;
  // Its digits: each loop goes through parts that the ones before it fill.
  std::vector<std::pair<int64_t, int64_t>> digits;
  for (const For* loop : loops) digits.emplace_back(at->coefficient_of(loop->var.get()), *as_const_int(loop->extent));
  std::sort(digits.begin(), digits.end());
  int64_t filled = lanes ? lanes->dtype.lanes : 1;
  for (const auto& [step, count] : digits) {
    if (step != filled) return false;
    filled *= count;
  }
  return filled == elements;
}

Stmt region_in_vectors(const Stmt& s, const TileRegion& region) {
  class InVectors final : public Mutator {
   public:
    explicit InVectors(const TileRegion& region) : region_(region) {}

   protected:
    using Mutator::visit;
    Stmt visit(const For* op) override {
      const auto nest = region_.nests.find(op);
      return nest == region_.nests.end() ? Mutator::visit(op) : tile_nest_in_vectors(nest->second);
    }

   private:
    const TileRegion& region_;
  };
  return InVectors(region)(s);
}

std::vector<Stmt> with_nests_joined(const Seq& s) {
  const auto is_nest = [](const Stmt& one) { return as<For>(one) && as<For>(one)->loop == LoopKind::kWarp; };
  std::vector<Stmt> parts;
  for (auto from = s.stmts.begin(); from != s.stmts.end();) {
    const auto to = is_nest(*from) ? std::find_if_not(from, s.stmts.end(), is_nest) : from + 1;
    parts.push_back(make_seq(std::vector<Stmt>(from, to)));
    from = to;
  }
  return parts.size() == 1 || parts.size() == s.stmts.size() ? std::vector<Stmt>() : parts;
}

bool has_nests(const Module& m, const Target& target, MatrixUnit::Registers registers) {
  const std::span<const MatrixUnit> units = matrix_units();
  const bool has_unit = std::any_of(units.begin(), units.end(), [&](const MatrixUnit& u) {
    return u.is_nest() && u.registers == registers && target.has(u.feature);
  });
  return has_unit && std::any_of(m.kernels.begin(), m.kernels.end(),
                                 [](const Function& f) { return holds_loop(f.body, LoopKind::kWarp); });
}

}  // namespace hone
