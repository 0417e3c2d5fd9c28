// Times that `tensorc --bench` and `--profile` print.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "compiler/cli/tensorc.h"
#include "compiler/frontend/onnx/onnx.pb.h"
#include "tests/fakes/small_model.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Writes a model so small that its time in ms has zeros behind the point.
void write_tiny_model(const std::string& path) {
  onnx::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::Graph& graph = *model.mutable_graph();
  onnx::Node& node = *graph.add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  for (auto* port : {graph.add_input(), graph.add_output()}) {
    auto& type = *port->mutable_type()->mutable_tensor_type();
    type.set_elem_type(1);
    type.mutable_shape()->add_dim()->set_dim_value(8);
  }
  graph.mutable_input(0)->set_name("x");
  graph.mutable_output(0)->set_name("y");
  std::ofstream file(path, std::ios::binary);
  model.SerializeToOstream(&file);
}

struct Bench : testing::Test {
  const TemporaryFolder folder;
  std::ostringstream out, err;
  TensorcOptions options;

  void SetUp() override {
    options.threads = {1};
    options.config = "default";
    options.bench = true;
  }
  void bench_model() {
    options.model = folder.path() + "/tiny.onnx";
    options.output = folder.path() + "/tiny.so";
    options.profile = true;
    write_tiny_model(options.model);
    bench();
  }
  void bench_operator() {
    options.workload = "elementwise(op=relu,shape=8)";
    bench();
  }
  void bench() {
    const Status s = run_tensorc(standard_operators(), options, out, err);
    ASSERT_TRUE(s.ok()) << s;
  }
  // A neighbour on every CPU of a large machine, or none.
  void others_use(double cores) {
    const auto start = std::chrono::steady_clock::now();
    options.cpu_account = [=] {
      timespec own{};
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
      const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return CpuAccount{static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec) + cores * passed, 0};
    };
  }
};

TEST_F(Bench, ATinyModelTakesThreeDigitsOfTime) {
  others_use(0);
  bench_model();
  // Not all of them are zeros.
  EXPECT_THAT(out.str(),
              ContainsRegex("(^|\n)0\\.0*[1-9][0-9][0-9] ms \\(median of [0-9]+, fastest 0\\.0*[1-9][0-9][0-9]\\)"));
  EXPECT_THAT(out.str(), ContainsRegex(" 0\\.0*[1-9][0-9][0-9] ms in all"));
  EXPECT_THAT(err.str(), testing::Not(HasSubstr("too long")));
}

TEST_F(Bench, ABusyMachineIsSaidSo) {
  others_use(1000);
  SmallModel().write(folder.path() + "/small.onnx");
  options.model = folder.path() + "/small.onnx";
  options.output = folder.path() + "/small.so";
  options.profile = true;
  bench();
  EXPECT_THAT(err.str(),
              ContainsRegex("others kept [0-9.]+ of this machine's [0-9]+ CPUs busy meanwhile: the time may be "
                            "too long\n"));
  EXPECT_THAT(err.str(), HasSubstr("CPUs busy while layers were timed: their times may be too long\n"));
}

TEST_F(Bench, ABusyMachineIsSaidSoOfAnOperator) {
  options.json = true;
  others_use(1000);
  bench_operator();
  EXPECT_THAT(err.str(), HasSubstr("meanwhile: the time may be too long"));
  EXPECT_EQ(OrderedJson::parse(out.str())["disturbed"], true);
}

TEST_F(Bench, AQuietMachineIsNotDisturbed) {
  options.json = true;
  others_use(0);
  bench_operator();
  EXPECT_THAT(err.str(), testing::Not(HasSubstr("too long")));
  EXPECT_EQ(OrderedJson::parse(out.str())["disturbed"], false);
}

}  // namespace
}  // namespace hone
