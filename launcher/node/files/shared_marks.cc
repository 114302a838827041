// Always true: at most one thread at a time writes or removes marks. Calls that arrive meanwhile
// wait for its end, so that a mark is never written after its removal.

#include "launcher/node/files/shared_marks.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(2);
// The trainer's limit is 512 KiB; a frame must also have room for the spec.
constexpr std::size_t kMaxConfig = 1 << 20;

bool WriteFile(const std::string& path, const std::string& mark) {
  const runtime::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.valid() && runtime::WriteAll(file.get(), mark).ok();
}

void RemoveFiles(const SharedMarks::Plan& plan) {
  for (const std::string& path : {plan.run, plan.work}) {
    if (!path.empty()) unlink(path.c_str());
  }
}

std::string DirectoriesOf(const SharedMarks::Plan& plan) {
  const auto directory = [](const std::string& path) { return path.substr(0, path.rfind('/')); };
  if (plan.run.empty() || plan.work.empty()) return directory(absl::StrCat(plan.run, plan.work));
  return absl::StrCat(directory(plan.run), " or ", directory(plan.work));
}

}  // namespace

SharedMarks::SharedMarks(Options options) : options_(std::move(options)) {
  if (!options_.write) options_.write = WriteFile;
}

SharedMarks::~SharedMarks() {
  way_->Close();
  if (thread_ != nullptr) thread_->Join(kToGiveUp);
}

void SharedMarks::Write(const Plan& plan, Done done) {
  wanted_ = ++last_;
  done_ = std::move(done);
  timer_.Start(options_.loop, options_.limit, [this, plan] {
    Answer(absl::UnavailableError(
        absl::StrCat("the file system of ", DirectoriesOf(plan), " has not answered for ",
                     absl::FormatDuration(options_.limit), " on the yard's machine")));
  });
  Queue([this, plan, number = last_] {
    if (number != wanted_) return false;
    Run([this, plan, number, write = options_.write, way = way_] {
      Written written{.run = !plan.run.empty() && write(plan.run, plan.mark),
                      .work = !plan.work.empty() && write(plan.work, plan.mark)};
      if (!plan.config.empty()) {
        written.config = runtime::ReadFile(plan.config, kMaxConfig).value_or("");
      }
      const bool is_awaited = way->Post([this, number, written] {
        Next();
        if (number == wanted_) Answer(written);  // This object may be destroyed in the call.
      });
      // (The marks are not needed, since no node knows of them.)
      if (!is_awaited) RemoveFiles(plan);
    });
    return true;
  });
}

void SharedMarks::Remove(const Plan& plan, std::function<void()> done) {
  wanted_ = 0;
  done_ = nullptr;
  timer_.Cancel();
  const auto once = std::make_shared<std::function<void()>>(std::move(done));
  const auto tell = [once] {
    if (*once) std::exchange(*once, nullptr)();
  };
  if (plan.run.empty() && plan.work.empty()) return (void)way_->Post(tell);
  if (*once) removal_timers_.emplace_back().Start(options_.loop, kToGiveUp, tell);
  Queue([this, plan, tell] {
    Run([this, plan, tell, way = way_] {
      RemoveFiles(plan);
      way->Post([this, tell] {
        Next();
        tell();
      });
    });
    return true;
  });
}

void SharedMarks::Answer(absl::StatusOr<Written> written) {
  timer_.Cancel();
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(written));
}

void SharedMarks::Queue(std::function<bool()> job) {
  waiting_.push_back(std::move(job));
  if (!is_busy_) Next();
}

void SharedMarks::Next() {
  is_busy_ = false;
  while (!is_busy_ && !waiting_.empty()) {
    const std::function<bool()> job = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    is_busy_ = job();
  }
}

void SharedMarks::Run(std::function<void()> body) {
  thread_ = std::make_unique<runtime::Thread>("marks", std::move(body));
}

}  // namespace launcher
