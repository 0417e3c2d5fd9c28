#include "compiler/codegen/c/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "compiler/codegen/c/emit_blocks.h"
#include "compiler/codegen/c/emit_expr.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/captures.h"
#include "compiler/ir/queries.h"

namespace hone {
namespace {

constexpr int64_t kBufferAlignment = 64;  // bytes

int64_t rounded_bytes(const BufferNode* b) { return ceil_div(elements_of(b) * b->dtype.lane_bytes(), 64) * 64; }

// One C function: a kernel's body, or a parallel loop's.
class FunctionWriter {
 public:
  /// Functions that it needs go to `outlined`.
  FunctionWriter(const Module& m, Helpers& helpers, const std::vector<bool>& apart, const std::vector<Buffer>& params,
                 const std::string& name, std::string* outlined)
      : module_(m), helpers_(helpers), apart_(apart), params_(params), name_(name), outlined_(outlined) {
    for (const char* word : {"workspace", "rt", "begin", "end", "worker", "closure", "c", "code", "hone"})
      names_.fresh(word);
  }

  std::string kernel(const Function& f) {
    std::string params;
    for (const Buffer& p : f.params) params += pointer(p.get()) + ", ";
    std::string out = fmt::format("static int32_t {}({}char* workspace, const HoneRuntime* rt) {{\n", name_, params);
    out += "  (void)workspace;\n  (void)rt;\n";
    for (const Buffer& p : f.params) out += fmt::format("  (void){};\n", exprs_.name_of(p.get()));
    statement(f.body);
    return out + lines_.take() + "  return HONE_OK;\n}\n\n";
  }

 private:
  // `const f32_element* restrict x`
  std::string pointer(const BufferNode* b) {
    const bool is_apart = [&] {
      for (size_t i = 0; i < params_.size(); ++i)
        if (params_[i].get() == b) return static_cast<bool>(apart_[i]);
      return false;
    }();
    return fmt::format("{}_element* {}{}", helpers_.memory(b->dtype), is_apart ? "restrict " : "", exprs_.name_of(b));
  }

  void statement(const Stmt& s) {
    if (is_blocks(s)) return;
    switch (s->kind) {
      case StmtKind::kSeq: {
        const std::vector<Stmt> parts = is_plain_ || blocks_ ? std::vector<Stmt>() : with_nests_joined(*as<Seq>(s));
        for (const Stmt& inner : parts.empty() ? as<Seq>(s)->stmts : parts) statement(inner);
        return;
      }
      case StmtKind::kStore: return exprs_.store(as<Store>(s));
      case StmtKind::kPrefetch: return exprs_.prefetch(as<Prefetch>(s));
      case StmtKind::kBarrier: break;
      case StmtKind::kIf: return branch(as<If>(s));
      case StmtKind::kFor: {
        const For* op = as<For>(s);
        return op->loop == LoopKind::kParallel && !in_parallel_ ? parallel(op) : serial(op);
      }
      case StmtKind::kAllocate: return allocate(as<Allocate>(s));
    }
    HONE_ICHECK(false) << "a barrier reached a code generator that has none";
  }

  // A statement that Arm's matrix instructions execute: by them where the compiler has them, else as it is. False: it
  // is none, or a part of one.
  bool is_blocks(const Stmt& s) {
    if (blocks_) {
      const For* loop = as<For>(s);
      if (!loop || loop->loop != LoopKind::kWarp) return false;
      blocks_->nest(region_->nests.at(loop));
      return true;
    }
    if (is_plain_ || (s->kind != StmtKind::kFor && s->kind != StmtKind::kSeq)) return false;
    const std::optional<TileRegion> region = match_block_region(s);
    if (!region) return false;
    helpers_.need_arm_functions();
    lines_.directive(fmt::format("#if defined(__aarch64__) && defined({})", macro_of(*region)));
    BlockWriter blocks(*region, exprs_, names_, lines_);
    blocks_ = &blocks, region_ = &*region;
    blocks.begin();
    statement(s);
    blocks.end();
    blocks_ = nullptr, region_ = nullptr;
    lines_.directive("#else");
    is_plain_ = true;
    statement(s);
    is_plain_ = false;
    lines_.directive("#endif");
    return true;
  }

