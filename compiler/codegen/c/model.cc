#include "compiler/codegen/c/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "base/check.h"
#include "compiler/runtime/weights/weights_file.h"

namespace hone {
namespace {

class ModelWriter {
 public:
  explicit ModelWriter(const ModelProgram& program) : p_(program) {}

  std::string write(std::span<const char> weights) {
    std::string out = "static inline char* hone_at(const DLTensor* t) { return (char*)t->data + t->byte_offset; }\n\n";
    if (p_.weights_file)
      out += weights_in_a_file();
    else if (!weights.empty())
      out += embedded(weights);
    for (size_t v = 0; v < p_.variants.size(); ++v) {
      const std::string symbol = c_symbol(variant_symbol(p_.name, v, p_.variants.size()));
      const std::span<const ModelStep> steps = p_.variants[v];
      functions_ += entry(symbol, steps, p_.variants.size() > 1);
      for (size_t s = 0; s < steps.size(); ++s)
        functions_ +=
            entry(c_symbol(step_symbol(variant_symbol(p_.name, v, p_.variants.size()), s)), steps.subspan(s, 1), true);
    }
    if (p_.variants.size() == 1)
      functions_ +=
          fmt::format("int32_t {0}_plain({1}) {{ return {0}(args, n, workspace, rt); }}\n\n", p_.name, kEntryArguments);
    return out + functions_;
  }

 private:
  // The weights as words, which all targets read from the low byte on.
  std::string embedded(std::span<const char> weights) const {
    std::string out =
        fmt::format("static const uint64_t hone_weights[{}] HONE_ALIGNED(64) = {{", (weights.size() + 7) / 8);
    static_assert(std::endian::native == std::endian::little);
    for (size_t i = 0; i < weights.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, weights.data() + i, std::min<size_t>(8, weights.size() - i));
      out += fmt::format("{}{:#x},", i % 48 ? "" : "\n", word);
    }
    return out + "\n};\n\n";
  }

  std::string weights_in_a_file() const {
    std::string bytes;
    for (const char c : p_.weights_file->begin.substr(0, sizeof(HoneWeightsFile)))
      bytes += fmt::format("{},", static_cast<unsigned char>(c));
    return fmt::format(
        "const char {0}_weights_file[] = {1};\nstatic _Atomic(const void*) hone_mapped;\nstatic const union {{\n  "
        "uint8_t "
        "bytes[sizeof(HoneWeightsFile)];\n  HoneWeightsFile file;\n}} hone_begin = {{{{{2}}}}};\n\nint32_t "
        "{0}_weights(const char* path) {{ return hone_internal_map_weights(path, &hone_begin.file, &hone_mapped); "
        "}}\n\n",
        p_.name, c_string(p_.weights_file->name), bytes);
  }

  static bool uses_weights(std::span<const ModelStep> steps) {
    return std::any_of(steps.begin(), steps.end(), [](const ModelStep& step) {
      return std::any_of(step.arguments.begin(), step.arguments.end(),
                         [](const TensorSlot& slot) { return slot.in == TensorSlot::In::kWeights; });
    });
  }

  std::string begin(std::span<const ModelStep> steps) const {
    std::string out = "  int32_t code = HONE_OK;\n  (void)args, (void)workspace, (void)rt;\n";
    if (!uses_weights(steps)) return out;
    if (!p_.weights_file) return out + "  const char* const weights = (const char*)hone_weights;\n";
    return out +
           "  const char* const weights = atomic_load(&hone_mapped);\n  if (!weights) return HONE_BAD_ARGUMENTS | "
           "HONE_NO_WEIGHTS << 8;\n";
  }

  static std::string pointer(const TensorSlot& slot) {
    const std::string offset = slot.offset == 0 ? "" : fmt::format(" + {}", slot.offset);
    switch (slot.in) {
      case TensorSlot::In::kArena: return fmt::format("(char*)workspace{}", offset);
      case TensorSlot::In::kTensor: return fmt::format("hone_at(args[{}]){}", slot.index, offset);
      case TensorSlot::In::kExtent: return fmt::format("(char*)args[{}]->shape{}", slot.index, offset);
      case TensorSlot::In::kWeights: break;
    }
    return fmt::format("(void*)(weights{})", offset);
  }

  std::string row_text(const NewRow& row, const std::string& indent) {
    const std::string table = fmt::format("hone_row{}", tables_++);
    functions_ +=
        fmt::format("static const HoneRow {} = {{{}, {}, {}}};\n", table, row.matrices, row.bytes, row.matrix_bytes);
    return fmt::format("{}hone_entry1_row(&{}, {}, {}, {});\n", indent, table, pointer(row.from), pointer(row.to),
                       pointer(row.count));
  }

