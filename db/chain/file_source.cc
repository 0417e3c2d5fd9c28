#include "db/chain/file_source.h"

#include <fmt/format.h>

#include <fstream>
#include <unordered_map>

#include "base/exit_code.h"
#include "db/exchange.h"
#include "db/plausible.h"
#include "db/store.h"

namespace hone::db {
namespace {

class FileSource final : public Source {
 public:
  FileSource(const std::string& path, SourceFile kind, Trust trust) : path_(path), kind_(kind), trust_(trust) {}

  std::string name() const override { return path_; }
  Status open() override { return opened(kTrials).status(); }
  Status prefetch(const std::vector<TeamKey>&) override { return absl::OkStatus(); }

  Status visit(const std::string& workload, const std::string& target, const std::optional<std::string>& in_layout,
               const std::optional<std::string>& out_layout, const VisitBest& visit) override {
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kTrials));
    return store->best().visit(workload, target, in_layout, out_layout, [&](BestRow& row) { return visit(row, ""); });
  }

  // A session that ran on a file has batches there, which no import brings.
  StatusOr<Trust> trust(const BestRow& row, std::string_view) override {
    if (kind_ != SourceFile::kTophub) return trust_;
    if (row.session == last_session_) return last_trust_;  // most rows are of few sessions
    const auto known = ran_here_.find(row.session);
    if (known != ran_here_.end()) return remember(row.session, known->second);
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kTrials));
    HONE_ASSIGN_OR_RETURN(Statement q,
                          store->database().cached("SELECT EXISTS (SELECT 1 FROM batches b JOIN sessions s "
                                                   "ON s.id = b.session WHERE s.uuid = ?1)"));
    HONE_RETURN_IF_ERROR(q.bind(row.session));
    HONE_RETURN_IF_ERROR(q.step().status());
    const bool ran_here = q.integer(0) != 0;
    ran_here_.emplace(row.session, ran_here);
    return remember(row.session, ran_here);
  }

  StatusOr<std::vector<std::string>> other_targets(const std::string& workload, const std::string& target) override {
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kTrials));
    return store->best().other_targets(workload, target);
  }

  StatusOr<std::vector<std::string>> workloads(const std::string& task, const std::string& target_kind) override {
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kTrials));
    return store->best().workloads(task, target_kind);
  }

  StatusOr<std::optional<FoundChoice>> choice(const BestRow& best, std::string_view, const Source&) override {
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kTrials));
    HONE_ASSIGN_OR_RETURN(std::optional<ChoiceRow> choice,
                          store->choices().find(best.workload, best.target, best.space, best.config));
    if (!choice) return std::nullopt;
    if (kind_ != SourceFile::kTophub) return FoundChoice{*std::move(choice), trust_};
    HONE_ASSIGN_OR_RETURN(const bool is_of_here, store->choices().was_tried_here(*choice));
    return FoundChoice{*std::move(choice), is_of_here ? Trust::kHere : trust_};
  }

  StatusOr<std::optional<PriorRow>> prior(const std::string& target_kind, const std::string& schema) override {
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kPriors));
    return store->priors().find(target_kind, schema);
  }

  StatusOr<bool> has_prior(const std::string& target_kind) override {
    HONE_ASSIGN_OR_RETURN(Store* const store, opened(kPriors));
    HONE_ASSIGN_OR_RETURN(const std::vector<PriorRow> priors, store->priors().list(target_kind, /*with_models=*/false));
    return !priors.empty();
  }

 private:
  enum Part { kTrials, kPriors };  // those of an export are parsed apart

  Trust remember(const std::string& session, bool ran_here) {
    last_session_ = session;
    return last_trust_ = ran_here ? Trust::kHere : trust_;
  }

  StatusOr<Store*> opened(Part part) {
    std::unique_ptr<Store>& store = stores_[kind_ == SourceFile::kExport ? part : kTrials];
    if (!store) {
      HONE_ASSIGN_OR_RETURN(store, open_part(part));
    }
    return store.get();
  }

  StatusOr<std::unique_ptr<Store>> open_part(Part part) const {
    if (kind_ == SourceFile::kTophub) return open_for_reading(path_);
    OpenOptions options;
    options.mode = kind_ == SourceFile::kPackage ? OpenMode::kImmutable : OpenMode::kMemory;
    HONE_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::open(path_, options));
    if (kind_ == SourceFile::kExport) {
      std::ifstream in(path_);
      if (!in) return database_error(fmt::format("{} cannot be read", path_));
      // Installed with the program, and read where a board's clock may not have been set yet.
      const ImportParts parts{part == kTrials, part == kPriors, nullptr, kAnyDate};
      HONE_RETURN_IF_ERROR(import_records(*store, in, path_, parts).status());
    }
    return store;
  }

  const std::string path_;
  const SourceFile kind_;
  const Trust trust_;
  std::unique_ptr<Store> stores_[2];                // by Part, opened when first asked; a database has but the first
  std::unordered_map<std::string, bool> ran_here_;  // by session
  std::string last_session_;                        // of these, with its answer
  Trust last_trust_ = Trust::kElsewhere;
};

}  // namespace

std::unique_ptr<Source> file_source(const std::string& path, SourceFile kind, Trust trust) {
  return std::make_unique<FileSource>(path, kind, trust);
}

}  // namespace hone::db
