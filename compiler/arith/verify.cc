#include "compiler/arith/verify.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/arith/access_proof.h"
#include "compiler/arith/lanes.h"
#include "compiler/ir/check_types.h"
#include "compiler/ir/printer.h"

namespace hone {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int kMaxWorkers = 4096, kMaxVectorBits = 2048;
// Vectors have at least four lanes: a vector loop becomes at most a quarter of its extent in statements.
constexpr int64_t kFewestLanes = 4;

// The context of a function: limits that its own text does not give.
struct Surroundings {
  bool in_module = false;
  int64_t workspace_bytes = 0;
  int workers = 1;
  std::vector<bool> may_store;  // by parameter
};

class Verifier {
 public:
  Verifier(const Function& f, const VerifyOptions& options, Surroundings around)
      : function_(f), options_(options), around_(std::move(around)) {}

  std::vector<Unproved> run() {
    for (const Var& v : function_.shape_vars) {
      require(v && v->dtype == kIndex, "a shape variable is not an index");
      require(vars_.insert(v.get()).second, "shape variable '{}' is listed twice", v->name);
    }
    for (const Buffer& b : function_.params) {
      require(static_cast<bool>(b), "a parameter is null");
      require(b->scope == BufferScope::kParam, "parameter '{}' has scope {}", b->name, name_of(b->scope));
      check_buffer(b);
      require(buffers_.insert(b.get()).second, "parameter '{}' is listed twice", b->name);
    }
    require(static_cast<bool>(function_.body), "the body is null");
    visit(function_.body);
    return std::move(unproved_);
  }

 private:
  template <class... Args>
  void require(bool ok, fmt::format_string<const Args&...> format, const Args&... args) {
    if (!ok) fail(fmt::format(format, args...));
  }

  [[noreturn]] void fail(const std::string& what) {
    std::string loops;
    for (const For* op : loops_) loops += (loops.empty() ? ", in loop " : ".") + op->var->name;
    throw UserError(fmt::format("function '{}'{}: {}", function_.name, loops, what));
  }

  // --- buffers ---

  void check_buffer(const Buffer& b) {
    for (const Expr& n : b->shape) {
      require(static_cast<bool>(n), "an extent of buffer '{}' is null", b->name);
      visit(n);
    }
    if (const auto error = type_error(*b)) fail(*error);
    for (const Expr& n : b->shape) {
      const auto extent = as_const_int(n);
      require(!extent || *extent >= 0, "buffer '{}' has extent {}", b->name, extent.value_or(0));
    }
  }

  // Bytes of `b`; nothing when an extent is not constant.
  std::optional<int64_t> size_of(const Buffer& b) {
    std::vector<int64_t> extents;
    for (const Expr& n : b->shape) {
      const auto extent = as_const_int(n);
      if (!extent) return std::nullopt;
      extents.push_back(*extent);
    }
    return element_count(extents) * b->dtype.bytes();
  }

  void visit_allocate(const Allocate* op) {
    const Buffer& b = op->buffer;
    require(b && op->body, "an allocation is incomplete");
    count_branches();
    require(b->scope != BufferScope::kParam, "buffer '{}' with scope param is allocated", b->name);
    check_buffer(b);
    require(buffers_.insert(b.get()).second, "buffer '{}' is allocated inside its own allocation", b->name);
    const auto bytes = size_of(b);
    const size_t lives = workspace_.size();
    if (b->scope == BufferScope::kStack) {
      require(bytes.has_value(), "stack buffer '{}' has no constant size", b->name);
      stack_bytes_ += *bytes;
      require(stack_bytes_ <= options_.max_stack_bytes,
              "stack buffers up to '{}' take {} bytes; at most {} are allowed", b->name, stack_bytes_,
              options_.max_stack_bytes);
    } else if (b->scope == BufferScope::kShared) {
      require(bytes.has_value(), "shared buffer '{}' has no constant size", b->name);
      require_outside(b, LoopKind::kThread);
      shared_bytes_ += *bytes;
      require(shared_bytes_ <= options_.max_shared_bytes,
              "shared buffers up to '{}' take {} bytes; at most {} are allowed", b->name, shared_bytes_,
              options_.max_shared_bytes);
    } else {
      require_outside(b, LoopKind::kThread);
      require_outside(b, LoopKind::kBlock);
      if (op->offset != -1 || around_.in_module) position(b, op->offset, bytes);
    }
    visit(op->body);
    workspace_.resize(lives);
    buffers_.erase(b.get());
  }

