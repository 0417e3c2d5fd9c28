// One side of bench_models, which starts it: bench_models_side hone|onnxruntime CASE.json, with the channel as
// descriptor 3.
#include <cstdio>
#include <cstring>

#include "base/child_process.h"
#include "base/exit_code.h"
#include "tests/bench/models/side_loop.h"

int main(int argc, char** argv) {
  using namespace hone::bench;
  if (argc == 3 && std::strcmp(argv[1], "hone") == 0) return serve(argv[2], open_hone, hone::kChildChannel);
  if (argc == 3 && std::strcmp(argv[1], "onnxruntime") == 0)
    return serve(argv[2], open_onnxruntime, hone::kChildChannel);
  std::fputs("usage: bench_models_side hone|onnxruntime CASE.json; bench_models starts it\n", stderr);
  return hone::kExitUsage;
}
