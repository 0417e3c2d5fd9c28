#include "compiler/ops/reference_elementwise.h"

#include <cmath>
#include <functional>

#include "base/check.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

// exp, log, tanh and erf of a kernel may be off by this many u, relative: 4 ulp, twice what codegen promises.
constexpr double kFunctionUnits = 8;

Expr real(double v) { return make_const(v, f64); }
Expr size_of(const Expr& e) { return call(Intrinsic::kAbs, {e}); }

struct Rounded {
  Expr value;  // f64
  Expr error;  // in u
};

// What a stage holds: a stack buffer of one element each for value and error.
struct StageSlot {
  const BufferNode* buffer;
  Buffer value, error;
};

class Evaluator {
 public:
  Evaluator(const std::vector<StageSlot>& slots, const std::vector<std::pair<Buffer, Buffer>>& flat)
      : slots_(slots), flat_(flat) {}

  Rounded operator()(const Expr& e) const {
    switch (e->kind) {
      case ExprKind::kFloatImm: {
        const double v = as<FloatImm>(e)->value;
        return {real(v), real(static_cast<double>(static_cast<float>(v)) == v ? 0 : std::fabs(v))};
      }
      case ExprKind::kLoad: return loaded(as<Load>(e));
      case ExprKind::kBinary: return binary_of(as<Binary>(e));
      case ExprKind::kCall: return call_of(as<Call>(e));
      default: break;
    }
    HONE_ICHECK(false) << "reference: unexpected expression in an elementwise stage";
    return {};
  }

 private:
  Rounded loaded(const Load* op) const {
    for (const StageSlot& s : slots_)
      if (s.buffer == op->buffer.get()) return {load(s.value, {make_int(0)}), load(s.error, {make_int(0)})};
    for (const auto& [from, to] : flat_) {
      if (!from.same_as(op->buffer)) continue;
      Expr index = make_int(0);
      for (size_t d = 0; d < op->indices.size(); ++d) index = index * from->shape[d] + op->indices[d];
      return {cast(f64, load(to, {index})), real(0)};
    }
    HONE_ICHECK(false) << "reference: buffer '" << op->buffer->name << "' is unknown";
    return {};
  }

  Rounded binary_of(const Binary* op) const {
    const Rounded a = (*this)(op->a), b = (*this)(op->b);
    const Expr v = binary(op->op, a.value, b.value);
    switch (op->op) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub: return {v, a.error + b.error + size_of(v)};
      case BinaryOp::kMul: return {v, size_of(a.value) * b.error + size_of(b.value) * a.error + size_of(v)};
      case BinaryOp::kDiv: return {v, (a.error + size_of(v) * b.error) / size_of(b.value) + size_of(v)};
      case BinaryOp::kMin:
      case BinaryOp::kMax: return {v, max(a.error, b.error)};
      default: break;
    }
    HONE_ICHECK(false) << "reference: " << symbol_of(op->op) << " in an elementwise stage";
    return {};
  }

  Rounded call_of(const Call* op) const {
    const Rounded x = (*this)(op->args[0]);
    const Expr v = call(op->function, {x.value});
    const Expr own = size_of(v) * real(kFunctionUnits);
    switch (op->function) {
      case Intrinsic::kAbs: return {v, x.error};
      // x.error / (2 sqrt x), where sqrt x is not so small that the division says nothing.
      case Intrinsic::kSqrt: return {v, x.error / max(v * real(2), real(1e-300)) + v};
      case Intrinsic::kExp: return {v, v * x.error + own};
      case Intrinsic::kLog: return {v, x.error / size_of(x.value) + own};
      // Their slopes are at most 1 and 2 / sqrt(pi).
      case Intrinsic::kTanh: return {v, x.error + own};
      case Intrinsic::kErf: return {v, x.error * real(1.1284) + own};
      default: break;
    }
    HONE_ICHECK(false) << "reference: " << name_of(op->function) << " in an elementwise stage";
    return {};
  }

  const std::vector<StageSlot>& slots_;
  const std::vector<std::pair<Buffer, Buffer>>& flat_;
};

}  // namespace

Stmt elementwise_reference(const Definition& d, const std::vector<std::pair<Buffer, Buffer>>& flat,
                           const std::vector<Expr>& coordinate, const Buffer& value, const Buffer& magnitude,
                           const Expr& at) {
  std::vector<StageSlot> slots;
  std::vector<Stmt> body;
  const std::function<void(const TensorNode*)> evaluate = [&](const TensorNode* t) {
    if (t->is_placeholder()) return;
    for (const StageSlot& s : slots)
      if (s.buffer == t->buffer.get()) return;
    for (const auto& in : t->inputs) evaluate(in.get());
    VarMap map;
    for (size_t i = 0; i < coordinate.size(); ++i) map.emplace_back(t->axes[i].var.get(), coordinate[i]);
    const Rounded r = Evaluator(slots, flat)(substitute(t->body, map));
    StageSlot slot{t->buffer.get(), make_buffer(t->name, f64, std::vector<int64_t>{1}, BufferScope::kStack),
                   make_buffer(t->name + "_error", f64, std::vector<int64_t>{1}, BufferScope::kStack)};
    body.push_back(make_store(slot.value, {make_int(0)}, r.value));
    body.push_back(make_store(slot.error, {make_int(0)}, r.error));
    slots.push_back(std::move(slot));
  };
  evaluate(d.output.node().get());
  body.push_back(make_store(value, {at}, load(slots.back().value, {make_int(0)})));
  body.push_back(make_store(magnitude, {at}, load(slots.back().error, {make_int(0)})));
  Stmt all = make_seq(std::move(body));
  for (const StageSlot& s : slots) all = make_allocate(s.value, -1, make_allocate(s.error, -1, all));
  return all;
}

}  // namespace hone
