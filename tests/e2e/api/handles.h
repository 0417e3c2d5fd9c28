// Owners of the handles of hone.h.
#pragma once

#include <hone.h>

#include <memory>

namespace hone {

struct CloseModel {
  void operator()(HoneModel* m) const { hone_close(m); }
};
using Model = std::unique_ptr<HoneModel, CloseModel>;
struct FreePool {
  void operator()(HoneRuntime* p) const { hone_pool_free(p); }
};
using Pool = std::unique_ptr<HoneRuntime, FreePool>;

}  // namespace hone
