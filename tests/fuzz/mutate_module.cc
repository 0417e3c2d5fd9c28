#include "tests/fuzz/mutate_module.h"

#include <cstdint>
#include <vector>

#include "compiler/ir/stmt.h"

namespace hone::fuzz {
namespace {

uint32_t code_of(DType t) {
  return static_cast<uint32_t>(t.code) << 24 | static_cast<uint32_t>(t.bits) << 16 | t.lanes;
}

class ModuleMutator {
 public:
  ModuleMutator(proto::IrModule* m, std::mt19937_64& rng) : m_(*m), rng_(rng) {}

  void run() {
    static constexpr void (ModuleMutator::*kMutations[])() = {
        &ModuleMutator::change_constant, &ModuleMutator::change_constant,  &ModuleMutator::rewire_operand,
        &ModuleMutator::swap_operands,   &ModuleMutator::wrap_operand,     &ModuleMutator::wrap_operand,
        &ModuleMutator::fresh_extent,    &ModuleMutator::fresh_extent,     &ModuleMutator::fresh_loop,
        &ModuleMutator::fresh_loop,      &ModuleMutator::change_node,      &ModuleMutator::change_types,
        &ModuleMutator::change_buffer,   &ModuleMutator::change_loop,      &ModuleMutator::rewire_stmt,
        &ModuleMutator::edit_children,   &ModuleMutator::edit_children,    &ModuleMutator::change_param,
        &ModuleMutator::change_header,   &ModuleMutator::change_functions, &ModuleMutator::share_condition,
        &ModuleMutator::share_condition, &ModuleMutator::scale_operand,    &ModuleMutator::scale_operand,
    };
    for (uint64_t n = 1 + below(4); n > 0; --n) (this->*kMutations[below(std::size(kMutations))])();
  }

 private:
  uint64_t below(uint64_t n) { return n == 0 ? 0 : rng_() % n; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }
  template <class Repeated>
  auto* pick(Repeated* items) {
    return items->empty() ? nullptr : items->Mutable(static_cast<int>(below(static_cast<uint64_t>(items->size()))));
  }
  template <class Repeated>
  int place(const Repeated& items) {
    return static_cast<int>(below(static_cast<uint64_t>(items.size())));
  }

  int64_t number_near(int64_t old) {
    static constexpr int64_t kOdd[] = {0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       7,
                                       16,
                                       63,
                                       64,
                                       65,
                                       1024,
                                       INT32_MAX,
                                       INT64_MAX,
                                       INT64_MIN,
                                       INT64_MIN + 1,
                                       int64_t{1} << 40,
                                       int64_t{1} << 31,
                                       -(int64_t{1} << 31),
                                       int64_t{1} << 32,
                                       int64_t{1} << 61,
                                       int64_t{1} << 62,
                                       -(int64_t{1} << 62),
                                       INT64_MAX - 20};
    const auto u = static_cast<uint64_t>(old);
    switch (below(6)) {
      case 0: return static_cast<int64_t>(u + 1);
      case 1: return static_cast<int64_t>(u - 1);
      case 2: return static_cast<int64_t>(u * 2);
      case 3: return old / 2;
      case 4: return static_cast<int64_t>(u + below(33) - 16);
      default: return kOdd[below(std::size(kOdd))];
    }
  }

  // Puts `node` at `at`: indices from there on move up.
  void insert_expr(uint32_t at, proto::IrExpr node) {
    const auto shift = [&](auto* list) {
      for (auto& i : *list)
        if (i >= at) ++i;
    };
    for (auto& e : *m_.mutable_exprs()) shift(e.mutable_operands());
    for (auto& b : *m_.mutable_buffers()) shift(b.mutable_shape());
    for (auto& s : *m_.mutable_stmts()) shift(s.mutable_exprs());
    *m_.add_exprs() = std::move(node);
    for (int i = m_.exprs_size() - 1; i > static_cast<int>(at); --i) m_.mutable_exprs()->SwapElements(i, i - 1);
  }
  static proto::IrExpr constant(int64_t value) {
    proto::IrExpr e;
    e.set_kind(static_cast<uint32_t>(ExprKind::kIntImm));
    e.set_dtype(code_of(kIndex));
    e.set_int_value(value);
    return e;
  }
  // The value of index constant `i`, or a default.
  int64_t value_of(uint32_t i) const {
    return i < static_cast<uint32_t>(m_.exprs_size()) &&
                   m_.exprs(static_cast<int>(i)).kind() == static_cast<uint32_t>(ExprKind::kIntImm)
               ? m_.exprs(static_cast<int>(i)).int_value()
               : 4;
  }

