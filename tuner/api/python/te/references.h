// How Python names the arguments of primitives: blocks as tensors and names too, scopes and kinds of loops as words.
#pragma once

#include <string>
#include <variant>

#include "compiler/schedule/schedule.h"
#include "tuner/api/python/te/expr.h"
#include "tuner/api/python/te/schedule.h"

namespace hone::python {

/// A block of a schedule, the tensor that it computes, or its name.
using BlockLike = std::variant<PyBlock, PyTensor, std::string>;

/// UserError when it is of another schedule, or there is none.
BlockRef block_of(const PySchedule& s, const BlockLike& block);
/// UserError when it is of another schedule.
LoopRef loop_of(const PySchedule& s, const PyLoop& loop);

/// ValueError for other words.
BufferScope scope_named(const std::string& name);
LoopKind kind_named(const std::string& name);

inline PyLoop made(const PySchedule& s, LoopRef ref) { return {s.schedule, ref}; }
inline PyBlock made(const PySchedule& s, BlockRef ref) { return {s.schedule, ref}; }
template <class Refs>
pybind11::tuple all_made(const PySchedule& s, const Refs& refs) {
  pybind11::tuple out(refs.size());
  for (size_t i = 0; i < refs.size(); ++i) out[i] = pybind11::cast(made(s, refs[i]));
  return out;
}

/// A type's name, for errors.
std::string type_name(const pybind11::handle& object);

}  // namespace hone::python
