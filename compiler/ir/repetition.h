// A module that runs several times, each time on the results of the time before: the steps of a recurrent layer.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

/// How one parameter of a step's module is used when the module runs several times.
struct RepeatedParam {
  enum class Kind : uint8_t {
    kWhole,  ///< an input that each step reads as it is
    kPart,   ///< the step's share of a tensor whose first extent is as many times as large
    kState,  ///< input: the caller's value for the first step, then the previous step's output;
             ///< output: the value that the last step wrote
  };
  Kind kind = Kind::kWhole;
  size_t next = 0;  ///< of an input that is a state: the output parameter, by number, that the next step has for it
};

/// How often, in which order, and on which tensors.
struct Repetition {
  int64_t count = 1;
  bool is_backwards = false;          ///< the first step has the last part
  std::vector<RepeatedParam> params;  ///< of the step's module, in order
};

}  // namespace hone