  void change_constant() {
    std::vector<int> constants;
    for (int i = 0; i < m_.exprs_size(); ++i)
      if (m_.exprs(i).kind() <= static_cast<uint32_t>(ExprKind::kFloatImm)) constants.push_back(i);
    if (constants.empty()) return;
    proto::IrExpr* e = m_.mutable_exprs(constants[below(constants.size())]);
    if (e->kind() == static_cast<uint32_t>(ExprKind::kIntImm))
      e->set_int_value(number_near(e->int_value()));
    else
      e->set_float_value(chance(4) ? 1.0 / 0.0 : e->float_value() * 3 - 1);
  }

  void rewire_operand() {
    const int at = place(m_.exprs());
    if (m_.exprs_size() == 0 || m_.exprs(at).operands_size() == 0) return;
    auto* operands = m_.mutable_exprs(at)->mutable_operands();
    operands->Set(place(*operands), static_cast<uint32_t>(chance(50) ? below(static_cast<uint64_t>(m_.exprs_size()) + 3)
                                                                     : below(static_cast<uint64_t>(at))));
  }

  void swap_operands() {
    proto::IrExpr* e = pick(m_.mutable_exprs());
    if (e && e->operands_size() > 1) e->mutable_operands()->SwapElements(place(e->operands()), place(e->operands()));
  }

  // x -> x (op) constant, at one use: indices and bounds move by a little.
  void wrap_operand() {
    if (m_.exprs_size() == 0) return;
    const int at = place(m_.exprs());
    const proto::IrExpr& user = m_.exprs(at);
    if (user.operands_size() == 0) return;
    const int which = place(user.operands());
    const uint32_t operand = user.operands(which);
    if (operand >= static_cast<uint32_t>(at) || m_.exprs(static_cast<int>(operand)).dtype() != code_of(kIndex)) return;
    static constexpr BinaryOp kOps[] = {BinaryOp::kAdd,      BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kFloorDiv,
                                        BinaryOp::kFloorMod, BinaryOp::kMin, BinaryOp::kMax};
    static constexpr int64_t kNumbers[] = {1, 1, 1, 2, 3, 4, 8, 16, -1, -2, 100, INT64_MAX};
    insert_expr(static_cast<uint32_t>(at), constant(kNumbers[below(std::size(kNumbers))]));
    proto::IrExpr node;
    node.set_kind(static_cast<uint32_t>(ExprKind::kBinary));
    node.set_op(static_cast<uint32_t>(kOps[below(std::size(kOps))]));
    node.set_dtype(code_of(kIndex));
    node.add_operands(operand);
    node.add_operands(static_cast<uint32_t>(at));
    insert_expr(static_cast<uint32_t>(at) + 1, std::move(node));
    m_.mutable_exprs(at + 2)->set_operands(which, static_cast<uint32_t>(at) + 1);
  }

  // The condition of one branch becomes that of another, too: one node in two places.
  void share_condition() {
    std::vector<int> branches;
    for (int i = 0; i < m_.stmts_size(); ++i)
      if (m_.stmts(i).kind() == static_cast<uint32_t>(StmtKind::kIf) && m_.stmts(i).exprs_size() > 0)
        branches.push_back(i);
    if (branches.size() < 2) return;
    const int from = branches[below(branches.size())], to = branches[below(branches.size())];
    m_.mutable_stmts(to)->set_exprs(0, m_.stmts(from).exprs(0));
  }

  // x -> x * a large number, at both sides of a comparison or at one: sums that leave int64.
  void scale_operand() {
    static constexpr int64_t kScales[] = {int64_t{1} << 31, int64_t{1} << 60,        int64_t{1} << 61,
                                          int64_t{1} << 62, (int64_t{1} << 62) + 10, -(int64_t{1} << 61)};
    if (m_.exprs_size() == 0) return;
    int at = place(m_.exprs());
    const int sides = m_.exprs(at).operands_size();
    if (sides == 0) return;
    const int only = chance(2) ? place(m_.exprs(at).operands()) : -1;
    for (int which = 0; which < sides; ++which) {
      const uint32_t operand = m_.exprs(at).operands(which);
      if ((only >= 0 && which != only) || operand >= static_cast<uint32_t>(at) ||
          m_.exprs(static_cast<int>(operand)).dtype() != code_of(kIndex))
        continue;
      insert_expr(static_cast<uint32_t>(at), constant(kScales[below(std::size(kScales))]));
      proto::IrExpr node;
      node.set_kind(static_cast<uint32_t>(ExprKind::kBinary));
      node.set_op(static_cast<uint32_t>(BinaryOp::kMul));
      node.set_dtype(code_of(kIndex));
      node.add_operands(operand);
      node.add_operands(static_cast<uint32_t>(at));
      insert_expr(static_cast<uint32_t>(at) + 1, std::move(node));
      at += 2;
      m_.mutable_exprs(at)->set_operands(which, static_cast<uint32_t>(at) - 1);
    }
  }

