#include "compiler/cli/tensorc_operator.h"

#include <fmt/format.h>

#include <string>

#include "base/exit_code.h"
#include "base/json.h"
#include "base/shell_command.h"
#include "base/time_text.h"
#include "base/writable.h"
#include "compiler/build/reproducer.h"
#include "compiler/cli/explain.h"
#include "compiler/cli/tensorc_files.h"
#include "compiler/driver/operator_artifact.h"
#include "compiler/driver/prepared_operator.h"
#include "compiler/host/measure_here.h"

namespace hone {
namespace {

// Repeats for time_here() when it takes less time than the machine's CPU account needs to see others' use.
constexpr double kRepeatMs = 5;
constexpr int kRepeatsToKnow = static_cast<int>(kEnoughToKnow * 1e3 / kRepeatMs);

class OperatorCommand {
 public:
  OperatorCommand(const TensorcOptions& o, const PreparedOperator& op, const BusyMachine& others, const Events& events,
                  std::ostream& out)
      : o_(o), op_(op), others_(others), events_(events), out_(out) {}

  Status run() {
    try {
      m_ = lower_config(op_.workload, place().target, op_.space, op_.chosen.config);
      m_.assume_finite = o_.assume_finite;
      return answer();
    } catch (const InternalError&) {
      tell_how_to_see_it_again();
      throw;
    }
  }

 private:
  const BuildPlace& place() const { return op_.place; }
  Device* gpu() const { return place().gpu.device(); }

  Status answer() {
    if (!o_.emit.empty()) {
      HONE_ASSIGN_OR_RETURN(const std::string text, emit_operator(o_, op_, m_, files_read(o_), events_));
      out_ << text;
    }
    if (o_.explain) HONE_RETURN_IF_ERROR(explain());
    if (place().remote && (o_.check || o_.bench)) {
      HONE_RETURN_IF_ERROR(run_remotely());
    } else {
      if (o_.check) HONE_RETURN_IF_ERROR(check());
      if (o_.bench) HONE_RETURN_IF_ERROR(bench());
    }
    if (o_.emit.empty() && !o_.check && !o_.bench && !o_.explain) out_ << op_.space.describe(op_.chosen.config) << "\n";
    return absl::OkStatus();
  }

  Status explain() const {
    const BuildPlace& p = place();
    return p.target.is_gpu()
               ? explain_gpu(op_.workload, p.target, op_.space, op_.chosen.config, m_, gpu(), p.no_gpu, out_)
               : hone::explain(op_.workload, p.target, op_.space, op_.chosen.config, m_, p.is_here(), out_);
  }

  Status run_remotely() {
    RemoteDevice& device = *place().remote;
    HONE_ASSIGN_OR_RETURN(const std::vector<RemoteFigures> all, device.run({{op_.workload, m_}}, {}));
    const RemoteFigures& figures = all[0];
    if (!figures.wrong.empty())
      return Status(absl::StatusCode::kInternal, fmt::format("{}: {}", device.name(), figures.wrong));
    if (o_.check)
      events_.tell(fmt::format("check: agrees with the reference on {} (relative error {:.2g})", device.name(),
                               figures.rel_error));
    if (!o_.bench) return absl::OkStatus();
    const std::string others = "others used " + device.name();
    print_time({figures.seconds, figures.spread}, figures.is_disturbed ? others : "");
    return absl::OkStatus();
  }

  Status check() const {
    const HereCheck c = check_here(op_.workload, place().target, m_, place().threads, gpu(), place().denormals);
    if (!c.ok) return Status(absl::StatusCode::kInternal, fmt::format("check: wrong result: {}", c.message));
    events_.tell(
        fmt::format("check: {} elements agree with the reference (relative error {:.2g})", c.compared, c.rel_error));
    return absl::OkStatus();
  }

  Status bench() const {
    const Target& target = place().target;
    HONE_ASSIGN_OR_RETURN(HereTime t, time_here(target, m_, gpu(), place().denormals));
    if (!gpu() && others_.seconds() < kEnoughToKnow) {
      HONE_ASSIGN_OR_RETURN(t, time_here(target, m_, nullptr, place().denormals, kRepeatsToKnow, kRepeatMs));
    }
    print_time(t, gpu() ? "" : others_.told());
    return absl::OkStatus();
  }

  // `others`: a description of other programs' use meanwhile; empty: none.
  void print_time(const HereTime& t, const std::string& others) const {
    if (!others.empty()) events_.tell(others + " meanwhile: the time may be too long");
    const Workload& w = op_.workload;
    const double gflops = flops(w) / t.seconds * 1e-9;
    if (o_.json) {
      OrderedJson line;
      line["workload"] = to_string(w);
      line["target"] = to_string(place().target);
      line["time_ms"] = t.seconds * 1e3;
      line["disturbed"] = !others.empty();
      line["gflops"] = gflops;
      line["config_source"] = op_.chosen.source;
      line["confidence"] = op_.chosen.confidence;
      line["config"] = config_json();
      out_ << json_line(line) << "\n";
      return;
    }
    // Where memory bounds the kernel, its bandwidth says more than its GFLOPS.
    const double bytes = tensor_bytes(w);
    const std::string rate = flops(w) < 10 * bytes ? fmt::format("{:.1f} GB/s", bytes / t.seconds * 1e-9)
                                                   : fmt::format("{:.1f} GFLOPS", gflops);
    out_ << fmt::format("{}\n  {} ms  {}  (spread {:.0f}%)  {}\n", to_string(w), ms_text(t.seconds), rate,
                        t.spread * 100, op_.space.describe(op_.chosen.config));
  }

  OrderedJson config_json() const {
    OrderedJson config = OrderedJson::object();
    for (size_t k : op_.space.knobs_at_work(op_.chosen.config))
      config[op_.space.knobs()[k].name] = op_.space.knobs()[k].text_of(op_.chosen.config.choices[k]);
    return config;
  }

  // An internal error is a bug of Hone: the user gets a file to send with the report.
  void tell_how_to_see_it_again() const {
    const Target& target = place().target;
    const std::string command = ShellCommand("tensorc")
                                    .option("--workload", to_string(op_.workload))
                                    .option("--target", to_string(target))
                                    .option("--config", op_.space.print(op_.chosen.config))
                                    .option("--emit", "legalized")
                                    .text();
    const auto failure = find_failure(op_.workload, target, op_.space, op_.chosen.config);
    if (!failure) return events_.tell("to see this error again: " + command);
    const auto written = write_reproducer(".", *failure, command, files_read(o_));
    events_.tell(written.ok() ? "what is needed to see this error again is in " + *written
                              : message_of(written.status()));
  }

  const TensorcOptions& o_;
  const PreparedOperator& op_;
  const BusyMachine& others_;
  const Events& events_;
  std::ostream& out_;
  Module m_;
};

}  // namespace

Status run_tensorc_operator(const OperatorTable& operators, const TensorcOptions& o, std::ostream& out,
                            std::ostream& err) {
  const BusyMachine others(o.cpu_account);
  const Events events{[&err](const std::string& line) { err << line << std::endl; }};
  if (!o.output.empty()) HONE_RETURN_IF_ERROR(check_writable(o.output));
  if (o.emit.empty() && !(o.lock + o.locked).empty())
    return usage_error("--lock and --locked belong to what is written: -o FILE");
  HONE_ASSIGN_OR_RETURN(const PreparedOperator op, prepare_operator(operators, o, events));
  if (o.emit.empty() && !o.disabled.empty()) return usage_error("--disable belongs to --emit lowered and legalized");
  return OperatorCommand(o, op, others, events, out).run();
}

}  // namespace hone
