#include "trainer/function/function_runner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/text/string_view.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/checkpoint_object.h"
#include "trainer/function/function_checkpoint.h"
#include "trainer/run/experiment_id.h"

// Invariants: between two calls the function is parked, has ended, or was not started, unless
// `awaiting_` is true. A result is counted before its checkpoints are committed, so that their
// counters include it; it is delivered afterwards, so that an announced checkpoint is on the disk.

namespace trainer {
namespace {

// How many earlier checkpoints are tried if the newest is damaged.
constexpr std::size_t kMaxEarlier = 16;
// Size in bytes of a checkpoint object from which Ray Tune, and we, warn.
constexpr std::size_t kLargeObject = 10'000'000;

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

ResultSource SourceOf(const FunctionRunner::Options& options) {
  return {
      .trial_id = options.trial.id,
      .experiment_id = options.experiment_id.empty() ? NewExperimentId() : options.experiment_id,
      .hostname = HostName(),
      .pid = getpid()};
}

bool IsChildOf(const std::string& directory, const std::string& parent) {
  struct stat above {
  }, wanted{};
  return stat((directory + "/..").c_str(), &above) == 0 && stat(parent.c_str(), &wanted) == 0 &&
         above.st_dev == wanted.st_dev && above.st_ino == wanted.st_ino;
}

// Returns the checkpoint that contains `path`, or `path` itself if no checkpoint does.
std::string RootOf(const std::string& path) { return FindCheckpointDirectory(path).value_or(path); }

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

}  // namespace

FunctionRunner::FunctionRunner(TrainableFunction function, Options options)
    : function_(std::move(function)),
      options_(std::move(options)),
      config_(std::make_shared<const NamedValues>(options_.config)),
      progress_(SourceOf(options_)) {
  if (const auto warning = CheckpointWarning(function_)) Warn(*warning);
}

FunctionRunner::~FunctionRunner() {
  if (auto stopped = Stop(); !stopped.ok()) Warn(std::string(runtime::Std(stopped.message())));
}

std::string FunctionRunner::Named() const {
  return absl::StrCat("function ", function_.name, " of trial ", options_.trial.id);
}

void FunctionRunner::Warn(const std::string& text) const {
  if (options_.warn) {
    options_.warn(text);
  } else {
    LOG(WARNING) << text;
  }
}

absl::Status FunctionRunner::CheckParked(std::string_view what) const {
  if (stopped_) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot ", runtime::Absl(what), ": ", Named(), " was stopped"));
  }
  if (!awaiting_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot ", runtime::Absl(what), ": ", Named(),
                                                    " is in a step that has timed out; step until "
                                                    "it reports"));
}

absl::StatusOr<Result> FunctionRunner::Step() {
  if (stopped_) return CheckParked("step");
  if (undelivered_) return Deliver();
  if (returned_) {
    DropSession();
    return absl::OutOfRangeError(absl::StrCat(
        Named(), " ran until completion; another step starts it anew from its newest checkpoint"));
  }
  if (session_ == nullptr) {
    if (auto started = Start(); !started.ok()) return started;
  } else if (!awaiting_) {
    session_->Resume();
  }
  awaiting_ = true;
  auto event = session_->Await(options_.step_timeout);
  if (!event.ok()) return Prefixed(Named(), event.status());
  awaiting_ = false;
  return TakeEvent(*std::move(event));
}

absl::Status FunctionRunner::Start() {
  if (auto removed = RemoveTemporaries(); !removed.ok()) return removed;
  DropDamaged();
  auto newest = LoadNewest();
  if (!newest.ok()) return newest.status();
  auto session =
      std::make_shared<FunctionSession>(options_.trial, *std::move(newest), options_.clock);
  try {
    // The thread owns everything that the function can reach, because it may outlive the runner.
    thread_ = std::make_unique<runtime::Thread>(
        function_.name, [session, config = config_, run = function_.run] {
          session->Run([&](Reporter& reporter) { return run(*config, reporter); });
        });
  } catch (const std::system_error& refused) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a thread for ", Named(), ": ", refused.what()));
  }
  session_ = std::move(session);
  return absl::OkStatus();
}

void FunctionRunner::DropDamaged() {
  // (A temporary one was checked when it was made.)
  while (newest_ && !newest_->temporary) {
    const absl::Status good = VerifyCheckpoint(RootOf(newest_->path));
    if (good.ok()) return;
    newest_.reset();
    if (!earlier_.empty()) {
      newest_ = Newest{std::move(earlier_.back())};
      earlier_.pop_back();
    }
    Warn(absl::StrCat(Named(), " goes on from ", newest_ ? newest_->path : "nothing", ": ",
                      good.message()));
  }
}