  // A buffer of another size; a parameter's description follows where it is plain.
  void fresh_extent() {
    if (m_.buffers_size() == 0) return;
    const int b = place(m_.buffers());
    if (m_.buffers(b).shape_size() == 0) return;
    const int d = place(m_.buffers(b).shape());
    const int64_t n = number_near(value_of(m_.buffers(b).shape(d)));
    insert_expr(0, constant(n));
    m_.mutable_buffers(b)->set_shape(d, 0);
    for (const proto::IrFunction& f : m_.functions())
      for (int i = 0; i < f.params_size() && i < m_.params_size(); ++i) {
        proto::IrParam* p = m_.mutable_params(i);
        if (f.params(i) != static_cast<uint32_t>(b) || m_.buffers(b).shape_size() != 1) continue;
        p->clear_shape();
        p->add_shape(n);
        p->clear_layout();
        proto::IrLayoutDim* dim = p->add_layout();
        dim->set_stride(1);
        dim->set_extent(n);
      }
  }

  // A loop that runs from, or as often as, it did not before.
  void fresh_loop() {
    std::vector<int> loops;
    for (int i = 0; i < m_.stmts_size(); ++i)
      if (m_.stmts(i).kind() == static_cast<uint32_t>(StmtKind::kFor) && m_.stmts(i).exprs_size() == 2)
        loops.push_back(i);
    if (loops.empty()) return;
    const int at = loops[below(loops.size())], which = chance(3) ? 0 : 1;
    const int64_t n = number_near(value_of(m_.stmts(at).exprs(which)));
    insert_expr(0, constant(n));
    m_.mutable_stmts(at)->set_exprs(which, 0);
  }

  void change_node() {
    proto::IrExpr* e = pick(m_.mutable_exprs());
    if (!e) return;
    switch (below(4)) {
      case 0: e->set_kind(static_cast<uint32_t>(below(12))); break;
      case 1:
        e->set_ref(static_cast<uint32_t>(below(static_cast<uint64_t>(m_.vars_size() + m_.buffers_size() + 1))));
        break;
      default: e->set_op(static_cast<uint32_t>(below(15))); break;
    }
  }

  uint32_t some_type() {
    static const DType kTypes[] = {i8, u8, i32, i64, f32, f64, f16, boolean, kIndex.with_lanes(8), f32.with_lanes(4)};
    return chance(20) ? static_cast<uint32_t>(rng_()) : code_of(kTypes[below(std::size(kTypes))]);
  }

  // One type for another everywhere, or in one place, which is an error nearly always.
  void change_types() {
    const uint32_t to = some_type();
    if (chance(3)) {
      if (proto::IrExpr* e = pick(m_.mutable_exprs())) e->set_dtype(to);
      return;
    }
    if (m_.buffers_size() == 0) return;
    const uint32_t from = m_.buffers(place(m_.buffers())).dtype();
    for (auto& e : *m_.mutable_exprs())
      if (e.dtype() == from) e.set_dtype(to);
    for (auto& b : *m_.mutable_buffers())
      if (b.dtype() == from) b.set_dtype(to);
    for (auto& p : *m_.mutable_params())
      if (p.dtype() == from) p.set_dtype(to);
  }

  void change_buffer() {
    proto::IrBuffer* b = pick(m_.mutable_buffers());
    if (!b) return;
    switch (below(4)) {
      case 0: b->set_scope(static_cast<uint32_t>(below(4))); break;
      case 1: b->set_dtype(some_type()); break;
      case 2:
        if (b->shape_size() > 0)
          b->set_shape(place(b->shape()), static_cast<uint32_t>(below(static_cast<uint64_t>(m_.exprs_size()))));
        break;
      default: b->add_shape(static_cast<uint32_t>(below(static_cast<uint64_t>(m_.exprs_size())))); break;
    }
  }

