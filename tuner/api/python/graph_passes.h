// Graph passes that are written in Python, for a call of libhone's.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>

#include "tuner/api/hone_compiler.h"

namespace hone::python {

class GraphPasses {
 public:
  /// `passes`: hone.passes.Passes, or None. `stop` hears what a pass raises, which ends the call; with the GIL.
  GraphPasses(pybind11::object passes, std::function<void(pybind11::error_already_set&)> stop);
  GraphPasses(const GraphPasses&) = delete;
  GraphPasses& operator=(const GraphPasses&) = delete;

  /// Null: there are none.
  const HoneGraphPasses* get() const { return passes_.is_none() ? nullptr : &told_; }

 private:
  int32_t run(int32_t pass, const char* graph, const DLTensor* given, int32_t count, void* to,
              void (*write)(void* to, const char* text, const DLTensor* made, int32_t count));

  const pybind11::object passes_;
  const std::function<void(pybind11::error_already_set&)> stop_;
  std::string list_;
  HoneGraphPasses told_{};
};

/// Adds the class of constants that a pass may read to the module.
void bind_given_constants(pybind11::module_& m);

}  // namespace hone::python
