// One side of bench_models, or of beside_tflite.py, which start it: bench_models_side hone|onnxruntime|tflite
// CASE.json, with the channel as descriptor 3.
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
  if (argc == 3 && std::strcmp(argv[1], "tflite") == 0) return serve(argv[2], open_tflite, hone::kChildChannel);
  std::fputs("usage: bench_models_side hone|onnxruntime|tflite CASE.json; bench_models starts it\n", stderr);
  return hone::kExitUsage;
}
