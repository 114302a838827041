#include "trainer/function/function_session.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/report_channel/relay_protocol.h"
#include "runtime/text/json_value.h"
#include "runtime/text/utf8.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/function_failure.h"
#include "trainer/report/report_line.h"

// Invariant: the driver resumes only a function whose report it has taken, so `report_` is empty
// while the function runs, unless several threads of the function report one after the other.

namespace trainer {
namespace {

constexpr std::size_t kMaxValues = 20'000;
constexpr std::size_t kMaxSaved = 16;
constexpr std::size_t kMaxEvents = 1000;

thread_local Reporter* current_reporter = nullptr;

// Binds a reporter to this thread for its lifetime.
class Binding {
 public:
  explicit Binding(Reporter* reporter) { current_reporter = reporter; }
  ~Binding() { current_reporter = nullptr; }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;
};

void CheckBounds(const NamedValues& values, std::size_t max_bytes, const char* what) {
  if (values.count() > kMaxValues) {
    throw std::invalid_argument(
        absl::StrCat(what, " of ", values.count(), " values is over the limit of ", kMaxValues));
  }
  if (values.size() > max_bytes) {
    throw std::invalid_argument(
        absl::StrCat(what, " of ", values.size(), " bytes is over the limit of ", max_bytes));
  }
}

// Checks the bounds of a report. `directory` is the trial's; the report's line may contain it.
void CheckReport(const NamedValues& values, const std::string& directory) {
  constexpr std::size_t kEscape = 6;   // Most bytes of JSON for one byte.
  constexpr std::size_t kFrame = 256;  // For seq, and a checkpoint's name.
  CheckBounds(values, runtime::kMaxReportLine, "a report");
  const std::size_t limit =
      runtime::kMaxReportLine -
      std::min(runtime::kMaxReportLine, kFrame + runtime::Quote(directory).size());
  if (values.size() <= limit / kEscape) return;
  const std::size_t size = values.ToJson().size();
  if (size <= limit) return;
  throw std::invalid_argument(
      absl::StrCat("a report of ", size, " bytes as JSON is over the limit of ", limit));
}

void CheckUtf8(std::string_view name, std::string_view text) {
  if (runtime::ValidUtf8(text) != text) {
    throw std::invalid_argument(absl::StrCat("the value ", runtime::Quote(name.substr(0, 100)),
                                             " of a checkpoint is not UTF-8: save it as a file"));
  }
}

void CheckStep(std::int64_t step) {
  if (step >= 0) return;
  throw std::invalid_argument(absl::StrCat("step ", step, " of a checkpoint is negative"));
}

std::string OrThrow(absl::StatusOr<std::string> path) {
  if (!path.ok()) throw std::runtime_error(path.status().ToString());
  return *std::move(path);
}

absl::Status RunCatching(const FunctionSession::Body& body, Reporter& reporter) {
  try {
    return body(reporter);
  } catch (const StopTrial&) {
    return absl::OkStatus();
  } catch (const abi::__forced_unwind&) {
    throw;  // The thread is cancelled.
  } catch (...) {
    return CurrentFailure();
  }
}

}  // namespace

Reporter* CurrentReporter() { return current_reporter; }

void Reporter::Report(NamedValues values) { session_.Report(std::move(values)); }
void Reporter::SaveCheckpoint(std::int64_t step,
                              const std::function<void(const std::string& directory)>& write) {
  session_.SaveCheckpoint(step, write);
}
void Reporter::SaveCheckpoint(std::int64_t step, const std::string& directory) {
  session_.SaveCheckpoint(step, directory);
}
void Reporter::SaveCheckpoint(const NamedValues& values) { session_.SaveCheckpoint(values); }
std::optional<Checkpoint> Reporter::checkpoint() const { return session_.newest(); }
std::vector<std::string> Reporter::TakeEvents() { return session_.TakeEvents(); }
const TrialInfo& Reporter::trial() const { return session_.trial(); }

FunctionSession::FunctionSession(TrialInfo trial, std::optional<Checkpoint> newest,
                                 const runtime::Clock* clock)
    : trial_(std::move(trial)),
      clock_(clock),
      began_(clock->Monotonic()),
      newest_(std::move(newest)) {}

void FunctionSession::Run(const Body& body) {
  // When a thread is cancelled or calls pthread_exit(), only destructors still run.
  struct Ending {
    FunctionSession* session;
    absl::Status outcome;
    ~Ending() { session->Finish(std::move(outcome)); }
  } ending{this, absl::AbortedError("its thread has ended without a result or an error")};
  Reporter reporter(*this);
  const Binding binding(&reporter);
  ending.outcome = RunCatching(body, reporter);
}

void FunctionSession::Finish(absl::Status outcome) {
  {
    runtime::MutexLock lock(mutex_);
    outcome_ = std::move(outcome);
  }
  event_.Pass();
}

void FunctionSession::Resume() { go_on_.Pass(); }

std::optional<FunctionSession::Event> FunctionSession::TakeEvent() {
  runtime::MutexLock lock(mutex_);
  if (report_) {
    std::optional<Event> event = std::exchange(report_, std::nullopt);
    event->error_is_next = outcome_ && !outcome_->ok();
    return event;
  }
  if (!outcome_) return std::nullopt;
  Event end;
  end.kind = outcome_->ok() ? Event::Kind::kReturned : Event::Kind::kFailed;
  end.error = *outcome_;
  return end;
}

absl::StatusOr<FunctionSession::Event> FunctionSession::Await(absl::Duration timeout) {
  const runtime::Clock* const clock = runtime::Clock::Real();
  const absl::Duration deadline = clock->Monotonic() + timeout;
  while (true) {
    if (auto event = TakeEvent()) return *std::move(event);
    if (!event_.Take(deadline - clock->Monotonic())) {
      return absl::DeadlineExceededError(
          absl::StrCat("no report within ", absl::FormatDuration(timeout)));
    }
  }
}

void FunctionSession::RequestStop() {
  {
    runtime::MutexLock lock(mutex_);
    stopping_ = true;
  }
  go_on_.Pass();
}

void FunctionSession::Close() {
  runtime::MutexLock lock(mutex_);
  closed_ = true;
}

bool FunctionSession::HasUnreadReport() const {
  runtime::MutexLock lock(mutex_);
  return report_.has_value();
}

absl::Status FunctionSession::outcome() const {
  runtime::MutexLock lock(mutex_);
  return outcome_.value_or(absl::OkStatus());
}

std::vector<FunctionSession::Saved> FunctionSession::TakeSaved() {
  runtime::MutexLock lock(mutex_);
  return std::exchange(saved_, {});
}

void FunctionSession::SetNewest(std::optional<Checkpoint> newest) {
  runtime::MutexLock lock(mutex_);
  newest_ = std::move(newest);
}

void FunctionSession::AddEvents(std::vector<std::string> events) {
  runtime::MutexLock lock(mutex_);
  events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
  if (events_.size() > kMaxEvents) {
    events_.erase(events_.begin(), events_.end() - static_cast<std::ptrdiff_t>(kMaxEvents));
  }
}

std::vector<std::string> FunctionSession::TakeEvents() {
  runtime::MutexLock lock(mutex_);
  return std::exchange(events_, {});
}

std::optional<Checkpoint> FunctionSession::newest() const {
  runtime::MutexLock lock(mutex_);
  return newest_;
}

void FunctionSession::Report(NamedValues values) {
  CheckReport(values, trial_.directory);
  {
    runtime::MutexLock lock(mutex_);
    if (stopping_) throw StopTrial();
    if (reporting_) throw std::logic_error("two threads of a function report at the same time");
    reporting_ = true;
    Event report;
    report.values = std::move(values);
    report.time = clock_->Monotonic() - began_;
    report_ = std::move(report);
  }
  event_.Pass();
  go_on_.Take();
  runtime::MutexLock lock(mutex_);
  reporting_ = false;
  began_ = clock_->Monotonic();
  if (stopping_) throw StopTrial();
}

void FunctionSession::SaveCheckpoint(
    std::int64_t step, const std::function<void(const std::string& directory)>& write) {
  CheckStep(step);
  CheckOpen();
  Keep({Fill(step, write), step, false}, std::nullopt);
}

void FunctionSession::SaveCheckpoint(std::int64_t step, const std::string& directory) {
  CheckStep(step);
  CheckOpen();
  Keep({OrThrow(CopyInCheckpoint(directory, trial_.directory, step)), step, false}, std::nullopt);
}

void FunctionSession::SaveCheckpoint(const NamedValues& values) {
  CheckBounds(values, kMaxDictionary, "a checkpoint");
  for (const auto& [name, value] : values) {
    CheckUtf8(name, name);
    if (const std::string* const text = value.AsText()) CheckUtf8(name, *text);
  }
  CheckOpen();
  std::string filled = Fill(std::nullopt, [&](const std::string& directory) {
    absl::Status written = WriteDictionary(directory, values.ToJson());
    // The metadata is written now, because another process may commit this checkpoint and add
    // counters.
    CheckpointMetadata metadata;
    metadata.saved_as_dict = true;
    written.Update(WriteMetadata(directory, metadata));
    if (!written.ok()) throw std::runtime_error(written.ToString());
  });
  Keep({std::move(filled), std::nullopt, true}, values);
}

void FunctionSession::CheckOpen() const {
  runtime::MutexLock lock(mutex_);
  if (closed_) throw StopTrial();
  if (saved_.size() >= kMaxSaved) {
    throw std::logic_error(absl::StrCat(kMaxSaved, " checkpoints without a report between them"));
  }
}

std::string FunctionSession::Fill(
    std::optional<std::int64_t> step,
    const std::function<void(const std::string& directory)>& write) const {
  std::string directory = OrThrow(MakeTemporaryCheckpoint(trial_.directory, step));
  try {
    write(directory);
  } catch (...) {
    RemoveCheckpoint(directory).IgnoreError();
    throw;
  }
  return directory;
}

void FunctionSession::Keep(Saved saved, std::optional<NamedValues> values) {
  {
    runtime::MutexLock lock(mutex_);
    if (!closed_) {
      newest_ = Checkpoint{saved.temporary, std::move(values)};
      saved_.push_back(std::move(saved));
      return;
    }
  }
  RemoveCheckpoint(saved.temporary).IgnoreError();
  throw StopTrial();
}

}  // namespace trainer