  void branch(const If* op) {
    exprs_.begin({op->condition});
    lines_.open(fmt::format("if ({}) {{", exprs_.text(op->condition)));
    const int n = exprs_.facts().push_condition(op->condition);
    statement(op->then_case);
    exprs_.facts().pop_facts(n);
    if (op->else_case) {
      --lines_.depth();
      lines_.open("} else {");
      const int m = exprs_.facts().push_negation(op->condition);
      statement(op->else_case);
      exprs_.facts().pop_facts(m);
    }
    lines_.close();
  }

  void serial(const For* op) {
    HONE_ICHECK(op->loop != LoopKind::kUnroll && op->loop != LoopKind::kVectorize)
        << name_of(op->loop) << " loop " << op->var->name << " was not legalized";
    exprs_.begin({op->min, op->extent});
    const std::string first = exprs_.text(op->min), extent = exprs_.text(op->extent);
    if (blocks_) blocks_->forget();
    open_loop(op, first, extent);
    inside(op);
    if (blocks_) blocks_->forget();
  }

  // An end that is not known to lie inside int64 may wrap around: such a loop counts its iterations.
  void open_loop(const For* op, const std::string& first, const std::string& extent) {
    const std::string i = exprs_.name_of(op->var.get());
    const auto lo = as_const_int(op->min), n = as_const_int(op->extent);
    int64_t end = 0;
    if (lo && n && !__builtin_add_overflow(*lo, *n, &end))
      return lines_.open(fmt::format("for (i64 {0} = {1}; {0} < {2}; ++{0}) {{", i, first, end));
    const std::string from = names_.fresh(i + "_first"), count = names_.fresh(i + "_count"),
                      k = names_.fresh(i + "_number");
    lines_.add(fmt::format("const i64 {} = {}, {} = {};", from, first, count, extent));
    lines_.open(fmt::format("for (i64 {0} = 0; {0} < {1}; ++{0}) {{", k, count));
    lines_.add(fmt::format("const i64 {} = (i64)((u64){} + (u64){});", i, from, k));
  }

  void inside(const For* op) {
    exprs_.facts().push_loop(op->var.get(), op->min, op->extent);
    statement(op->body);
    exprs_.facts().pop_range();
    lines_.close();
  }

  void allocate(const Allocate* op) {
    const BufferNode* b = op->buffer.get();
    const bool is_stack = b->scope == BufferScope::kStack || b->scope == BufferScope::kShared;
    lines_.open("{");
    if (is_stack) {
      lines_.add(fmt::format("{} HONE_STACK {}[{}];", helpers_.memory(b->dtype), exprs_.name_of(b),
                             std::max<int64_t>(1, elements_of(b))));
    } else {
      HONE_USER_CHECK(op->offset >= 0) << "workspace buffer '" << b->name
                                       << "' has no offset: plan_storage has not run";
      const std::string own = in_parallel_ ? fmt::format(" + worker * (i64){}", rounded_bytes(b)) : "";
      const std::string type = helpers_.memory(b->dtype);
      lines_.add(fmt::format("{0}_element* const {1} = ({0}_element*)(workspace + {2}{3});", type, exprs_.name_of(b),
                             op->offset, own));
    }
    statement(op->body);
    lines_.close();
  }

  // The loop becomes a function over a chunk of its iterations, which the runtime calls, or this one does.
  void parallel(const For* op) {
    const Captures captured = captures_of(op);
    const std::string body = fmt::format("{}_loop{}", name_, loops_++);
    std::string members, values;
    for (const VarNode* v : captured.vars) {
      members += fmt::format("  i64 {};\n", exprs_.name_of(v));
      values += ", " + exprs_.name_of(v);
    }
    for (const BufferNode* b : captured.buffers) {
      members += fmt::format("  {}_element* {};\n", helpers_.memory(b->dtype), exprs_.name_of(b));
      values += ", " + exprs_.name_of(b);
    }
    *outlined_ += fmt::format("struct {} {{\n  i64 first;\n  char* workspace;\n{}}};\n\n", body, members);
    *outlined_ += chunk(op, captured, body);
    exprs_.begin({op->min, op->extent});
    lines_.open("{");
    const std::string first = exprs_.text(op->min), extent = exprs_.text(op->extent);
    lines_.add(fmt::format("struct {} closure = {{{}, workspace{}}};", body, first, values));
    const int64_t claims = 16 * static_cast<int64_t>(module_.workers);
    const std::string grain =
        module_.partition == Partition::kStatic ? "0" : fmt::format("({} + {}) / {}", extent, claims - 1, claims);
    if (module_.workers > 1) {
      lines_.add(
          fmt::format("const int32_t code = rt && rt->workers > 1 ? rt->parallel_for(rt->self, {0}_chunk, "
                      "&closure, {1}, {2}, {3}) : {0}_chunk(0, {1}, 0, &closure);",
                      body, extent, module_.workers, grain));
    } else {
      lines_.add(fmt::format("const int32_t code = {}_chunk(0, {}, 0, &closure);", body, extent));
    }
    lines_.add("if (code) return code;");
    lines_.close();
  }

