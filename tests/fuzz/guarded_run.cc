#include "tests/fuzz/guarded_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "compiler/arith/verify.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/link/link.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ir/dlpack_type.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/thread_pool.h"
#include "rpc/ir/decode.h"
#include "tests/fuzz/guarded_memory.h"
#include "tests/fuzz/work_bound.h"

namespace hone::fuzz {
namespace {

// Smaller than an agent's limits, so that a mutation takes milliseconds.
constexpr DecodeLimits kDecodeLimits{.bytes = 1 << 17, .expanded_nodes = 1 << 13};
constexpr VerifyOptions kVerifyOptions{.max_unrolled_statements = 512};
constexpr int64_t kMostWork = 20'000'000, kMostInterpreted = 400'000, kMostBytes = 16 << 20;
constexpr int kMostThreads = 3;

struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void hold(bool ok, const std::string& what) {
  if (!ok) throw Violation(what);
}

void hold_one_line(std::string_view text) {
  hold(!text.empty() && text.find('\n') == std::string_view::npos,
       fmt::format("a refusal is not one line: '{}'", text));
}

int64_t elements_of(const Buffer& b) {
  int64_t n = 1;
  for (const Expr& e : b->shape) n *= *as_const_int(e);
  return n;
}

// The shared object of `m`, in a file that is gone once it is loaded.
Artifact compile_and_load(const Module& m, const CodegenOptions& options) {
  static const Target target = host_target(2);
  char path[] = "/tmp/hone-fuzz-XXXXXX";
  const int fd = mkstemp(path);
  hold(fd >= 0, "no temporary file");
  close(fd);
  struct Remover {
    const char* path;
    ~Remover() { unlink(path); }
  } remover{path};
  link_shared({emit_object(m, target, options)}, path);
  auto artifact = Artifact::load(path);
  hold(artifact.ok(), message_of(artifact.status()));
  return std::move(*artifact);
}

// Small values: loads that serve as indices are in bounds now and then.
void fill(std::byte* data, DType t, int64_t n, std::mt19937_64& rng) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = static_cast<int64_t>(rng() % 16) - 3;
    std::byte* to = data + i * t.bytes();
    if (t == f32) {
      const float f = static_cast<float>(v) * 0.25F;
      std::memcpy(to, &f, 4);
    } else if (t == f64) {
      const double f = static_cast<double>(v) * 0.25;
      std::memcpy(to, &f, 8);
    } else {
      const int64_t whole = t.is_bool() ? v & 1 : t.bits == 16 && t.is_float() ? 0x3C00 : v;
      std::memcpy(to, &whole, static_cast<size_t>(t.bytes()));
    }
  }
}

// A module's tensors: the kernels' arguments, and of each prepack its logical constant.
struct Tensors {
  std::vector<std::unique_ptr<GuardedMemory>> arguments, logical;
  std::unique_ptr<GuardedMemory> workspace;
};

class Subject {
 public:
  Subject(const Module& m, const std::vector<Unproved>& unproved)
      : m_(m), unproved_(unproved), arguments_(kernel_arguments(m)) {
    const Function& f = m.kernels[0];
    for (const Buffer& b : f.params) elements_.push_back(elements_of(b));
  }

  bool may_run() const {
    double bytes = static_cast<double>(m_.workspace_bytes);
    for (size_t i = 0; i < elements_.size(); ++i) bytes += static_cast<double>(elements_[i]) * dtype(i).bytes();
    for (const Prepack& p : m_.prepacks)
      bytes += static_cast<double>(elements_of(p.function.params[0])) * p.function.params[0]->dtype.bytes();
    work_ = work_bound(m_);
    return bytes <= static_cast<double>(kMostBytes) && work_ <= kMostWork;
  }

  Tensors make_tensors(Side side) const {
    Tensors t;
    std::mt19937_64 rng(5);
    for (size_t i = 0; i < elements_.size(); ++i) {
      t.arguments.push_back(std::make_unique<GuardedMemory>(elements_[i] * dtype(i).bytes(), side));
      fill(t.arguments.back()->data(), dtype(i), elements_[i], rng);
    }
    for (const Prepack& p : m_.prepacks) {
      const Buffer& b = p.function.params[0];
      t.logical.push_back(std::make_unique<GuardedMemory>(elements_of(b) * b->dtype.bytes(), side));
      fill(t.logical.back()->data(), b->dtype, elements_of(b), rng);
    }
    t.workspace = std::make_unique<GuardedMemory>(m_.workspace_bytes, side);
    std::memset(t.workspace->data(), 0xFF, static_cast<size_t>(m_.workspace_bytes));
    return t;
  }

