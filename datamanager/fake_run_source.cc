#include "datamanager/fake_run_source.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "datamanager/listed_run.h"
#include "datamanager/run_data.h"
#include "datamanager/run_facts.h"
#include "datamanager/run_tree.h"
#include "datamanager/use_of_run.h"
#include "eventlog/file_scan.h"

namespace datamanager {

FakeRunSource::FakeRunSource() {
  char name[] = "/tmp/runs-XXXXXX";
  root_ = mkdtemp(name);
}

FakeRunSource::~FakeRunSource() { std::filesystem::remove_all(root_); }

void FakeRunSource::Append(const std::string& path, std::string_view bytes) const {
  const std::filesystem::path whole = root_ + "/" + path;
  std::filesystem::create_directories(whole.parent_path());
  std::ofstream(whole, std::ios::binary | std::ios::app) << bytes;
}

void FakeRunSource::Scan() {
  RunTree tree({.root = root_, .include = {}, .exclude = {}});
  tree.Rescan();
  scanned_ = true;
  for (const ListedRunPtr& listed : tree.runs()) {
    Run& run = runs_[listed->name];
    if (run.reader != nullptr) {
      run.reader->SetRun(listed);
      run.item->SetRun(listed);
      continue;
    }
    run.reader = std::make_unique<RunReader>(listed, RunReader::Options{.step_bytes = step_bytes_});
    run.item = std::make_shared<BriefItem>(listed);
  }
}

void FakeRunSource::Read(const std::string& name, Need need) {
  Run& run = runs_.at(name);
  if (need == Need::kPoints) run.reader->KeepPoints();
  run.reader->LookAtAll();
  eventlog::ReadBuffer buffer;
  while (!run.reader->idle() && run.reader->ReadOn(&buffer, false).status.ok()) {
  }
  auto waiting = std::exchange(waiting_, {});
  for (auto& [request, ready] : waiting) {
    if (request.run == name && IsThere(run, request.need)) {
      ready();
    } else {
      waiting_.emplace_back(request, std::move(ready));
    }
  }
}

void FakeRunSource::BeginToLoad(const std::string& run) {
  RunReader& reader = *runs_.at(run).reader;
  reader.KeepPoints();
  eventlog::ReadBuffer buffer;
  (void)reader.ReadOn(&buffer, false);
}

bool FakeRunSource::ReadWhatIsWanted() {
  const std::vector<Request> asked = std::exchange(asked_, {});
  for (const Request& request : asked) Read(request.run, request.need);
  return !asked.empty();
}

bool FakeRunSource::IsThere(const Run& run, Need need) {
  const RunData& data = run.reader->data();
  return need == Need::kCounts ? data.counted() : data.cached();
}

absl::StatusOr<std::vector<std::string>> FakeRunSource::Names() const {
  if (!scanned_) return absl::UnavailableError("the first scan goes on");
  std::vector<std::string> names;
  for (const auto& [name, run] : runs_) names.push_back(name);
  return names;
}

absl::StatusOr<std::shared_ptr<BriefItem>> FakeRunSource::Brief(const std::string& run) const {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return absl::NotFoundError(absl::StrCat("no run ", run));
  return found->second.item;
}

absl::Status FakeRunSource::Look(const Request& request, const Use& use) {
  const auto found = runs_.find(request.run);
  if (found == runs_.end()) return absl::NotFoundError(absl::StrCat("no run ", request.run));
  if (!found->second.why.ok()) return found->second.why;
  RunReader& reader = *found->second.reader;
  const RunData& data = reader.data();
  const CacheState not_cached = data.keeps_points() ? CacheState::kCaching : CacheState::kNotCached;
  const auto used =
      UseWhatIsThere(request, data.cached() ? CacheState::kCached : not_cached, reader, use);
  if (used.has_value() && !absl::IsUnavailable(*used)) return *used;
  if (request.cached_only) {
    return absl::FailedPreconditionError(absl::StrCat("run ", request.run, " is not cached"));
  }
  asked_.push_back(request);
  wanted_.push_back(request.run);
  if (used.has_value()) return *used;
  return absl::UnavailableError(absl::StrCat("run ", request.run, " is being read"));
}

void FakeRunSource::WhenReady(const Request& request, std::function<void()> ready) {
  waiting_.emplace_back(request, std::move(ready));
}

}  // namespace datamanager
