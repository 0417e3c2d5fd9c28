// Which elements of its parameters a part of a kernel reads and writes.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/module.h"

namespace hone {

/// Elements begin .. end - 1 of a flat buffer.
struct ElementRun {
  int64_t begin = 0, end = 0;
  bool operator==(const ElementRun&) const = default;
};

/// By parameter of the kernel. touched_elements() gives the runs of each in order, without overlaps.
struct TouchedElements {
  std::vector<std::vector<ElementRun>> read, written;
};

/// The parallel loop that is all of the kernel, of a constant minimum and extent. Null: there is none, or more than it.
const For* whole_parallel_loop(const Function& kernel);

/// The elements that the kernel may touch: all that it does and perhaps more, because conditions are ignored and an
/// access that cannot be analysed touches the whole buffer. For programs in loop form, with flat indices.
TouchedElements touched_elements(const Function& kernel);
/// The elements that one iteration of its whole_parallel_loop() may touch; iterations are counted from 0.
TouchedElements touched_elements(const Function& kernel, const For& loop, int64_t iteration);

}  // namespace hone