  // `return` ends the function, with `code`.
  std::string step_text(const ModelStep& step, const std::string& rt, const std::string& indent) {
    std::string out;
    for (const NewRow& row : step.rows) out += row_text(row, indent);
    if (step.symbol.empty())
      return out + (step.arguments.empty() ? ""
                                           : fmt::format("{}memcpy({}, {}, {});\n", indent, pointer(step.arguments[1]),
                                                         pointer(step.arguments[0]), step.bytes));
    std::string args;
    for (const TensorSlot& slot : step.arguments) args += pointer(slot) + ", ";
    return out + fmt::format("{0}if ((code = {1}({2}(char*)workspace + {3}, {4}))) return code;\n", indent,
                             c_symbol(step.symbol), args, step.workspace, rt);
  }

  std::string entry(const std::string& name, std::span<const ModelStep> steps, bool is_static) {
    if (p_.denormals == Denormals::kKeep) return steps_entry(name, steps, is_static);
    return steps_entry(name + "_inside", steps, /*is_static=*/true) + zeroing_entry(name, is_static);
  }

  std::string steps_entry(const std::string& name, std::span<const ModelStep> steps, bool is_static) {
    std::string out =
        fmt::format("{}int32_t {}({}) {{\n  (void)n;\n", is_static ? "static " : "", name, kEntryArguments);
    out += begin(steps);
    for (size_t s = 0; s < steps.size();) {
      size_t end = s + 1;
      if (const int region = steps[s].region; region > 0 && steps.size() > 1)
        while (end < steps.size() && steps[end].region == region) ++end;
      out += end > s + 1 ? region_text(name, steps.subspan(s, end - s))
                         : step_text(steps[s], steps[s].is_alone ? "0" : "rt", "  ");
      s = end;
    }
    return out + "  return code;\n}\n\n";
  }

  // Neighbours whose shares the threads run.
  std::string region_text(const std::string& name, std::span<const ModelStep> steps) {
    const std::string region = fmt::format("{}_region{}", name, steps[0].region);
    std::map<int, std::string> of_thread;
    for (size_t s = 0; s < steps.size(); ++s)
      for (const StepShare& share : steps[s].shares)
        of_thread[share.thread] += step_text(
            steps[s],
            share.iterations.empty() ? "0" : runtime_of(fmt::format("{}_share{}_{}", region, s, share.thread), share),
            "  ");
    std::string threads;
    for (int thread = 0; thread <= of_thread.rbegin()->first; ++thread) {
      const auto own = of_thread.find(thread);
      threads += own == of_thread.end() ? "0, " : fmt::format("{}_thread{}, ", region, thread);
      if (own == of_thread.end()) continue;
      functions_ += fmt::format(
          "static int32_t {}_thread{}(const DLTensor* const* args, void* workspace, const void* given) {{\n  const "
          "char* "
          "const weights = (const char*)given;\n  int32_t code = HONE_OK;\n  (void)args, (void)workspace, "
          "(void)weights;\n{}  return code;\n}}\n\n",
          region, thread, own->second);
    }
    functions_ += fmt::format(
        "static const HoneThreadSteps {0}_threads[] = {{{1}}};\nstatic const HoneRegion {0} = {{{0}_threads, "
        "{2}}};\n\n",
        region, threads, of_thread.rbegin()->first + 1);
    return fmt::format("  if ((code = hone_entry1_region(&{}, args, workspace, {}, rt))) return code;\n", region,
                       uses_weights(steps) ? "weights" : "0");
  }

  // A HoneRuntime of several workers, since kernels do not ask one of one; adds its tables.
  std::string runtime_of(const std::string& name, const StepShare& share) {
    std::string ranges;
    for (const IterationRange& r : share.iterations) ranges += fmt::format("{{{}, {}}}, ", r.begin, r.end);
    functions_ += fmt::format(
        "static const int64_t {0}_ranges[][2] = {{{1}}};\nstatic HoneShare {0}_own = {{{2}, {3}, {0}_ranges}};\nstatic "
        "const HoneRuntime {0} = {{HONE_RUNTIME_ABI, {4}, &{0}_own, hone_entry1_share_for, 0}};\n\n",
        name, ranges, share.thread, share.iterations.size(), share.thread + 2);
    return "&" + name;
  }

  const ModelProgram& p_;
  std::string functions_;
  int tables_ = 0;
};

}  // namespace

void add_host_layer(CFile& file, const std::string& name, const std::vector<int64_t>& numbers, size_t tensors,
                    const std::string& symbol) {
  std::string params, list;
  for (size_t i = 0; i < tensors; ++i) {
    params += fmt::format("void* p{}, ", i);
    list += fmt::format("{}p{}", i ? ", " : "", i);
  }
  file.add(
      fmt::format("static int32_t {}({}char* workspace, const HoneRuntime* rt) {{\n  static const int64_t numbers[] "
                  "= {{{}}};\n  void* const tensors[] = {{{}}};\n  (void)rt;\n  return hone_internal_{}(numbers, "
                  "tensors, workspace);\n}}\n\n",
                  symbol, params, numbers.empty() ? "0" : fmt::format("{}", fmt::join(numbers, ", ")), list, name));
}

void add_model(CFile& file, const ModelProgram& program, std::span<const char> weights) {
  file.add(ModelWriter(program).write(weights));
}

}  // namespace hone
