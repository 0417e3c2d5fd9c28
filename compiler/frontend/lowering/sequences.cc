#include "compiler/frontend/lowering/sequences.h"

#include <memory>
#include <utility>

namespace hone::frontend {

Operand of_elements(Lowering& l, Sequence elements) {
  const auto count = static_cast<int64_t>(elements.size());
  HONE_USER_CHECK(count <= kMostOfSequence)
      << "a sequence of " << count << " elements; " << kMostOfSequence << " are the most";
  HONE_USER_CHECK(l.may_make(count * static_cast<int64_t>(sizeof(Operand))))
      << "its sequences have too many elements in all";
  Operand out{kNoValue, {f32, {0}}};
  out.sequence = std::make_shared<const Sequence>(std::move(elements));
  return out;
}

std::string described(const Operand& x) {
  if (x.sequence) return "a sequence";
  return x.is_nothing ? "an optional that holds nothing" : "a tensor";
}

}  // namespace hone::frontend
