// Foreign records: as seeds of a search, and their meaning when they are imported.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ops/operator.h"
#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"
#include "db/autotvm.h"
#include "db/foreign_store.h"

namespace hone {

struct ForeignSeeds {
  std::vector<Config> configs;  ///< valid, without duplicates, the most promising first
  size_t records = 0;           ///< how many records there were to choose from
  std::string workload;         ///< the workload of these records; another one when there are none of the same shape
};

/// At most `most` seeds for `workload`: from the fastest records of the same shape (layout, types and epilogue may
/// differ: the register tile stays good), else from those of the nearest shape of the same task. Records of a machine
/// of the same architecture go first, then by time.
StatusOr<ForeignSeeds> foreign_seeds(const db::ForeignStore& store, const Workload& workload, const Target& target,
                                     const Space& space, size_t most);

/// Maps foreign records for `tophub import`. For one thread only.
class ForeignReader {
 public:
  /// Seeds are counted for a search on `target`, in its default layout for convolutions.
  ForeignReader(OperatorTable operators, Target target);
  ~ForeignReader();
  db::ForeignMeaning operator()(const db::ForeignRow& record);

 private:
  const Space* space_of(const Workload& workload);
  const OperatorTable operators_;
  const Target target_;
  std::map<std::string, std::unique_ptr<Space>> spaces_;  // null: no template
};

}  // namespace hone
