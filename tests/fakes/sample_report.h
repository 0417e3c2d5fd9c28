// A report of a made-up model, with everything that a report can say.
#pragma once

#include <string>

#include "compiler/report/model_report.h"

namespace hone {

inline ReportLayer sample_layer(const std::string& nodes, const std::string& workload, const std::string& config,
                                double seconds) {
  ReportLayer l;
  l.nodes = nodes;
  l.workload = workload;
  l.config = config;
  l.source = "best (exact workload)";
  l.kernel = "m.0";
  l.threads = "all";
  l.operations = 2e6;
  l.bytes = 4096;
  l.seconds = seconds;
  l.roof_seconds = seconds / 2;
  return l;
}

inline ModelReport sample_report() {
  ReportVariant v;
  v.threads = 2;
  v.arena_bytes = 1024;
  v.arena_bound = 960;
  v.median_seconds = 3e-3;
  v.fastest_seconds = 2.5e-3;
  v.check = "2 layers agree";
  v.inputs = {{"image", "f32[1, 3, 8, 8]"}};
  v.outputs = {{"classes", "f32[1, 10]"}};
  v.layers = {sample_layer("conv + relu", "conv2d(n=1,ci=3)", "tile=4", 2e-3),
              sample_layer("gemm", "dense(m=1,n=10)", "tile=1", 1e-3)};
  v.layers[1].alone = "others read it, too";
  v.layers[1].layout = "in planes 1 ms";
  v.layers[1].in_place = "relu_out";
  v.layers[1].error = 1e-7;
  v.buffers = {{"relu_out", false, 0, 640, 0, 1}, {"workspace of gemm", true, 640, 320, 1, 1}};
  v.free = {{"flatten", "reshape(shape=1x4,to=4)"}};
  v.passes = {{"import", 5, 0}, {"fuse_epilogues", 2, 1e-4}};
  ModelReport r;
  r.model = "m.onnx";
  r.hone = "0.1.0";
  r.target = "llvm -threads=2";
  r.machine = "A CPU";
  r.when = "2026-01-31 12:00";
  r.artifact_bytes = 5000;
  r.weight_bytes = 3000;
  r.weights_file = "m.weights";
  r.denormals = "zero";
  r.peak_gflops = 100;
  r.variants = {v};
  return r;
}

}  // namespace hone