  // int32_t BODY_chunk(begin, end, worker, closure)
  std::string chunk(const For* op, const Captures& captured, const std::string& body) {
    const bool was_inside = std::exchange(in_parallel_, true);
    Lines outer = std::exchange(lines_, Lines());
    lines_.add(fmt::format("const struct {}* const c = closure;", body));
    lines_.add("char* const workspace = c->workspace;");
    lines_.add("(void)workspace;");
    lines_.add("(void)worker;");
    for (const VarNode* v : captured.vars) lines_.add(fmt::format("const i64 {0} = c->{0};", exprs_.name_of(v)));
    for (const BufferNode* b : captured.buffers) lines_.add(fmt::format("{} = c->{};", pointer(b), exprs_.name_of(b)));
    const std::string i = exprs_.name_of(op->var.get()), k = names_.fresh(i + "_number");
    lines_.open(fmt::format("for (i64 {0} = begin; {0} < end; ++{0}) {{", k));
    lines_.add(fmt::format("const i64 {} = (i64)((u64)c->first + (u64){});", i, k));
    inside(op);
    std::string out = fmt::format(
        "static int32_t {}_chunk(int64_t begin, int64_t end, int32_t worker, void* closure) {{\n{}  return "
        "HONE_OK;\n}}\n\n",
        body, lines_.take());
    lines_ = std::move(outer);
    in_parallel_ = was_inside;
    return out;
  }

  const Module& module_;
  Helpers& helpers_;
  const std::vector<bool>& apart_;
  const std::vector<Buffer>& params_;
  const std::string name_;
  std::string* outlined_;
  Names names_;
  Lines lines_;
  CExprWriter exprs_{helpers_, names_, lines_, module_.assume_finite};
  bool in_parallel_ = false;
  int loops_ = 0;
  BlockWriter* blocks_ = nullptr;  // inside of a region that is written as instructions
  const TileRegion* region_ = nullptr;
  bool is_plain_ = false;  // inside of its other form
};

// The data of a tensor that the caller of an entry gave; null when the entry does not take such a tensor.
constexpr std::string_view kTensorCheck =
    R"(static inline void* hone_data(const DLTensor* t, DLDataType type, uintptr_t alignment) {
  if (!t || !t->data || t->dtype.code != type.code || t->dtype.bits != type.bits || t->dtype.lanes != type.lanes) return 0;
  char* const data = (char*)t->data + t->byte_offset;
  return (uintptr_t)data % alignment ? 0 : data;
}

static inline int hone_knows(const HoneRuntime* rt) {
  return !rt || (rt->abi_version >= HONE_RUNTIME_ABI_OLDEST && rt->abi_version <= HONE_RUNTIME_ABI);
}

)";

}  // namespace

std::string zeroing_entry(const std::string& name, bool is_static) {
  return fmt::format(
      "{0}int32_t {1}({2}) {{\n  return hone_internal_zeroing_call({1}_inside, args, n, workspace, rt);\n}}\n\n",
      is_static ? "static " : "", name, kEntryArguments);
}

std::string c_symbol(const std::string& name) {
  std::string out = name;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

std::string c_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f || c == '?')  // (trigraphs)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string c_dtype(DType t) {
  // DLPack's codes: kDLInt, kDLUInt, kDLFloat, kDLBfloat.
  const int code = t.code == TypeCode::kBFloat ? 4 : t.is_float() ? 2 : t.code == TypeCode::kInt ? 0 : 1;
  return fmt::format("{{{}, {}, 1}}", code, t.is_bool() ? 8 : t.bits);
}

