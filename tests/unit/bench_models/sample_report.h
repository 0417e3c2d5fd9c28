// A run that was never measured.
#pragma once

#include "tests/bench/models/result.h"

namespace hone::bench {

inline Row sample_row(const std::string& model, const std::string& group, int threads, double untuned, double tuned,
                      double peer) {
  Row r;
  r.model = model;
  r.group = group;
  r.threads = threads;
  r.configs = {{"best", 7}, {"nearest", 2}};
  // The median is the one in the middle.
  r.turns_ms = {{kUntuned, {untuned, untuned / 2, untuned * 3}},
                {kTuned, {tuned * 9, tuned, tuned / 2}},
                {kPeer, {peer / 2, peer * 2, peer}}};
  r.difference = 1e-6;
  r.others_cpus = 0.05;
  r.artifact_bytes = 1'500'000;
  r.model_bytes = 1'000'000;
  r.starts = {{kUntuned, {0, 1, 2}}, {kTuned, {0, 0.5, 1}}, {kPeer, {30, 40, 3}}};
  return r;
}

/// Two groups, one and two threads, and a model that failed.
inline Report sample_report() {
  Report r{"A machine, 2 CPUs", "bench_models a.onnx", "1.30.0", 45'000'000, {}};
  r.rows = {sample_row("mobile", "convolutions", 1, 2, 1, 2), sample_row("residual", "convolutions", 1, 8, 4, 2),
            sample_row("text", "products", 1, 1, 1, 4), sample_row("mobile", "convolutions", 2, 4, 2, 2)};
  Row failed;
  failed.model = "residual";
  failed.group = "convolutions";
  failed.threads = 2;
  failed.error = "ONNX Runtime: ended with SIGKILL (Killed)";
  r.rows.push_back(failed);
  return r;
}

}  // namespace hone::bench
