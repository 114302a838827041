#include "bench/sweep_figures.h"

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/sweep.h"
#include "tuning/engine/engine_event.h"

namespace bench {
namespace {

using Kind = tuning::EngineEvent::Kind;

constexpr std::uint64_t kTrials = 10'000;
constexpr std::uint64_t kTimed = 100;  // Trials whose events are timed.
constexpr std::uint64_t kBefore = 10;  // Trials before the timed ones.
constexpr int kReports = 3;
constexpr int kEvents = kReports + 3;

class SweepInStore {
 public:
  SweepInStore() {
    std::string name = (std::filesystem::temp_directory_path() / "sweep-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) directory_ = name;
  }
  ~SweepInStore() {
    std::error_code none;
    store_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_, none);
  }

  absl::Status Begin() {
    if (directory_.empty()) return absl::InternalError("cannot make a temporary directory");
    if (auto opened = Open(); !opened.ok()) return opened;
    record_.id = "s-bench";
    record_.name = "bench";
    record_.request_id = "bench";
    record_.request.plan = absl::StrCat(
        R"({"method":"tpe","metric":{"name":"loss","at":"last"},"parallel":1,"run_cap":)",
        kTrials + 1,
        R"(,"duplicates":"allow","parameters":{"lr":{"min":1e-5,"max":0.1,"log":true},)",
        R"("wd":{"min":0.0,"max":0.1},"depth":{"min":1,"max":12},"batch":{"min":8,"max":512},)",
        R"("dropout":{"min":0.0,"max":0.8},"opt":{"values":["sgd","adam","rmsprop"]}}})");
    std::vector<trainer::SweepEventRow> events;
    auto sweep = trainer::Sweep::Begin(record_, 1, events);
    if (!sweep.ok()) return sweep.status();
    const auto number = store_->InsertSweep(record_, events);
    if (!number.ok()) return number.status();
    record_.number = *number;
    return Load();
  }
  absl::Status Open() {
    store_.reset();
    auto store = trainer::TrialStore::Open(directory_ + "/trainer.db");
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    return absl::OkStatus();
  }
  absl::Status Load() {
    auto loaded = trainer::Sweep::Load(record_, *store_);
    if (!loaded.ok()) return loaded.status();
    sweep_ = *std::move(loaded);
    return absl::OkStatus();
  }

  // Runs a trial from its suggestion to its end.
  absl::Status RunOne() {
    const auto asked = sweep_->engine().AskedNow();
    if (!asked) return absl::InternalError("the sweep asks for nothing");
    const auto& [trial, number] = *asked;
    const double share = static_cast<double>(trial) / static_cast<double>(kTrials);
    std::vector<tuning::EngineEvent> events = {
        {.kind = Kind::kSuggested,
         .trial = trial,
         .number = number,
         .text = absl::StrCat(R"({"lr":0.001,"wd":)", share / 10,
                              R"(,"depth":5,"batch":64,"dropout":0.25,"opt":"adam"})")},
        {.kind = Kind::kStarted, .trial = trial, .number = 1, .text = "t-abcde"}};
    for (int step = 1; step <= kReports; ++step) {
      events.push_back({.kind = Kind::kReported,
                        .trial = trial,
                        .resource = static_cast<double>(step),
                        .value = share + 1.0 / step});
    }
    events.push_back({.kind = Kind::kEnded, .trial = trial});
    for (tuning::EngineEvent& event : events) {
      trainer::StoreBatch batch;
      if (!sweep_->Apply(std::move(event), 1, batch).changed) {
        return absl::InternalError("an event has changed nothing");
      }
      if (auto written = store_->Write(batch); !written.ok()) return written;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<double> MicrosecondsOfEvents() {
    const absl::Time begin = absl::Now();
    for (std::uint64_t i = 0; i < kTimed; ++i) {
      if (auto run = RunOne(); !run.ok()) return run;
    }
    return absl::ToDoubleMicroseconds(absl::Now() - begin) / (kTimed * kEvents);
  }
  double Bytes() const {
    double bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      bytes += static_cast<double>(file.file_size());
    }
    return bytes;
  }
  std::uint64_t trials() const { return sweep_->engine().trials().size(); }

 private:
  std::string directory_;
  trainer::SweepRecord record_;
  std::unique_ptr<trainer::TrialStore> store_;
  std::unique_ptr<trainer::Sweep> sweep_;
};

}  // namespace

absl::StatusOr<SweepFigures> MeasureSweepStorage() {
  SweepInStore sweep;
  if (auto begun = sweep.Begin(); !begun.ok()) return begun;
  SweepFigures figures;
  const double empty = sweep.Bytes();
  for (std::uint64_t i = 0; i < kBefore; ++i) {
    if (auto run = sweep.RunOne(); !run.ok()) return run;
  }
  const auto first = sweep.MicrosecondsOfEvents();
  if (!first.ok()) return first.status();
  figures.event_us_at_10 = *first;
  while (sweep.trials() < kTrials - kTimed) {
    if (auto run = sweep.RunOne(); !run.ok()) return run;
  }
  const auto last = sweep.MicrosecondsOfEvents();
  if (!last.ok()) return last.status();
  figures.event_us_at_10000 = *last;
  const absl::Time begin = absl::Now();
  if (auto opened = sweep.Open(); !opened.ok()) return opened;
  if (auto loaded = sweep.Load(); !loaded.ok()) return loaded;
  figures.load_seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  figures.bytes_per_trial = (sweep.Bytes() - empty) / static_cast<double>(sweep.trials());
  return figures;
}

}  // namespace bench
