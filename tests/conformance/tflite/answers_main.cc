// The tool between cases, answers and TensorFlow Lite's library.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "tests/conformance/tflite/case_file.h"

namespace hone {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// How far results of today are from answers that are kept: a library may round otherwise on another processor.
int compare(const std::vector<TfliteAnswer>& results, const TfliteCases& cases) {
  std::map<std::string, TfliteAnswer> kept;
  for (TfliteAnswer& a : kept_answers()) kept.emplace(a.name, std::move(a));
  int faults = 0;
  const auto fault = [&](const std::string& text) { ++faults, std::cout << text << "\n"; };
  for (size_t i = 0; i < results.size(); ++i) {
    const TfliteAnswer& now = results[i];
    if (!now.error.empty()) {
      fault(fmt::format("{}: {}", now.name, now.error));
      continue;
    }
    const auto then = kept.find(now.name);
    if (then == kept.end() || then->second.case_hash != now.case_hash ||
        then->second.calls.size() != now.calls.size()) {
      fault(now.name + ": no answer of this case is kept");
      continue;
    }
    for (size_t c = 0; c < now.calls.size(); ++c)
      for (size_t o = 0; o < now.calls[c].size(); ++o)
        if (const std::string d = difference_of(now.calls[c][o], then->second.calls[c].at(o), cases[i].bound);
            !d.empty())
          fault(now.name + ": " + d);
  }
  std::cout << results.size() << " cases, " << faults << " differ\n";
  return faults ? 1 : 0;
}

int run(int argc, char** argv) {
  const std::string verb = argc == 3 ? argv[1] : "";
  const TfliteCases cases = all_tflite_cases();
  if (verb == "cases") {
    std::ofstream(argv[2], std::ios::binary) << cases_as_bytes(cases);
    return 0;
  }
  if (verb == "keep") {
    std::ofstream(path_of_answers(), std::ios::binary) << text_of_answers(results_of_bytes(read_file(argv[2]), cases));
    return 0;
  }
  if (verb == "compare") return compare(results_of_bytes(read_file(argv[2]), cases), cases);
  std::cerr << "usage: tflite_answers cases FILE   writes the cases\n"
               "       tflite_answers keep FILE    keeps the library's results\n"
               "       tflite_answers compare FILE compares them with those that are kept\n";
  return 2;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) { return hone::run(argc, argv); }
