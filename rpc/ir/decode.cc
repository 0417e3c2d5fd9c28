// Tables are read front to back and every index must point to a part that is already built: no recursion, no cycles.
// Sizes are checked before anything is built from them.
#include "rpc/ir/decode.h"

#include <fmt/format.h>

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

#include "compiler/ir/check_types.h"
#include "ir.pb.h"

namespace hone {
namespace {

// Thrown inside this file only; decode() turns it into a Status.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args>
void check(bool ok, fmt::format_string<const Args&...> format, const Args&... args) {
  if (!ok) throw Malformed(fmt::format(format, args...));
}

DType dtype_of(uint32_t code) {
  const DType t{static_cast<TypeCode>(code >> 24), static_cast<uint8_t>(code >> 16), static_cast<uint16_t>(code)};
  check(code >> 24 < static_cast<uint32_t>(kTypeCodeCount) && is_valid(t), "type code {:#x} does not exist", code);
  return t;
}

class Decoder {
 public:
  Decoder(const proto::IrModule& in, const DecodeLimits& limits) : in_(in), limits_(limits) {}

  Module run() {
    check(in_.version() == kIrVersion, "version {} is not {}", in_.version(), kIrVersion);
    known("the message", in_);
    count("variables", in_.vars_size(), limits_.vars);
    count("buffers", in_.buffers_size(), limits_.buffers);
    count("expressions", in_.exprs_size(), limits_.exprs);
    count("statements", in_.stmts_size(), limits_.stmts);
    count("functions", in_.functions_size(), limits_.functions);
    count("kernels", in_.kernels_size(), limits_.functions);
    count("prepacks", in_.prepacks_size(), limits_.params);
    count("parameters", in_.params_size(), limits_.params);
    for (const proto::IrVar& v : in_.vars()) {
      known("variable", vars_.size(), v);
      const DType t = dtype_of(v.dtype());
      check(t == kIndex, "variable {} has type {}", vars_.size(), to_string(t));
      vars_.emplace_back(name(v.name()), t);
    }
    buffers_.resize(static_cast<size_t>(in_.buffers_size()));
    for (const proto::IrExpr& e : in_.exprs()) add_expr(e);
    for (int b = 0; b < in_.buffers_size(); ++b) buffer(static_cast<uint32_t>(b));
    for (const proto::IrStmt& s : in_.stmts()) add_stmt(s);
    return module();
  }

 private:
  // The cost of a node for a recursive walk.
  struct Extent {
    int depth = 1;
    int64_t size = 1;
    bool loads = false;
  };

  // Unknown fields are room for arbitrary bytes: a sender could choose the hash, or mean something else to a newer
  // version.
  static void known(std::string_view what, const google::protobuf::Message& m) {
    const google::protobuf::UnknownFieldSet& fields = m.GetReflection()->GetUnknownFields(m);
    if (!fields.empty())
      throw Malformed(fmt::format("{} has a field {}, which does not exist", what, fields.field(0).number()));
  }
  static void known(std::string_view what, size_t index, const google::protobuf::Message& m) {
    if (!m.GetReflection()->GetUnknownFields(m).empty()) known(fmt::format("{} {}", what, index), m);
  }

  static void count(const char* what, int have, int most) {
    check(have <= most, "{} {}, more than {}", have, what, most);
  }

  std::string name(const std::string& text) const {
    check(static_cast<int>(text.size()) <= limits_.name_bytes, "a name of {} bytes, more than {}", text.size(),
          limits_.name_bytes);
    check(std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
          "a name holds control characters");
    return text;
  }

  void join(Extent* to, const Extent& part) const {
    to->depth = std::max(to->depth, part.depth + 1);
    to->size = std::min(to->size + part.size, limits_.expanded_nodes + 1);
    to->loads |= part.loads;
  }

  const Expr& expr(uint32_t index) const {
    check(index < exprs_.size(), "expression {} is used before it is built", index);
    return exprs_[index];
  }