absl::StatusOr<std::optional<Checkpoint>> FunctionRunner::LoadNewest() const {
  if (!newest_) return std::optional<Checkpoint>();
  auto checkpoint = LoadCheckpoint(newest_->path);
  if (!checkpoint.ok()) return checkpoint.status();
  return std::optional<Checkpoint>(*std::move(checkpoint));
}

absl::StatusOr<Result> FunctionRunner::TakeEvent(FunctionSession::Event event) {
  switch (event.kind) {
    case FunctionSession::Event::Kind::kReport: {
      if (event.error_is_next) Warn(Named() + " has failed; its results come before the error");
      undelivered_ = progress_.Count(std::move(event.values), event.time, options_.clock->Now());
      // An error is returned by this step; the result follows with the next one.
      const auto ends = EndsAt(function_, *undelivered_);
      if (!ends.ok()) return Prefixed(Named(), ends.status());
      undelivered_->done = undelivered_->done || *ends;
      break;
    }
    case FunctionSession::Event::Kind::kReturned:
      undelivered_ = progress_.Duplicate(last_, options_.clock->Now());
      returned_ = true;
      break;
    case FunctionSession::Event::Kind::kFailed: {
      const absl::Status committed = CommitSaved();
      if (!committed.ok()) Warn(std::string(runtime::Std(committed.message())));
      DropSession();
      return Prefixed(Named() + " failed", event.error);
    }
  }
  return Deliver();
}

absl::StatusOr<Result> FunctionRunner::Deliver() {
  if (auto committed = CommitSaved(); !committed.ok()) return committed;
  Result result = *std::exchange(undelivered_, std::nullopt);
  result.should_checkpoint = fresh_;
  last_ = result;
  return result;
}

absl::Status FunctionRunner::CommitSaved() {
  if (session_ == nullptr) return absl::OkStatus();
  absl::Status error;
  const auto all = session_->TakeSaved();
  for (const FunctionSession::Saved& saved : all) {
    CheckpointMetadata metadata = progress_.Metadata();
    metadata.step = saved.step;
    metadata.saved_as_dict = saved.as_values;
    const std::string name = CheckpointName(saved.step.value_or(metadata.iteration));
    const auto committed = CommitCheckpoint(saved.temporary, name, metadata);
    if (committed.ok()) {
      SetNewest(absl::StrCat(options_.trial.directory, "/", name));
      fresh_ = true;
    } else {
      error.Update(Prefixed("cannot commit a checkpoint of " + Named(), committed.status()));
      RemoveCheckpoint(saved.temporary).IgnoreError();
    }
  }
  if (!all.empty()) error.Update(TellNewest());
  return error;
}

void FunctionRunner::SetNewest(std::string path) {
  if (newest_ && !newest_->temporary) earlier_.push_back(newest_->path);
  std::erase(earlier_, path);
  if (earlier_.size() > kMaxEarlier) earlier_.erase(earlier_.begin());
  newest_ = Newest{std::move(path)};
}

absl::Status FunctionRunner::TellNewest() {
  if (session_ == nullptr) return absl::OkStatus();
  auto newest = LoadNewest();
  if (!newest.ok()) return newest.status();
  session_->SetNewest(*std::move(newest));
  return absl::OkStatus();
}

void FunctionRunner::DropSession() {
  session_->RequestStop();
  thread_->Join(options_.stop_timeout);
  session_->Close();
  session_.reset();
  thread_.reset();
  returned_ = false;
}

absl::StatusOr<std::string> FunctionRunner::Save() {
  if (auto parked = CheckParked("save"); !parked.ok()) return parked;
  if (auto committed = CommitSaved(); !committed.ok()) return committed;
  if (!newest_) {
    return MakeNullCheckpoint(options_.trial.directory, progress_.Metadata().experiment_id);
  }
  if (newest_->temporary) {
    CheckpointMetadata metadata = progress_.Metadata();
    const auto restored = FindCheckpointDirectory(newest_->path);
    if (!restored.ok()) return restored.status();
    const auto known = ReadMetadata(*restored);
    if (!known.ok()) return known.status();
    metadata.saved_as_dict = known->saved_as_dict;
    auto permanent = MakePermanentCheckpoint(newest_->path, options_.trial.directory,
                                             progress_.training_iteration(), metadata);
    if (!permanent.ok()) return permanent.status();
    SetNewest(*std::move(permanent));
    if (auto told = TellNewest(); !told.ok()) return told;
  }
  struct stat about {};
  if (lstat(newest_->path.c_str(), &about) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat(Named(), ": its newest checkpoint, ",
                                                   newest_->path, ", cannot be used"));
  }
  fresh_ = false;
  return newest_->path;
}