std::string CFile::kernel(const Module& m, const Function& source, const std::string& name,
                          const std::vector<bool>& apart) {
  HONE_USER_CHECK(source.shape_vars.empty())
      << "function '" << source.name << "': shape variables are not supported yet";
  const int bits = m.vector_bits > 0 ? std::min(m.vector_bits, vector_bits_) : vector_bits_;
  Function f = source;
  f.body = legalize(f.body, bits);
  std::string outlined;
  std::string text = FunctionWriter(m, helpers_, apart, f.params, name, &outlined).kernel(f);
  return outlined + text;
}

void CFile::need_tensor_checks() {
  if (!std::exchange(has_tensor_check_, true)) functions_ += kTensorCheck;
}

void CFile::add_checked(const std::string& name, const std::vector<Buffer>& params,
                        const std::vector<std::string>& kernels, bool element_aligned, bool needs_workspace,
                        bool is_static) {
  need_tensor_checks();
  std::string list, text = fmt::format(
                        "{}int32_t {}({}) {{\n"
                        "  if (n != {} || (uintptr_t)workspace % {} || !hone_knows(rt)) return HONE_BAD_ARGUMENTS;\n",
                        is_static ? "static " : "", name, kEntryArguments, params.size(), kBufferAlignment);
  if (needs_workspace) text += "  if (!workspace) return HONE_BAD_ARGUMENTS;\n";
  for (size_t i = 0; i < params.size(); ++i) {
    const DType t = params[i]->dtype;
    text += fmt::format(
        "  static const DLDataType t{0} = {1};\n  void* const p{0} = hone_data(args[{0}], t{0}, {2});\n  if (!p{0}) "
        "return "
        "HONE_BAD_ARGUMENTS;\n",
        i, c_dtype(t), element_aligned ? t.lane_bytes() : kBufferAlignment);
    list += fmt::format("p{}, ", i);
  }
  text += "  int32_t code = HONE_OK;\n";
  for (const std::string& kernel : kernels)
    text += fmt::format("  if (!code) code = {}({}workspace, rt);\n", kernel, list);
  functions_ += text + "  return code;\n}\n\n";
}

void CFile::add_entry(const Module& m, const std::string& name, bool element_aligned, Denormals denormals) {
  HONE_ICHECK(!m.kernels.empty()) << "the entry '" << name << "' has no kernel";
  std::vector<std::string> kernels;
  for (size_t k = 0; k < m.kernels.size(); ++k) {
    kernels.push_back(fmt::format("{}_kernel{}", name, k));
    const std::vector<bool> apart(m.kernels[k].params.size(), true);
    functions_ += kernel(m, m.kernels[k], kernels.back(), apart);
  }
  const bool has_mode = denormals == Denormals::kZero;
  add_checked(has_mode ? name + "_inside" : name, m.kernels[0].params, kernels, element_aligned, m.workspace_bytes > 0,
              has_mode);
  if (has_mode) functions_ += zeroing_entry(name, /*is_static=*/false);
}

void CFile::add_prepack(const Module& m, size_t i, const std::string& name) {
  const Function& f = m.prepacks[i].function;
  functions_ += kernel(m, f, name + "_kernel0", std::vector<bool>(f.params.size(), true));
  add_checked(name, f.params, {name + "_kernel0"}, false, false);
}

void CFile::add_layer(const Module& m, const std::string& symbol, const std::vector<bool>& apart) {
  std::vector<std::string> kernels;
  std::string params, args;
  for (size_t k = 0; k < m.kernels.size(); ++k) {
    kernels.push_back(fmt::format("{}_kernel{}", symbol, k));
    functions_ += kernel(m, m.kernels[k], kernels.back(), apart);
  }
  for (size_t i = 0; i < m.kernels[0].params.size(); ++i) {
    params += fmt::format("void* p{}, ", i);
    args += fmt::format("p{}, ", i);
  }
  functions_ += fmt::format(
      "static int32_t {}({}char* workspace, const HoneRuntime* rt) {{\n  int32_t code = HONE_OK;\n", symbol, params);
  for (const std::string& kernel : kernels)
    functions_ += fmt::format("  if (!code) code = {}({}workspace, rt);\n", kernel, args);
  functions_ += "  return code;\n}\n\n";
}

std::string CFile::text(const std::string& first) const { return first + "\n" + helpers_.text() + "\n" + functions_; }

}  // namespace hone
