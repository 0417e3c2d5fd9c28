// The knobs that a template in Python asks for.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/space.h"
#include "compiler/target/target.h"

namespace hone::python {

/// The exception that ends a template behind its last question to its knobs, where no more than these are wanted;
/// `except Exception` does not catch it. Made once.
pybind11::handle knobs_are_read();

/// One question to the knobs, as far as it is the same each time.
struct KnobQuestion {
  enum class Kind : uint8_t { kSplit, kChoice, kRequirement, kCondition };

  Kind kind;
  std::string name;              ///< of a split, of a choice
  std::vector<int64_t> numbers;  ///< a split's extent and parts, a choice's choices

  bool operator==(const KnobQuestion&) const = default;
  /// `split 'rows' of 64 in 2`, `choice 'packed' of 0, 1`, `a requirement`, `a condition`.
  std::string text() const;
};

/// One call of a template, which asks: the calls that it makes are the same each time, whatever the choices.
struct KnobCalls {
  enum class Until : uint8_t { kEnd, kLastCall };

  Knobs* knobs = nullptr;  ///< null once the template has returned
  const Target* target = nullptr;
  std::vector<KnobQuestion>* wanted;  ///< of the first call; filled by that one
  bool declares = false;              ///< this is the first call
  Until until = Until::kEnd;
  size_t made = 0;     ///< calls so far
  std::string broken;  ///< of the first call: the first constraint that its defaults break
  std::string odd;     ///< how this call differs from the first; empty: it does not
  bool is_active = true;

  /// The template has returned: notes where it made fewer calls than the first time.
  void end();
};

/// `k` of a template.
struct PyKnobs {
  std::shared_ptr<KnobCalls> calls;
};

void bind_knobs(pybind11::module_& m);

}  // namespace hone::python