absl::Status FunctionRunner::Restore(const std::string& path) {
  if (auto parked = CheckParked("restore"); !parked.ok()) return parked;
  if (auto committed = CommitSaved(); !committed.ok()) return committed;
  const auto directory = FindCheckpointDirectory(path);
  if (!directory.ok()) return directory.status();
  std::string inside = path.substr(directory->size());
  while (inside.ends_with('/')) inside.pop_back();
  const bool own = IsChildOf(*directory, options_.trial.directory) && !IsTemporary(*directory);
  if (own || IsNull(*directory)) {
    if (auto verified = VerifyCheckpoint(*directory); !verified.ok()) return verified;
    return Adopt(*directory + inside, false);
  }
  auto copy = CopyInCheckpoint(*directory, options_.trial.directory);
  if (!copy.ok()) return copy.status();
  temporaries_.push_back(*copy);
  return Adopt(*copy + inside, true);
}

absl::Status FunctionRunner::Adopt(const std::string& path, bool temporary) {
  const auto directory = FindCheckpointDirectory(path);
  if (!directory.ok()) return directory.status();
  const auto metadata = ReadMetadata(*directory);
  if (!metadata.ok()) return metadata.status();
  std::optional<Newest> adopted;
  if (!IsNull(*directory)) adopted = Newest{path, temporary};
  std::swap(newest_, adopted);
  auto loaded = LoadNewest();
  if (!loaded.ok()) {
    newest_ = std::move(adopted);
    return loaded.status();
  }
  if (session_ != nullptr) session_->SetNewest(*std::move(loaded));
  earlier_.clear();
  progress_.Restore(*metadata);
  last_.reset();
  fresh_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::string> FunctionRunner::SaveToObject() {
  const auto path = Save();
  if (!path.ok()) return path.status();
  auto object = CheckpointToObject(*path);
  if (object.ok() && object->size() > kLargeObject) {
    Warn(absl::StrCat(Named(), ": its checkpoint as an object has ", object->size(),
                      " bytes, all of them in memory; one saved by its path has none there"));
  }
  return object;
}

absl::Status FunctionRunner::RestoreFromObject(std::string_view object) {
  if (auto parked = CheckParked("restore"); !parked.ok()) return parked;
  if (auto committed = CommitSaved(); !committed.ok()) return committed;
  const auto path = CheckpointFromObject(object, options_.trial.directory);
  if (!path.ok()) return path.status();
  const auto directory = FindCheckpointDirectory(*path);
  if (!directory.ok()) return directory.status();
  temporaries_.push_back(*directory);
  return Adopt(*path, true);
}

absl::Status FunctionRunner::Execute(const std::function<absl::Status(Trainable&)>& function) {
  if (auto parked = CheckParked("execute a function"); !parked.ok()) return parked;
  return function(*this);
}

absl::Status FunctionRunner::Stop() {
  if (stopped_) return absl::OkStatus();
  absl::Status error = StopFunction();
  error.Update(CommitSaved());
  stopped_ = true;
  session_.reset();
  thread_.reset();
  newest_.reset();
  error.Update(RemoveTemporaries());
  return error;
}

absl::Status FunctionRunner::StopFunction() {
  if (session_ == nullptr) return absl::OkStatus();
  session_->RequestStop();
  const bool ended = thread_->Join(options_.stop_timeout);
  session_->Close();
  if (undelivered_ || session_->HasUnreadReport()) {
    Warn(absl::StrCat("results of ", Named(), " came after it was to stop: they are not logged"));
  }
  if (!ended) {
    return absl::DeadlineExceededError(
        absl::StrCat(Named(), " still runs ", absl::FormatDuration(options_.stop_timeout),
                     " after it was to stop: it has to report or to return"));
  }
  const absl::Status outcome = session_->outcome();
  return outcome.ok() ? outcome : Prefixed(Named() + " failed", outcome);
}

absl::Status FunctionRunner::RemoveTemporaries() {
  absl::Status error;
  std::vector<std::string> left;
  for (const std::string& temporary : temporaries_) {
    if (newest_ && newest_->path.starts_with(temporary)) {
      left.push_back(temporary);
    } else if (auto removed = RemoveCheckpoint(temporary); !removed.ok()) {
      error.Update(removed);
      left.push_back(temporary);
    }
  }
  temporaries_ = std::move(left);
  return error;
}

}  // namespace trainer