  void change_loop() {
    proto::IrStmt* s = pick(m_.mutable_stmts());
    if (!s) return;
    if (chance(10))
      s->set_kind(static_cast<uint32_t>(below(8)));
    else
      s->set_loop_kind(static_cast<uint32_t>(below(5)));
  }

  void rewire_stmt() {
    proto::IrStmt* s = pick(m_.mutable_stmts());
    if (!s) return;
    switch (below(4)) {
      case 0:
        s->set_ref(static_cast<uint32_t>(below(static_cast<uint64_t>(m_.buffers_size() + m_.vars_size()))));
        break;
      case 1:
        s->set_offset(chance(3) ? number_near(s->offset()) : s->offset() + 64 * (static_cast<int64_t>(below(5)) - 2));
        break;
      default:
        if (s->exprs_size() > 0)
          s->set_exprs(place(s->exprs()), static_cast<uint32_t>(below(static_cast<uint64_t>(m_.exprs_size()))));
        break;
    }
  }

  // Children of a statement dropped, doubled, swapped or taken from elsewhere.
  void edit_children() {
    const int at = place(m_.stmts());
    if (m_.stmts_size() == 0 || m_.stmts(at).stmts_size() == 0) return;
    auto* children = m_.mutable_stmts(at)->mutable_stmts();
    const int child = place(*children);
    switch (below(4)) {
      case 0: children->erase(children->begin() + child); break;
      case 1: children->Add(children->Get(child)); break;
      case 2: children->SwapElements(child, place(*children)); break;
      default: children->Set(child, static_cast<uint32_t>(below(static_cast<uint64_t>(at)))); break;
    }
  }

  void change_param() {
    proto::IrParam* p = pick(m_.mutable_params());
    if (!p) return;
    switch (below(6)) {
      case 0: p->set_role(static_cast<uint32_t>(below(4))); break;
      case 1: p->set_dtype(some_type()); break;
      case 2:
        if (p->shape_size() > 0) p->set_shape(place(p->shape()), number_near(p->shape(0)));
        break;
      case 3:
        if (p->layout_size() > 0) p->mutable_layout(place(p->layout()))->set_extent(number_near(p->layout(0).extent()));
        break;
      case 4:
        if (p->layout_size() > 0) p->mutable_layout(place(p->layout()))->set_stride(number_near(p->layout(0).stride()));
        break;
      default:
        if (p->layout_size() > 1) p->mutable_layout()->SwapElements(place(p->layout()), place(p->layout()));
        break;
    }
  }

  void change_header() {
    switch (below(5)) {
      case 0: m_.set_workspace_bytes(number_near(m_.workspace_bytes())); break;
      case 1: m_.set_workspace_bytes(m_.workspace_bytes() + 64 * (static_cast<int64_t>(below(9)) - 4)); break;
      case 2: m_.set_workers(static_cast<uint32_t>(chance(4) ? rng_() : below(9))); break;
      case 3: m_.set_vector_bits(static_cast<uint32_t>(chance(3) ? below(1 << 12) : 64 * below(12))); break;
      default: m_.set_version(static_cast<uint32_t>(chance(3) ? below(3) : 1)); break;
    }
  }

  void change_functions() {
    proto::IrFunction* f = pick(m_.mutable_functions());
    if (!f) return;
    switch (below(6)) {
      case 0: f->set_body(static_cast<uint32_t>(below(static_cast<uint64_t>(m_.stmts_size()) + 1))); break;
      case 1:
        if (f->params_size() > 0)
          f->set_params(place(f->params()), static_cast<uint32_t>(below(static_cast<uint64_t>(m_.buffers_size()) + 1)));
        break;
      case 2:
        if (f->params_size() > 1) f->mutable_params()->SwapElements(place(f->params()), place(f->params()));
        break;
      case 3: m_.add_kernels(static_cast<uint32_t>(below(static_cast<uint64_t>(m_.functions_size()) + 1))); break;
      case 4:
        if (proto::IrPrepack* p = pick(m_.mutable_prepacks()))
          p->set_param(static_cast<uint32_t>(below(static_cast<uint64_t>(m_.params_size()) + 1)));
        break;
      default: f->set_name(chance(2) ? "9\"; ret" : f->name() + "_"); break;
    }
  }

  proto::IrModule& m_;
  std::mt19937_64& rng_;
};

}  // namespace

void mutate(proto::IrModule* m, std::mt19937_64& rng) { ModuleMutator(m, rng).run(); }

}  // namespace hone::fuzz