  const Var& variable(uint32_t index) const {
    check(index < vars_.size(), "variable {} does not exist", index);
    return vars_[index];
  }

  const Buffer& buffer(uint32_t index) {
    check(index < buffers_.size(), "buffer {} does not exist", index);
    Buffer& b = buffers_[index];
    if (b) return b;
    const proto::IrBuffer& in = in_.buffers(static_cast<int>(index));
    known("buffer", index, in);
    count("dimensions of a buffer", in.shape_size(), limits_.rank);
    check(in.shape_size() > 0, "buffer {} has no dimensions; a single element is a dimension of 1", index);
    check(in.scope() <= static_cast<uint32_t>(BufferScope::kShared), "scope {} does not exist", in.scope());
    std::vector<Expr> shape;
    for (uint32_t i : in.shape()) {
      shape.push_back(expr(i));
      check(!extents_[i].loads && extents_[i].size <= kMaxShapeNodes, "the shape of buffer {} is too complicated",
            index);
    }
    const DType t = dtype_of(in.dtype());
    auto made = make_buffer(name(in.name()), t, std::move(shape), static_cast<BufferScope>(in.scope()));
    if (const auto error = type_error(*made)) throw Malformed(*error);
    return b = std::move(made);
  }

  void add_expr(const proto::IrExpr& in) {
    known("expression", exprs_.size(), in);
    check(in.kind() <= static_cast<uint32_t>(ExprKind::kCall), "expression kind {} does not exist", in.kind());
    const auto kind = static_cast<ExprKind>(in.kind());
    const DType t = dtype_of(in.dtype());
    std::vector<Expr> operands;
    Extent extent;
    count("operands of an expression", in.operands_size(), limits_.rank);
    for (uint32_t i : in.operands()) {
      operands.push_back(expr(i));
      join(&extent, extents_[i]);
    }
    check(extent.depth <= limits_.expr_depth, "expressions nest deeper than {}", limits_.expr_depth);
    extent.loads |= kind == ExprKind::kLoad;
    Expr e = build(kind, t, in, std::move(operands));
    if (e->dtype != t)
      throw Malformed(
          fmt::format("expression {} has type {}, not {}", exprs_.size(), to_string(e->dtype), to_string(t)));
    if (const auto error = type_error(e)) throw Malformed(fmt::format("expression {}: {}", exprs_.size(), *error));
    exprs_.push_back(std::move(e));
    extents_.push_back(extent);
  }

  Expr build(ExprKind kind, DType t, const proto::IrExpr& in, std::vector<Expr> x) {
    const auto takes = [&](size_t n) {
      check(x.size() == n, "expression {} has {} operands, not {}", exprs_.size(), x.size(), n);
    };
    switch (kind) {
      case ExprKind::kIntImm: takes(0); return Expr(new IntImm(t, in.int_value()));
      case ExprKind::kFloatImm: takes(0); return Expr(new FloatImm(t, in.float_value()));
      case ExprKind::kVar: takes(0); return variable(in.ref());
      case ExprKind::kCast: takes(1); return Expr(new Cast(t, x[0]));
      case ExprKind::kBinary:
        takes(2);
        check(in.op() <= static_cast<uint32_t>(BinaryOp::kOr), "operator {} does not exist", in.op());
        return Expr(new Binary(static_cast<BinaryOp>(in.op()), t, x[0], x[1]));
      case ExprKind::kNot: takes(1); return Expr(new Not(x[0]));
      case ExprKind::kSelect: takes(3); return Expr(new Select(x[0], x[1], x[2]));
      case ExprKind::kLoad: return load(buffer(in.ref()), std::move(x));
      case ExprKind::kRamp: takes(2); return Expr(new Ramp(x[0], x[1], t.lanes));
      case ExprKind::kBroadcast: takes(1); return Expr(new Broadcast(x[0], t.lanes));
      case ExprKind::kCall:
        check(in.op() < static_cast<uint32_t>(kIntrinsicCount), "function {} does not exist", in.op());
        return Expr(new Call(t, static_cast<Intrinsic>(in.op()), std::move(x)));
    }
    throw Malformed("unreachable kind");
  }

