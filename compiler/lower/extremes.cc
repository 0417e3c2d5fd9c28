#include "compiler/lower/extremes.h"

#include <functional>
#include <optional>

#include "base/check.h"
#include "compiler/arith/simplify.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/lower/plan_storage.h"
#include "compiler/te/tensor.h"

namespace hone {
namespace {

// Where `buffer` is stored, and how often it is accessed.
class Accesses final : public Visitor {
 public:
  explicit Accesses(const Buffer& buffer) : buffer_(buffer) {}
  int stores = 0, loads = 0;
  const For *parallel = nullptr, *vector = nullptr;  ///< loops around the store; null: none
  bool runs_once = true;                             ///< no loop or condition stands around the parallel loop

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    around_.push_back(op);
    Visitor::visit(op);
    around_.pop_back();
  }
  void visit(const If* op) override {
    around_.push_back(nullptr);
    Visitor::visit(op);
    around_.pop_back();
  }
  void visit(const Load* op) override {
    loads += op->buffer.same_as(buffer_);
    Visitor::visit(op);
  }
  void visit(const Store* op) override {
    Visitor::visit(op);
    if (!op->buffer.same_as(buffer_)) return;
    ++stores;
    for (const For* l : around_) {
      if (!l) continue;
      if (l->loop == LoopKind::kParallel) parallel = l;
      if (l->loop == LoopKind::kVectorize) vector = l;
    }
    runs_once = !parallel || around_.front() == parallel;
  }

 private:
  const Buffer& buffer_;
  std::vector<const For*> around_;  ///< null: a condition
};

// Lanes of the partial result that a share stores; wider vectors are folded to so many first.
constexpr int64_t kPartialLanes = 16;

// One of the two: its buffers for one share (a value for each lane), for all shares, for all shares together (a value
// for each lane still), and of one element.
struct Extreme {
  ReduceKind kind;
  Buffer of_share, of_shares, of_lanes, result;
};

// For each lane, as a vector.
Stmt each_lane(int64_t lanes, const std::function<Stmt(const Expr& lane)>& body) {
  const Var lane("lane");
  return make_for(lane, make_int(0), make_int(lanes), lanes > 1 ? LoopKind::kVectorize : LoopKind::kSerial, body(lane));
}

class Extremes {
 public:
  Extremes(const Buffer& of, int64_t shares, int64_t lanes)
      : of_(of), shares_(shares), lanes_(lanes), partial_(partial_lanes(lanes)) {
    const auto buffer = [&](const std::string& name, int64_t count, BufferScope scope) {
      return make_buffer(name, of->dtype, std::vector<int64_t>{count}, scope);
    };
    for (const auto& [kind, name] : {std::pair(ReduceKind::kMin, std::string("least")), {ReduceKind::kMax, "most"}})
      extremes_.push_back({kind, buffer(name + "_of_task", lanes, BufferScope::kStack),
                           buffer(name + "_of_tasks", shares * partial_, BufferScope::kWorkspace),
                           buffer(name + "_of_lanes", partial_, BufferScope::kStack),
                           buffer(name, 1, BufferScope::kParam)});
  }

  static int64_t partial_lanes(int64_t lanes) { return lanes % kPartialLanes == 0 ? kPartialLanes : lanes; }

  // Folds the element at `index` into the share's.
  Stmt fold(const Expr& index, const Expr& lane) const {
    return for_both([&](const Extreme& e) { return combine(e, e.of_share, lane, load(of_, {index})); });
  }

  // `body`, which folds elements, as share number `share`.
  Stmt share(const Expr& share, Stmt body) const {
    std::vector<Stmt> all{for_both([&](const Extreme& e) { return begin(e, e.of_share, lanes_); }), std::move(body)};
    all.push_back(for_both([&](const Extreme& e) {
      return each_lane(partial_, [&](const Expr& lane) {
        Expr value = load(e.of_share, {lane});
        for (int64_t more = partial_; more < lanes_; more += partial_)
          value = reduce_combine(e.kind, value, load(e.of_share, {lane + more}));
        return make_store(e.of_shares, {share * partial_ + lane}, value);
      });
    }));
    Stmt s = make_seq(std::move(all));
    for (const Extreme& e : extremes_) s = make_allocate(e.of_share, -1, std::move(s));
    return s;
  }

  // `kernel`, which holds all shares, and the loops that combine their partial results.
  Stmt finish(Stmt kernel) const {
    std::vector<Stmt> all{std::move(kernel)};
    for (const Extreme& e : extremes_) all.push_back(reduce(e));
    Stmt s = make_seq(std::move(all));
    for (const Extreme& e : extremes_) s = make_allocate(e.of_shares, -1, std::move(s));
    return s;
  }

  const std::vector<Extreme>& list() const { return extremes_; }

