#include "tools/yard/trial/trial_batch.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"

namespace yard {
namespace {

using runtime::MutexLock;

}  // namespace

TrialBatch::TrialBatch(Context* context, bus::Client* client)
    : context_(*context), client_(*client) {
  context_.interrupt->Handle([this] { OnInterrupt(); });
}

TrialBatch::~TrialBatch() {
  context_.interrupt->Handle(nullptr);
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  if (stopper_.joinable()) stopper_.join();
}

absl::StatusOr<msg::TrialT> TrialBatch::Start(const msg::RunTrialRequestT& request) {
  if (interrupted()) return absl::CancelledError("interrupted");
  const auto reply = client_.Call<rpc::Trainer::RunTrial>(request, Patient());
  if (!reply.ok()) return reply.status();
  if (reply->trial == nullptr) return absl::InternalError("the trainer sent no trial");
  MutexLock lock(mutex_);
  ids_.push_back(reply->trial->id);
  if (!context_.json) *context_.out << reply->trial->id << std::endl;
  return *reply->trial;
}

int TrialBatch::Await() {
  // Trials may have started while the first stop requests were being sent.
  if (interrupted()) StopAll();
  for (const std::string& id : Ids()) {
    const auto trial = AwaitOne(id);
    if (absl::IsNotFound(trial.status())) {
      Say(absl::StrCat(id, " was removed"));
      continue;
    }
    if (!trial.ok()) {
      Say("");
      return Fail(context_, "run", trial.status());
    }
    OnRest(*trial);
  }
  SetProgress("");
  if (!context_.json) Say(CountsLine(counts_));
  if (counts_.count(msg::TrialState::Failed) != 0) return kFailed;
  return interrupted() ? kInterrupted : kDone;
}

absl::StatusOr<msg::TrialT> TrialBatch::AwaitOne(const std::string& id) {
  msg::TrialT trial;
  const auto ended = FollowTrial(
      context_, id, ~std::uint64_t{0} >> 1, absl::InfiniteDuration(),
      [&](const msg::FollowTrialReplyT& part) {
        if (part.trial != nullptr) trial = *part.trial;
        return trial.state != msg::TrialState::Paused;
      },
      [this](const std::string& line) { Say(line); });
  if (!ended.ok() && trial.state == msg::TrialState::Paused) return trial;
  return ended;
}

void TrialBatch::OnRest(const msg::TrialT& trial) {
  ++counts_[trial.state];
  ++rest_;
  if (context_.json) {
    PrintJson(context_, ToJson(trial));
  } else if (trial.state == msg::TrialState::Failed) {
    Say(absl::StrCat(trial.id, " ", runtime::Printable(trial.name),
                     " FAILED: ", runtime::Printable(trial.reason)));
  }
  const auto failed = counts_.find(msg::TrialState::Failed);
  SetProgress(
      absl::StrCat(rest_, " of ", runtime::Counted(Ids().size(), "trial"),
                   failed == counts_.end() ? "" : absl::StrCat(", ", failed->second, " failed")));
}

void TrialBatch::OnInterrupt() {
  bool again = false;
  {
    MutexLock lock(mutex_);
    again = std::exchange(interrupted_, true);
  }
  if (again) {
    Say("left running: yard ps");
    _exit(kInterrupted);
  }
  Say("stopping all of them (Ctrl-C again leaves them running)");
  // Not on this thread, which must stay free to handle a second Ctrl-C.
  stopper_ = std::thread([this] { StopAll(); });
}

void TrialBatch::StopAll() {
  for (const std::string& id : Ids()) {
    if (IsClosing()) return;
    msg::StopTrialRequestT request;
    request.trial = id;
    const auto stopped = client_.Call<rpc::Trainer::StopTrial>(request, Patient());
    if (!stopped.ok()) {
      Say(absl::StrCat("yard run: ", id, ": ",
                       runtime::Printable(std::string(stopped.status().message()))));
    }
  }
}

bool TrialBatch::IsClosing() {
  MutexLock lock(mutex_);
  return closing_;
}

bool TrialBatch::interrupted() {
  MutexLock lock(mutex_);
  return interrupted_;
}

std::vector<std::string> TrialBatch::Ids() {
  MutexLock lock(mutex_);
  return ids_;
}

void TrialBatch::Say(const std::string& line) {
  MutexLock lock(mutex_);
  Clear();
  if (!line.empty()) *context_.err << line << std::endl;
  Draw();
}

void TrialBatch::SetProgress(std::string line) {
  MutexLock lock(mutex_);
  Clear();
  progress_ = std::move(line);
  Draw();
}

void TrialBatch::Clear() {
  if (context_.err_is_terminal && !progress_.empty()) *context_.err << "\r\x1b[K" << std::flush;
}

void TrialBatch::Draw() {
  if (context_.err_is_terminal && !progress_.empty()) *context_.err << progress_ << std::flush;
}

std::string CountsLine(const std::map<msg::TrialState, std::size_t>& counts) {
  std::size_t all = 0;
  std::string parts;
  for (const auto& [state, count] : counts) {
    all += count;
    absl::StrAppend(&parts, parts.empty() ? "" : ", ", count, " ", StateName(state));
  }
  return absl::StrCat(runtime::Counted(all, "trial"), ": ", parts);
}

}  // namespace yard