  // A workspace buffer at `offset`, apart from those it lives in.
  void position(const Buffer& b, int64_t offset, std::optional<int64_t> bytes) {
    require(bytes.has_value(), "workspace buffer '{}' has no constant size", b->name);
    require(offset >= 0 && offset % kAlignment == 0,
            "workspace buffer '{}' lies at offset {}, which is no multiple of {}", b->name, offset, kAlignment);
    const int64_t copies = in_parallel_ ? around_.workers : 1;
    // At most 2^51 bytes a worker and 2^12 workers: no overflow.
    const int64_t end_of_copies = copies * ceil_div(*bytes, kAlignment) * kAlignment;
    require(!around_.in_module || end_of_copies <= around_.workspace_bytes - offset,
            "workspace buffer '{}' of {} bytes at offset {} for {} workers ends outside the workspace of {} bytes",
            b->name, *bytes, offset, copies, around_.workspace_bytes);
    for (const Life& other : workspace_)
      require(offset >= other.end || other.begin >= offset + end_of_copies,
              "workspace buffer '{}' overlaps '{}', which is alive", b->name, other.buffer->name);
    workspace_.push_back({offset, offset + end_of_copies, b.get()});
  }

  // --- expressions ---

  void visit(const Expr& e) {
    require(static_cast<bool>(e), "an expression is null");
    nodes_ += copies_;
    require(nodes_ <= options_.max_unrolled_nodes, "unrolled and vector loops make expressions of more than {} nodes",
            options_.max_unrolled_nodes);
    switch (e->kind) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm: break;
      case ExprKind::kVar:
        require(vars_.count(as<VarNode>(e)) > 0, "variable '{}' is used outside its loop", as<VarNode>(e)->name);
        break;
      case ExprKind::kCast: visit(as<Cast>(e)->value); break;
      case ExprKind::kBinary:
        visit(as<Binary>(e)->a);
        visit(as<Binary>(e)->b);
        break;
      case ExprKind::kNot: visit(as<Not>(e)->value); break;
      case ExprKind::kSelect: return visit_select(as<Select>(e));
      case ExprKind::kLoad: return visit_load(e);
      case ExprKind::kRamp:
        visit(as<Ramp>(e)->base);
        visit(as<Ramp>(e)->stride);
        break;
      case ExprKind::kBroadcast: visit(as<Broadcast>(e)->value); break;
      case ExprKind::kCall:
        for (const Expr& a : as<Call>(e)->args) visit(a);
        break;
    }
    check_type(e);
    if (const Binary* op = as<Binary>(e); op && (op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod))
      check_divisor(e, op->b);
  }

  void check_type(const Expr& e) {
    if (const auto error = type_error(e)) fail(*error);
  }

  static bool is_positive_constant(const Expr& e) {
    const auto value = as_const_int(as<Broadcast>(e) ? as<Broadcast>(e)->value : e);
    return value && *value >= 1;
  }

  // Division by 0, and of the lowest value by -1, is undefined in machine code.
  void check_divisor(const Expr& e, const Expr& divisor) {
    const Expr d = as<Broadcast>(divisor) ? as<Broadcast>(divisor)->value : divisor;
    if (const auto value = as_const_int(d))
      return require(*value != 0 && *value != -1, "the divisor in {} is {}", to_string(e), *value);
    // max(element, 1), of any type.
    if (const Binary* op = as<Binary>(d); op && op->op == BinaryOp::kMax)
      for (const Expr& side : {op->a, op->b})
        if (is_positive_constant(side)) return;
    const Interval range = d->dtype == kIndex ? prover_.bounds(d) : Interval{};
    require(range.lo >= 1 || range.hi <= -2, "the divisor in {} may be 0 or -1", to_string(e));
  }

  void visit_select(const Select* op) {
    visit(op->condition);
    for (const Expr& side : {op->on_true, op->on_false}) {
      const bool truth = side.same_as(op->on_true);
      const auto scope = prover_.push_condition(lane_value(op->condition), truth);
      visit(side);
      prover_.pop(scope);
    }
    check_type(Expr(op));
  }

  void visit_load(const Expr& e) {
    const Load* op = as<Load>(e);
    check_declared(op->buffer);
    for (const Expr& i : op->indices) visit(i);
    check_type(e);
    check_access(op->buffer, op->indices, op);
  }

  // --- accesses ---

  void check_declared(const Buffer& b) {
    require(static_cast<bool>(b), "a buffer is null");
    require(buffers_.count(b.get()) > 0, "buffer '{}' is used outside its allocation", b->name);
  }

