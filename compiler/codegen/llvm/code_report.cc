#include "compiler/codegen/llvm/code_report.h"

#include <regex>
#include <set>
#include <sstream>

#include "compiler/codegen/llvm/compile.h"

namespace hone {
namespace {

bool is_instruction(const std::string& line) {
  return line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '#' && line[1] != '/';
}

}  // namespace

CodeReport report_code(const Module& m, const Target& target) {
  Module kernels = m;
  kernels.prepacks.clear();
  return report_assembly(emit_asm_text(kernels, target, {.verbose = true}));
}

CodeReport report_assembly(const std::string& assembly) {
  // xmm3, ymm3 and zmm3 are one register, as are q3 and v3.
  static const std::regex vector_register(R"((?:%[xyz]mm|\b[qv])([0-9]+))"),
      fma(R"(^\s+(?:vfn?m(?:add|sub)[0-9]+p[sd]|fml[as])\s)");
  static const std::regex label(R"(^\.?L[A-Za-z0-9_]+:)"),
      jump(R"(^\s+(?:j[a-z]+|b\.[a-z]+|cbn?z|tbn?z|b)\s.*?(\.?L[A-Za-z0-9_]+))");
  CodeReport report;
  std::set<std::string> registers;
  std::istringstream in(assembly);
  std::string line, current;
  int since_label = 0;  // spills and reloads in the block that began with `current`
  while (std::getline(in, line)) {
    std::smatch match;
    if (std::regex_search(line, match, label)) {
      current = line.substr(0, line.find(':'));
      since_label = 0;
      continue;
    }
    if (!is_instruction(line)) continue;
    ++report.instructions;
    const bool spill = line.find(" Spill") != std::string::npos, reload = line.find(" Reload") != std::string::npos;
    report.spills += spill;
    report.reloads += reload;
    since_label += spill || reload;
    report.fmas += std::regex_search(line, fma);
    for (auto it = std::sregex_iterator(line.begin(), line.end(), vector_register); it != std::sregex_iterator(); ++it)
      registers.insert((*it)[1]);
    // A jump back to the block's own label closes an innermost loop.
    if (std::regex_search(line, match, jump) && match[1] == current) report.spills_in_loops += since_label;
  }
  report.vector_registers = static_cast<int>(registers.size());
  return report;
}

}  // namespace hone