  // HONE_OK or HONE_FAULT; everything else is a violation.
  int32_t run_compiled(const Artifact& artifact, const Tensors& t, const HoneRuntime* rt) const {
    int32_t code = HONE_OK;
    for (size_t i = 0; i < m_.prepacks.size() && code == HONE_OK; ++i) {
      const Prepack& p = m_.prepacks[i];
      t.logical[i]->make_read_only();
      const auto entry = artifact.prepack(static_cast<int>(i));
      hold(entry != nullptr, "a prepack has no entry");
      std::vector<std::pair<std::byte*, Buffer>> args{{t.logical[i]->data(), p.function.params[0]}};
      for (size_t k = 1; k < p.function.params.size(); ++k)
        args.emplace_back(packed(t, p, k)->data(), p.function.params[k]);
      code = call(entry, args, t, rt);
    }
    if (code == HONE_OK) {
      std::vector<std::pair<std::byte*, Buffer>> args;
      for (size_t i = 0; i < elements_.size(); ++i) {
        if (m_.params[arguments_[i].param].role != ParamRole::kOutput) t.arguments[i]->make_read_only();
        args.emplace_back(t.arguments[i]->data(), m_.kernels[0].params[i]);
      }
      code = call(artifact.entry(), args, t, rt);
    }
    for (const auto& p : t.arguments) hold(p->intact(), "something was written next to a parameter");
    hold(t.workspace->intact(), "something was written next to the workspace");
    hold(code == HONE_OK || code == HONE_FAULT, fmt::format("the entry returned {}", code));
    hold(code == HONE_OK || !unproved_.empty(), "a fault without a checked access");
    return code;
  }

  // `m_` as its kernels are emitted: its proofs must hold in this form. Nothing where legalize() refuses to copy that
  // much.
  std::optional<Module> legalized() const {
    try {
      Module out = m_;
      for (Function& f : out.kernels) f.body = legalize(f.body, m_.vector_bits > 0 ? m_.vector_bits : 256);
      for (Prepack& p : out.prepacks) p.function.body = legalize(p.function.body, 512);
      return out;
    } catch (const UserError& e) {
      hold_one_line(e.what());
      return std::nullopt;
    }
  }

  // Nothing when the interpreter cannot follow; else whether it came to the end. `m`: the module, or its rewritten
  // form.
  std::optional<bool> run_interpreted(const Module& m, const Tensors& t) const {
    if (work_ > kMostInterpreted) return std::nullopt;
    try {
      for (size_t i = 0; i < m.prepacks.size(); ++i) {
        const Function& f = m.prepacks[i].function;
        std::vector<InterpArg> args{{t.logical[i]->data(), elements_of(f.params[0])}};
        for (size_t k = 1; k < f.params.size(); ++k)
          args.push_back({packed(t, m.prepacks[i], k)->data(), elements_of(f.params[k])});
        interpret(f, args);
      }
      std::vector<InterpArg> args;
      for (size_t i = 0; i < elements_.size(); ++i) args.push_back({t.arguments[i]->data(), elements_[i]});
      interpret(m, args);
      return true;
    } catch (const UserError& e) {
      const std::string_view why = e.what();
      if (why.find("outside its extent") == std::string_view::npos) {
        hold(why.find("by zero") == std::string_view::npos, fmt::format("accepted, but {}", why));
        return std::nullopt;  // f16, decisions by what nothing wrote
      }
      const bool was_to_be_checked = std::any_of(unproved_.begin(), unproved_.end(), [&](const Unproved& u) {
        return why.find(fmt::format("buffer '{}'", u.access.substr(0, u.access.find('[')))) != std::string_view::npos;
      });
      hold(was_to_be_checked, fmt::format("accepted as in bounds, but {}", why));
      return false;
    }
  }