  Expr lane_value(const Expr& e) const { return e->dtype.is_vector() ? lane_of(e, lane_) : e; }

  void check_access(const Buffer& b, const std::vector<Expr>& indices, const void* node) {
    std::vector<Expr> scalars;
    for (const Expr& i : indices) scalars.push_back(lane_value(i));
    const auto verdict = prover_.check(scalars, b->shape);
    if (verdict == AccessProver::Verdict::kProved) return;
    const std::string text = to_string(load(b, indices));
    if (verdict == AccessProver::Verdict::kWrong) {
      const std::string shape =
          absl::StrJoin(b->shape, ", ", [](std::string* out, const Expr& n) { *out += to_string(n); });
      fail(fmt::format("{} is out of bounds: '{}' has shape [{}]", text, b->name, shape));
    }
    if (listed_.insert(node).second) unproved_.push_back({text, node});
  }

  // --- statements ---

  void visit(const Stmt& s) {
    require(static_cast<bool>(s), "a statement is null");
    switch (s->kind) {
      case StmtKind::kFor: return visit_for(as<For>(s));
      case StmtKind::kStore: return visit_store(s);
      case StmtKind::kSeq:
        for (const Stmt& child : as<Seq>(s)->stmts) visit(child);
        return;
      case StmtKind::kIf: return visit_if(s);
      case StmtKind::kAllocate: return visit_allocate(as<Allocate>(s));
      case StmtKind::kPrefetch: return visit_prefetch(s);
      case StmtKind::kBarrier: fail("a barrier is not part of loop form");
    }
  }

  void check_nesting(const For& outer, const For& inner) {
    using enum LoopKind;
    const bool wrong =
        (outer.loop == kParallel && (inner.loop == kParallel || inner.loop == kBlock || inner.loop == kThread)) ||
        (outer.loop == kThread && (inner.loop == kParallel || inner.loop == kBlock)) ||
        (outer.loop == kBlock && inner.loop == kParallel);
    require(!wrong, "{} loop '{}' lies inside {} loop '{}'", name_of(inner.loop), inner.var->name, name_of(outer.loop),
            outer.var->name);
  }
  // `b` is not allocated inside a loop of that kind.
  void require_outside(const Buffer& b, LoopKind kind) {
    for (const For* loop : loops_)
      require(loop->loop != kind, "{} buffer '{}' lies inside {} loop '{}'", name_of(b->scope), b->name, name_of(kind),
              loop->var->name);
  }

  void visit_for(const For* op) {
    require(static_cast<bool>(op->var), "a loop has no variable");
    visit(op->min);
    visit(op->extent);
    if (const auto error = type_error(Stmt(op))) fail(*error);
    require(vars_.insert(op->var.get()).second, "loop '{}' lies inside a loop over the same variable", op->var->name);
    for (const For* outer : loops_) {
      require(outer->loop != LoopKind::kVectorize, "vector loop '{}' contains loop '{}'; it may contain none",
              outer->var->name, op->var->name);
      check_nesting(*outer, *op);
    }
    const bool copies = op->loop == LoopKind::kUnroll || op->loop == LoopKind::kVectorize;
    const auto extent = as_const_int(op->extent);
    require(!copies || extent, "{} loop '{}' has no constant extent",
            op->loop == LoopKind::kUnroll ? "unrolled" : "vector", op->var->name);
    const int64_t outer_copies = copies_;
    if (copies) {
      const int64_t n = std::max<int64_t>(
          op->loop == LoopKind::kUnroll ? *extent : ceil_div(std::max<int64_t>(*extent, 0), kFewestLanes), 1);
      const int64_t too_many = most_branches() + 1;  // capped, so that no product of two overflows
      copies_ = n >= too_many ? too_many : std::min(copies_ * n, too_many);
    }
    const bool outer_parallel = in_parallel_;
    in_parallel_ |= op->loop == LoopKind::kParallel;
    const auto scope = prover_.push_loop(op->var.get(), op->min, op->extent);
    loops_.push_back(op);
    count_branches();  // also for an empty loop: copying it takes time and memory
    visit(op->body);
    loops_.pop_back();
    prover_.pop(scope);
    in_parallel_ = outer_parallel;
    copies_ = outer_copies;
    vars_.erase(op->var.get());
  }

  void visit_if(const Stmt& s) {
    const If* op = as<If>(s);
    count_branches();
    visit(op->condition);
    if (const auto error = type_error(s)) fail(*error);
    auto scope = prover_.push_condition(op->condition, true);
    visit(op->then_case);
    prover_.pop(scope);
    if (!op->else_case) return;
    scope = prover_.push_condition(op->condition, false);
    visit(op->else_case);
    prover_.pop(scope);
  }

