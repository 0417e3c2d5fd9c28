// Tools that the tests of db/ share: a folder of their own, sample rows, and checks of a Status's text.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/exit_code.h"
#include "db/store.h"

namespace hone::db {

/// A fresh folder, removed with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hone_db_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline std::unique_ptr<Store> open_store(const std::string& path, const OpenOptions& options = {}) {
  auto store = Store::open(path, options);
  if (!store.ok()) throw std::runtime_error(message_of(store.status()));
  return std::move(store).value();
}

inline std::unique_ptr<Store> memory_store() {
  OpenOptions options;
  options.mode = OpenMode::kMemory;
  return open_store("memory", options);
}

inline constexpr char kDense[] = "dense(m=128,n=768,k=768,dtype=f32,epilogue=none)";
inline constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

/// A provisional trial that went well.
inline TrialRow ok_trial(int64_t seq, double seconds, const std::string& config = "tile=1") {
  TrialRow t;
  t.session = "11111111-2222-3333-4444-555555555555";
  t.seq = seq;
  t.workload = kDense;
  t.target = kTarget;
  t.space = "feed1234";
  t.template_name = "dense_cpu";
  t.template_revision = 1;
  t.config = config;
  t.in_layout = "MK";
  t.out_layout = "MN";
  t.module_hash = "00112233445566778899aabbccddeeff";
  t.status = "ok";
  t.times = {seconds, seconds, seconds};
  t.seconds = seconds;
  t.phases = {0.001, 0.002, 0.012, 0.001, 0.02, 0};
  t.device = "box/cpu";
  t.device_model = "znver5";
  t.profile = "1+3x2ms";
  t.hone_version = "0.1.0";
  t.codegen_version = "1";
  t.sentinel_before = 1e-4;
  t.sentinel_after = 1.01e-4;
  t.created_at = 1'700'000'000'000 + seq;
  return t;
}

inline TrialRow confirmed_trial(int64_t seq, double seconds, const std::string& config) {
  TrialRow t = ok_trial(seq, seconds, config);
  t.confirmed = true;
  return t;
}

/// The same trial, timed on a machine that was not quiet.
inline TrialRow disturbed(TrialRow t, std::optional<double> default_seconds = std::nullopt) {
  t.disturbed = true;
  t.default_seconds = default_seconds;
  return t;
}

inline TrialRow failed_trial(int64_t seq, const std::string& status, const std::string& message) {
  TrialRow t = ok_trial(seq, 1, "tile=0");
  t.status = status;
  t.message = message;
  t.times.clear();
  t.seconds.reset();
  return t;
}

inline PriorRow sample_prior() {
  PriorRow p;
  p.target_kind = "llvm";
  p.schema = "00112233445566778899aabbccddeeff";
  p.hone_version = "0.1.0";
  p.created_at = 1'700'000'000'000;
  p.groups = 3, p.trials = 90, p.held_out = 3;
  p.pairwise = 0.875, p.peak1 = 0.75;
  p.model = std::string("\0\xff\x10model", 8);
  return p;
}

inline ChoiceRow sample_choice(const std::string& config = "tile=1", const std::string& instead_of = "tile=2") {
  return {kDense, kTarget, "feed1234", config, instead_of, 1e-3, 1.5e-3, 1'700'000'000'000};
}

inline ForeignRow sample_foreign(const std::string& hash = "aa") {
  ForeignRow r;
  r.hash = hash;
  r.source = "some.log", r.line = 3;
  r.template_name = "dense_nopack.x86", r.arguments = "[]", r.target = "llvm", r.config = "[]";
  r.status = "ok", r.seconds = 0.5;
  r.workload = kDense;
  return r;
}

/// Adds `trials`; a failure fails the test.
inline AddResult add(Store& store, const std::vector<TrialRow>& trials) {
  const auto added = store.trials().add(trials);
  EXPECT_TRUE(added.ok()) << added.status();
  return added.ok() ? *added : AddResult{};
}

inline std::vector<BestRow> bests(Store& store) { return store.best().list().value(); }

/// `status` is a database error (exit code 5) of one line that contains each of `parts`.
inline void expect_database_error(const Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(exit_code_of(status), kExitDatabase) << status;
  EXPECT_EQ(message_of(status).find('\n'), std::string::npos) << status;
  for (const std::string& part : parts) EXPECT_THAT(message_of(status), testing::HasSubstr(part));
}

}  // namespace hone::db