  void compare(const Tensors& compiled, const Tensors& interpreted) const {
    for (size_t i = 0; i < elements_.size(); ++i)
      hold(std::memcmp(compiled.arguments[i]->data(), interpreted.arguments[i]->data(),
                       static_cast<size_t>(elements_[i] * dtype(i).bytes())) == 0,
           fmt::format("what is emitted and the interpreter differ in '{}'", m_.params[arguments_[i].param].name));
  }

  // Floats may be contracted, so only programs without them are compared.
  bool is_exact() const {
    const std::string text = to_string(m_);
    return text.find("f32") == std::string::npos && text.find("f64") == std::string::npos &&
           text.find("f16") == std::string::npos;
  }

 private:
  // The k-th tensor that the prepack makes, k from 1.
  GuardedMemory* packed(const Tensors& t, const Prepack& p, size_t k) const {
    size_t first = 0;
    while (arguments_[first].param != static_cast<size_t>(p.param)) ++first;
    return t.arguments[first + k - 1].get();
  }

  DType dtype(size_t i) const { return m_.kernels[0].params[i]->dtype; }

  static int32_t call(HoneEntry entry, const std::vector<std::pair<std::byte*, Buffer>>& args, const Tensors& t,
                      const HoneRuntime* rt) {
    std::vector<DLTensor> tensors(args.size());
    std::vector<int64_t> shapes(args.size());
    std::vector<const DLTensor*> pointers;
    for (size_t i = 0; i < args.size(); ++i) {
      shapes[i] = elements_of(args[i].second);
      tensors[i] = {.data = args[i].first,
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = dlpack_type(args[i].second->dtype),
                    .shape = &shapes[i],
                    .strides = nullptr,
                    .byte_offset = 0};
      pointers.push_back(&tensors[i]);
    }
    return entry(pointers.data(), static_cast<int32_t>(pointers.size()), t.workspace->data(), rt);
  }

  const Module& m_;
  const std::vector<Unproved>& unproved_;
  const std::vector<KernelArgument> arguments_;
  std::vector<int64_t> elements_;
  mutable int64_t work_ = 0;
};

Outcome run(const Module& m, const std::vector<Unproved>& unproved) {
  CodegenOptions options;
  for (const Unproved& u : unproved) options.checked_accesses.push_back(u.node);
  const Artifact artifact = compile_and_load(m, options);
  const Subject subject(m, unproved);
  if (!subject.may_run()) return Outcome::kCompiled;
  const Tensors expected = subject.make_tensors(Side::kRight);
  const std::optional<bool> interpreted = subject.run_interpreted(m, expected);
  if (const std::optional<Module> legal = unproved.empty() ? subject.legalized() : std::nullopt) {
    const Tensors rewritten = subject.make_tensors(Side::kRight);
    const std::optional<bool> ended = subject.run_interpreted(*legal, rewritten);
    if (ended == true && interpreted == true && subject.is_exact()) subject.compare(rewritten, expected);
  }

  const Tensors serial = subject.make_tensors(Side::kRight);
  const int32_t code = subject.run_compiled(artifact, serial, nullptr);
  hold(code == HONE_OK || interpreted != true,
       "a run-time check stopped a program that the interpreter finds in bounds");
  if (code == HONE_OK && interpreted == true && subject.is_exact()) subject.compare(serial, expected);

  ThreadPool pool({.workers = std::min(m.workers, kMostThreads)});
  const int32_t parallel = subject.run_compiled(artifact, subject.make_tensors(Side::kLeft), pool.runtime());
  return code == HONE_OK && parallel == HONE_OK ? Outcome::kRan : Outcome::kFaulted;
}

}  // namespace

Report run_guarded(std::string_view bytes) {
  Report report;
  StatusOr<Module> m = decode(bytes, kDecodeLimits);
  try {
    if (!m.ok()) {
      hold_one_line(message_of(m.status()));
      return report;
    }
    std::vector<Unproved> unproved;
    report.outcome = Outcome::kNotVerified;
    try {
      unproved = verify(*m, kVerifyOptions);
    } catch (const UserError& e) {
      hold_one_line(e.what());
      return report;
    }
    report.outcome = Outcome::kCompiled;
    report.outcome = run(*m, unproved);
  } catch (const std::exception& e) {
    report.violation = fmt::format("{}\n{}", e.what(), m.ok() ? to_string(*m) : "");
  }
  return report;
}

}  // namespace hone::fuzz