  void count_copies() {
    statements_ += copies_;
    require(statements_ <= options_.max_unrolled_statements, "unrolled and vector loops make more than {} statements",
            options_.max_unrolled_statements);
  }

  // A nest of unrolled loops around a store makes several loops and branches.
  int64_t most_branches() const { return 4 * options_.max_unrolled_statements; }

  void count_branches() {
    branches_ += copies_;
    require(branches_ <= most_branches(), "unrolled and vector loops make more than {} loops and branches",
            most_branches());
  }

  // A prefetch is no access: its address is not checked.
  void visit_prefetch(const Stmt& s) {
    const Prefetch* op = as<Prefetch>(s);
    check_declared(op->buffer);
    count_copies();
    for (const Expr& i : op->indices) visit(i);
    if (const auto error = type_error(s)) fail(*error);
  }

  void visit_store(const Stmt& s) {
    const Store* op = as<Store>(s);
    check_declared(op->buffer);
    count_copies();
    for (size_t i = 0; i < around_.may_store.size(); ++i)
      require(around_.may_store[i] || !function_.params[i].same_as(op->buffer),
              "a value is stored to '{}', which is not an output", op->buffer->name);
    require(static_cast<bool>(op->value), "a stored value is null");
    // The proofs are about one arbitrary lane.
    const int lanes = op->value->dtype.lanes;
    const Var lane("lane");
    lane_ = lane;
    AccessProver::Scope lanes_scope, mask_scope;
    if (lanes > 1) lanes_scope = prover_.push_loop(lane.get(), make_int(0), make_int(lanes));
    if (op->mask) {
      visit(op->mask);
      mask_scope = prover_.push_condition(lane_value(op->mask), true);
    }
    for (const Expr& i : op->indices) visit(i);
    visit(op->value);
    if (const auto error = type_error(s)) fail(*error);
    check_access(op->buffer, op->indices, op);
    if (op->mask) prover_.pop(mask_scope);
    if (lanes > 1) prover_.pop(lanes_scope);
    lane_ = nullptr;
  }

  struct Life {
    int64_t begin, end;
    const BufferNode* buffer;
  };

  const Function& function_;
  const VerifyOptions& options_;
  const Surroundings around_;
  AccessProver prover_;
  Expr lane_;
  std::set<const VarNode*> vars_;
  std::set<const BufferNode*> buffers_;
  std::vector<const For*> loops_;
  std::vector<Life> workspace_;
  bool in_parallel_ = false;
  int64_t copies_ = 1, statements_ = 0, branches_ = 0, nodes_ = 0, stack_bytes_ = 0, shared_bytes_ = 0;
  std::set<const void*> listed_;
  std::vector<Unproved> unproved_;
};