  void add_stmt(const proto::IrStmt& in) {
    known("statement", stmts_.size(), in);
    check(in.kind() <= static_cast<uint32_t>(StmtKind::kPrefetch), "statement kind {} does not exist", in.kind());
    std::vector<Expr> exprs;
    std::vector<Stmt> stmts;
    Extent extent;
    int64_t size = 1;
    const auto add_size = [&](int64_t n) { size = std::min(size + n, limits_.expanded_nodes + 1); };
    count("operands of a statement", in.exprs_size(), limits_.rank + 2);
    for (uint32_t i : in.exprs()) {
      exprs.push_back(expr(i));
      add_size(extents_[i].size);
    }
    for (uint32_t i : in.stmts()) {
      check(i < stmts_.size(), "statement {} is used before it is built", i);
      stmts.push_back(stmts_[i]);
      extent.depth = std::max(extent.depth, stmt_extents_[i].depth + 1);
      add_size(stmt_extents_[i].size);
    }
    check(extent.depth <= limits_.stmt_depth, "statements nest deeper than {}", limits_.stmt_depth);
    extent.size = size;
    Stmt s = build(in, exprs, std::move(stmts));
    if (const auto error = type_error(s)) throw Malformed(fmt::format("statement {}: {}", stmts_.size(), *error));
    if (s->kind == StmtKind::kAllocate) extent.size += kMaxShapeNodes;
    stmts_.push_back(std::move(s));
    stmt_extents_.push_back(extent);
  }

  Stmt build(const proto::IrStmt& in, std::vector<Expr>& x, std::vector<Stmt> s) {
    const auto takes = [&](size_t exprs, size_t least, size_t most) {
      check(x.size() == exprs && s.size() >= least && s.size() <= most,
            "statement {} has {} expressions and {} statements", stmts_.size(), x.size(), s.size());
    };
    switch (static_cast<StmtKind>(in.kind())) {
      case StmtKind::kFor:
        takes(2, 1, 1);
        check(in.loop_kind() < static_cast<uint32_t>(kLoopKindCount), "loop kind {} does not exist", in.loop_kind());
        return make_for(variable(in.ref()), x[0], x[1], static_cast<LoopKind>(in.loop_kind()), s[0]);
      case StmtKind::kStore: {
        check(in.loop_kind() <= 1 && x.size() >= 1 + in.loop_kind() && s.empty(), "statement {} is not a store",
              stmts_.size());
        const Expr mask = in.loop_kind() ? x[1] : Expr();
        return make_store(buffer(in.ref()), {x.begin() + 1 + in.loop_kind(), x.end()}, x[0], mask);
      }
      case StmtKind::kSeq: takes(0, 0, static_cast<size_t>(limits_.stmts)); return Stmt(new Seq(std::move(s)));
      case StmtKind::kIf: takes(1, 1, 2); return Stmt(new If(x[0], s[0], s.size() > 1 ? s[1] : Stmt()));
      case StmtKind::kAllocate: takes(0, 1, 1); return make_allocate(buffer(in.ref()), in.offset(), s[0]);
      case StmtKind::kPrefetch:
        check(!x.empty() && s.empty(), "statement {} is not a prefetch", stmts_.size());
        return make_prefetch(buffer(in.ref()), std::move(x));
      case StmtKind::kBarrier: break;  // not part of loop form: add_stmt has refused it
    }
    throw Malformed("unreachable kind");
  }

  Function function(uint32_t index) {
    check(index < static_cast<uint32_t>(in_.functions_size()), "function {} does not exist", index);
    const proto::IrFunction& in = in_.functions(static_cast<int>(index));
    known("function", index, in);
    Function f;
    f.name = name(in.name());
    count("parameters of a function", in.params_size(), limits_.params);
    count("shape variables of a function", in.shape_vars_size(), limits_.params);
    for (uint32_t b : in.params()) f.params.push_back(buffer(b));
    for (uint32_t v : in.shape_vars()) f.shape_vars.push_back(variable(v));
    check(in.body() < stmts_.size(), "statement {} does not exist", in.body());
    f.body = stmts_[in.body()];
    expanded_ += stmt_extents_[in.body()].size + kMaxShapeNodes * in.params_size();
    check(expanded_ <= limits_.expanded_nodes, "more than {} nodes, shared ones counted at each use",
          limits_.expanded_nodes);
    return f;
  }

