#include "tuner/api/python/te/references.h"

#include "base/check.h"

namespace hone::python {

namespace py = pybind11;

BlockRef block_of(const PySchedule& s, const BlockLike& block) {
  if (const auto* given = std::get_if<PyBlock>(&block)) {
    HONE_USER_CHECK(given->schedule == s.schedule) << "a block of another schedule";
    return given->ref;
  }
  const auto* tensor = std::get_if<PyTensor>(&block);
  return s.schedule->block(tensor ? tensor->tensor->name : std::get<std::string>(block));
}

LoopRef loop_of(const PySchedule& s, const PyLoop& loop) {
  HONE_USER_CHECK(loop.schedule == s.schedule) << "a loop of another schedule";
  return loop.ref;
}

BufferScope scope_named(const std::string& name) {
  for (const BufferScope s : {BufferScope::kWorkspace, BufferScope::kStack, BufferScope::kShared})
    if (name == name_of(s)) return s;
  throw py::value_error("scope '" + name + "'; there are workspace, stack and shared");
}

LoopKind kind_named(const std::string& name) {
  if (name == "block") return LoopKind::kBlock;
  if (name == "thread") return LoopKind::kThread;
  if (name == "warp") return LoopKind::kWarp;
  throw py::value_error("loop kind '" + name + "'; there are block, thread and warp");
}

std::string type_name(const py::handle& object) {
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

}  // namespace hone::python
