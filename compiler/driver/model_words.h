// What is asked of a model, in the words of command lines and of the library's options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// As the flags of the same names have them (compiler/cli/model_flags.h); request_of() parses them.
struct ModelWords {
  std::string model;                      ///< path of an ONNX model; empty: something else is asked for
  std::vector<std::string> bind, shapes;  ///< NAME=VALUE, or NAME=VALUE|VALUE
  std::vector<std::string> bind_data;     ///< NAME=FILE, inputs that become constants
  std::vector<std::string> formats;       ///< NAME=u8:NHWC,mean=…,scale=…, what is passed for an input
  int64_t model_batch = 1;                ///< of a model for one image: how many it is built for
  std::string cache;                      ///< NAME=N, the dimension by which its caches grow in place
  std::string accumulate;                 ///< f16: what sums its products of f16; empty: f32 does
  std::string denormals;                  ///< of CPUs: keep or zero; empty: zero
  bool assume_finite = false;             ///< nobody wants to know what becomes of a NaN
};

/// The flags among them that operators do not have and that were given, in the order above: `--bind, --cache`. Empty:
/// none was.
std::string words_of_models_alone(const ModelWords& words);

}  // namespace hone