bool is_identifier(const std::string& name) {
  const auto letter = [](unsigned char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// The elements of parameter `b` of a kernel; UserError when they are not constant.
int64_t elements_of(const Function& f, const Buffer& b) {
  std::vector<int64_t> extents;
  for (const Expr& n : b->shape) {
    const auto extent = as_const_int(n);
    HONE_USER_CHECK(extent) << "function '" << f.name << "': parameter '" << b->name << "' has no constant size";
    extents.push_back(*extent);
  }
  return element_count(extents);
}

void check_param(const Param& p) {
  HONE_USER_CHECK(is_valid(p.dtype) && !p.dtype.is_vector()) << "parameter '" << p.name << "' has no scalar type";
  try {
    element_count(p.shape);
    p.layout.validate(p.shape);
  } catch (const UserError& e) {
    throw UserError(fmt::format("parameter '{}': {}", p.name, e.what()));
  }
}

void check_prepack(const Module& m, const Prepack& p) {
  HONE_USER_CHECK(p.param >= 0 && p.param < static_cast<int>(m.params.size()))
      << "a prepack is for parameter " << p.param << " of " << m.params.size();
  const Param& param = m.params[static_cast<size_t>(p.param)];
  HONE_USER_CHECK(param.role == ParamRole::kConstant)
      << "parameter '" << param.name << "' has a prepack and is not a constant";
  const Function& f = p.function;
  HONE_USER_CHECK(f.params.size() >= 2) << "prepack '" << f.name << "' takes " << f.params.size()
                                        << " tensors, not a logical one and those packed from it";
  for (const Buffer& b : f.params) HONE_USER_CHECK(b) << "prepack '" << f.name << "': a tensor is null";
  HONE_USER_CHECK(f.params[0]->dtype == param.dtype && elements_of(f, f.params[0]) == element_count(param.shape))
      << "prepack '" << f.name << "' does not take parameter '" << param.name << "' as it is";
  for (size_t i = 1; i < f.params.size(); ++i)
    HONE_USER_CHECK(elements_of(f, f.params[i]) > 0)
        << "prepack '" << f.name << "': '" << f.params[i]->name << "' has no elements";
}

// A kernel's parameters must be those of kernel_arguments().
void check_kernel_params(const Module& m, const Function& f) {
  const std::vector<KernelArgument> arguments = kernel_arguments(m);
  HONE_USER_CHECK(f.params.size() == arguments.size())
      << "function '" << f.name << "' takes " << f.params.size() << " tensors, not the module's " << arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const KernelArgument& a = arguments[i];
    const std::string& name = m.params[a.param].name;
    HONE_USER_CHECK(f.params[i]) << "function '" << f.name << "': a parameter is null";
    HONE_USER_CHECK(f.params[i]->dtype == a.dtype) << "function '" << f.name << "' takes '" << name << "' as "
                                                   << to_string(f.params[i]->dtype) << ", not " << to_string(a.dtype);
    const int64_t taken = elements_of(f, f.params[i]), elements = element_count(a.shape);
    HONE_USER_CHECK(taken == elements) << "function '" << f.name << "' takes '" << name << "' with " << taken
                                       << " elements, not " << elements;
  }
}

void check_header(const Module& m, const VerifyOptions& options) {
  HONE_USER_CHECK(!m.kernels.empty()) << "the module has no kernel";
  HONE_USER_CHECK(m.workers >= 1 && m.workers <= kMaxWorkers)
      << "the module is for " << m.workers << " workers; allowed: 1 to " << kMaxWorkers;
  HONE_USER_CHECK(m.vector_bits >= 0 && m.vector_bits <= kMaxVectorBits && m.vector_bits % 64 == 0)
      << "the module prefers vectors of " << m.vector_bits << " bits";
  HONE_USER_CHECK(m.workspace_bytes >= 0 && m.workspace_bytes <= options.max_workspace_bytes)
      << "the module takes a workspace of " << m.workspace_bytes << " bytes; at most " << options.max_workspace_bytes
      << " are allowed";
  for (const Param& p : m.params) check_param(p);
  HONE_USER_CHECK(std::any_of(m.params.begin(), m.params.end(), [](const Param& p) {
    return p.role == ParamRole::kOutput;
  })) << "the module has no output";
  std::set<int> packed;
  for (const Prepack& p : m.prepacks) {
    check_prepack(m, p);
    HONE_USER_CHECK(packed.insert(p.param).second)
        << "parameter '" << m.params[static_cast<size_t>(p.param)].name << "' has two prepacks";
  }
  std::set<std::string> names;
  for (const Function& f : m.kernels) {
    HONE_USER_CHECK(is_identifier(f.name)) << "function '" << f.name << "' has a name that is not an identifier";
    HONE_USER_CHECK(names.insert(f.name).second) << "two kernels are named '" << f.name << "'";
    HONE_USER_CHECK(f.shape_vars.empty())
        << "function '" << f.name << "' has shape variables, which modules do not take yet";
    check_kernel_params(m, f);
  }
  for (const Prepack& p : m.prepacks)
    HONE_USER_CHECK(p.function.shape_vars.empty()) << "prepack '" << p.function.name << "' has shape variables";
}

}  // namespace

std::vector<Unproved> verify(const Function& f, const VerifyOptions& options) { return Verifier(f, options, {}).run(); }

std::vector<Unproved> verify(const Module& m, const VerifyOptions& options) {
  check_header(m, options);
  Surroundings around{true, m.workspace_bytes, m.workers, {}};
  for (const KernelArgument& a : kernel_arguments(m))
    around.may_store.push_back(m.params[a.param].role == ParamRole::kOutput);
  std::vector<Unproved> all;
  const auto add = [&](const Function& f) {
    auto found = Verifier(f, options, around).run();
    std::move(found.begin(), found.end(), std::back_inserter(all));
  };
  for (const Function& f : m.kernels) add(f);
  for (const Prepack& p : m.prepacks) {
    around.may_store.assign(p.function.params.size(), true);
    around.may_store[0] = false;
    add(p.function);
  }
  return all;
}

}  // namespace hone
