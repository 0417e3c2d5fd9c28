// A measurement that a tophub has, which a build finds as the best config.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

#include "compiler/build/build.h"
#include "compiler/ops/workload.h"
#include "compiler/schedule/space.h"
#include "compiler/target/target.h"
#include "db/store.h"

namespace hone {

/// Adds it to the tophub at `path`, which is made if it is not there. `seq`: another one for each trial. `fingerprint`:
/// of another space than `space`; empty: of this one. `revisions_before`: how much older its template is.
inline void add_known_trial(const std::string& path, const Workload& workload, const Target& target, const Space& space,
                            const std::string& config, double seconds, int64_t seq, const std::string& fingerprint = "",
                            int revisions_before = 0) {
  auto store = db::Store::open(path);
  ASSERT_TRUE(store.ok()) << message_of(store.status());
  db::TrialRow row;
  row.session = "00000000-0000-4000-8000-000000000001";
  row.seq = seq;
  row.workload = to_string(workload);
  row.target = to_string(target);
  row.space = fingerprint.empty() ? space.fingerprint().hex() : fingerprint;
  row.template_name = space.template_name();
  row.template_revision = space.revision() - revisions_before;
  row.config = config;
  row.in_layout = "MK";
  row.out_layout = "MN";
  row.module_hash = std::string(32, '0');
  row.status = "ok";
  row.times = {seconds};
  row.seconds = seconds;
  row.device = "a/cpu";
  row.device_model = "test";
  row.profile = "default";
  row.hone_version = hone_version();
  row.codegen_version = "test";
  row.created_at = 1;
  const auto added = (*store)->trials().add(std::span(&row, 1));
  ASSERT_TRUE(added.ok()) << message_of(added.status());
}

}  // namespace hone