  Param param(const proto::IrParam& in) const {
    Param p;
    p.name = name(in.name());
    known(fmt::format("parameter '{}'", p.name), in);
    check(in.role() <= static_cast<uint32_t>(ParamRole::kOutput), "role {} does not exist", in.role());
    p.role = static_cast<ParamRole>(in.role());
    p.dtype = dtype_of(in.dtype());
    check(!p.dtype.is_vector(), "parameter '{}' has type {}", p.name, to_string(p.dtype));
    count("dimensions of a parameter", in.shape_size(), limits_.rank);
    check(in.shape_size() > 0, "parameter '{}' has no dimensions; a single element is a dimension of 1", p.name);
    count("dimensions of a layout", in.layout_size(), limits_.layout_dims);
    p.shape.assign(in.shape().begin(), in.shape().end());
    for (int64_t n : p.shape) check(n >= 0, "parameter '{}' has extent {}", p.name, n);
    for (const proto::IrLayoutDim& d : in.layout()) {
      known(fmt::format("the layout of parameter '{}'", p.name), d);
      check(d.axis() < p.shape.size() && d.stride() >= 1 && d.extent() >= 0,
            "parameter '{}' has a layout that is out of range", p.name);
      p.layout.dims.push_back({static_cast<int>(d.axis()), d.stride(), d.extent()});
    }
    return p;
  }

  Module module() {
    Module m;
    for (uint32_t f : in_.kernels()) m.kernels.push_back(function(f));
    for (const proto::IrPrepack& p : in_.prepacks()) {
      known("prepack", m.prepacks.size(), p);
      check(p.param() < static_cast<uint32_t>(in_.params_size()), "parameter {} does not exist", p.param());
      m.prepacks.push_back({static_cast<int>(p.param()), function(p.function())});
    }
    for (const proto::IrParam& p : in_.params()) m.params.push_back(param(p));
    check(in_.workspace_bytes() >= 0, "a workspace of {} bytes", in_.workspace_bytes());
    check(in_.workers() <= 1 << 16 && in_.vector_bits() <= 1 << 16, "{} workers, {} vector bits", in_.workers(),
          in_.vector_bits());
    check(in_.partition() <= static_cast<uint32_t>(Partition::kDynamic), "partition {} does not exist",
          in_.partition());
    m.workspace_bytes = in_.workspace_bytes();
    m.workers = static_cast<int>(in_.workers());
    m.vector_bits = static_cast<int>(in_.vector_bits());
    m.partition = static_cast<Partition>(in_.partition());
    return m;
  }

  static constexpr int64_t kMaxShapeNodes = 64;

  const proto::IrModule& in_;
  const DecodeLimits& limits_;
  std::vector<Var> vars_;
  std::vector<Buffer> buffers_;
  std::vector<Expr> exprs_;
  std::vector<Extent> extents_;
  std::vector<Stmt> stmts_;
  std::vector<Extent> stmt_extents_;
  int64_t expanded_ = 0;
};

}  // namespace

StatusOr<Module> decode(std::string_view bytes, const DecodeLimits& limits) {
  const auto invalid = [](std::string_view why) { return absl::InvalidArgumentError(fmt::format("module: {}", why)); };
  try {
    if (bytes.size() > limits.bytes) return invalid(fmt::format("{} bytes, more than {}", bytes.size(), limits.bytes));
    proto::IrModule message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return invalid("the bytes are not an IrModule");
    return Decoder(message, limits).run();
  } catch (const std::exception& e) {
    return invalid(e.what());
  }
}

}  // namespace hone