 private:
  Stmt for_both(const std::function<Stmt(const Extreme&)>& one) const {
    std::vector<Stmt> all;
    for (const Extreme& e : extremes_) all.push_back(one(e));
    return make_seq(std::move(all));
  }
  static Stmt combine(const Extreme& e, const Buffer& to, const Expr& at, const Expr& value) {
    return make_store(to, {at}, reduce_combine(e.kind, load(to, {at}), value));
  }
  static Stmt begin(const Extreme& e, const Buffer& b, int64_t lanes) {
    return each_lane(lanes, [&](const Expr& lane) { return make_store(b, {lane}, reduce_identity(e.kind, b->dtype)); });
  }
  Stmt reduce(const Extreme& e) const {
    const Var t("t"), l("l");
    const Stmt each_task =
        make_for(t, make_int(0), make_int(shares_), LoopKind::kSerial, each_lane(partial_, [&](const Expr& lane) {
                   return combine(e, e.of_lanes, lane, load(e.of_shares, {Expr(t) * partial_ + lane}));
                 }));
    const Stmt each = make_for(l, make_int(0), make_int(partial_), LoopKind::kSerial,
                               combine(e, e.result, make_int(0), load(e.of_lanes, {l})));
    return make_allocate(
        e.of_lanes, -1,
        make_seq({begin(e, e.of_lanes, partial_), each_task,
                  make_store(e.result, {make_int(0)}, reduce_identity(e.kind, e.result->dtype)), each}));
  }

  Buffer of_;
  int64_t shares_, lanes_, partial_;
  std::vector<Extreme> extremes_;
};

// Folds the stored values, in the iterations of one parallel loop; null: there is none.
class StoreFolder final : public Mutator {
 public:
  StoreFolder(const Extremes& extremes, const Buffer& of, const For* parallel, const For* vector)
      : extremes_(extremes), of_(of), parallel_(parallel), vector_(vector) {}

 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    if (op != parallel_) return Mutator::visit(op);
    return make_for(op->var, op->min, op->extent, op->loop,
                    extremes_.share(Expr(op->var) - op->min, (*this)(op->body)));
  }
  Stmt visit(const Store* op) override {
    if (!op->buffer.same_as(of_)) return Stmt(op);
    const Expr lane = vector_ ? Expr(vector_->var) - vector_->min : make_int(0);
    return make_seq({Stmt(op), extremes_.fold(op->indices[0], lane)});
  }

 private:
  const Extremes& extremes_;
  const Buffer& of_;
  const For *parallel_, *vector_;
};

// The extremes of `of`, found while `kernel` stores it. Nothing when a stored value may not be the final one, or when
// the partial results of many short shares would be almost as many elements.
std::optional<Extremes> while_stored(const Buffer& of, int64_t count, Stmt* kernel) {
  Accesses a(of);
  a(*kernel);
  if (a.stores != 1 || a.loads != 0 || !a.runs_once) return std::nullopt;
  const auto extent_of = [](const For* l) { return l ? as_const_int(l->extent).value_or(0) : 1; };
  const int64_t shares = extent_of(a.parallel), lanes = extent_of(a.vector);
  constexpr int64_t kLeastOfShare = 8;  // elements for each of its partial result
  if (shares < 1 || lanes < 1 || shares > count / Extremes::partial_lanes(lanes) / kLeastOfShare) return std::nullopt;
  Extremes extremes(of, shares, lanes);
  *kernel = StoreFolder(extremes, of, a.parallel, a.vector)(*kernel);
  if (!a.parallel) *kernel = extremes.share(make_int(0), *kernel);
  return extremes;
}

// The same by a loop behind the kernel over `count` elements.
Extremes when_stored(const Buffer& of, int64_t count, int workers, Stmt* kernel) {
  constexpr int64_t kLanes = 16, kLeastOfShare = 1024;
  const int64_t lanes = count >= kLanes ? kLanes : 1, vectors = ceil_div(count, lanes),
                each = std::max(kLeastOfShare, ceil_div(vectors, workers)), shares = ceil_div(vectors, each);
  Extremes extremes(of, shares, lanes);
  const Var t("t"), v("v");
  const Stmt some = make_for(v, make_int(0), make_int(std::min(each, vectors)), LoopKind::kSerial,
                             each_lane(lanes, [&](const Expr& lane) {
                               const Expr index = (Expr(t) * each + Expr(v)) * lanes + lane;
                               return make_if(lt(index, make_int(count)), extremes.fold(index, lane));
                             }));
  *kernel =
      make_seq({*kernel, make_for(t, make_int(0), make_int(shares), LoopKind::kParallel, extremes.share(t, some))});
  return extremes;
}

}  // namespace

Module tell_extremes(const Module& m) {
  HONE_ICHECK(m.kernels.size() == 1 && !m.params.empty() && m.params.back().role == ParamRole::kOutput)
      << "extremes of " << m.kernels.size() << " kernels";
  Module out = m;
  Function& f = out.kernels[0];
  const Param of = m.params.back();
  const int64_t count = element_count(of.shape);
  Buffer buffer = f.params.back();
  std::optional<Buffer> plain;  // without the padding
  if (of.layout.physical_size() != count) {
    plain = make_buffer(of.name + "_plain", of.dtype, std::vector<int64_t>{count}, BufferScope::kWorkspace);
    f.body = make_seq({f.body, unpack_statement(of, buffer, *plain)});
    buffer = *plain;
  }
  std::optional<Extremes> extremes = while_stored(buffer, count, &f.body);
  if (!extremes) extremes.emplace(when_stored(buffer, count, m.workers, &f.body));
  f.body = simplify(extremes->finish(f.body));
  if (plain) f.body = make_allocate(*plain, -1, f.body);
  for (const Extreme& e : extremes->list()) {
    f.params.push_back(e.result);
    out.params.push_back({e.result->name, ParamRole::kOutput, of.dtype, {1}, Layout::identity({1})});
  }
  f = plan_storage(f, m.workers, &out.workspace_bytes);
  return out;
}

}  // namespace hone
