// Always true: one thread at a time is on its way, which writes or removes; what comes meanwhile
// waits for its end, so that a mark is never written after it was removed.

#include "launcher/node/files/shared_marks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/node/files/way_back.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

constexpr absl::Duration kToGiveUp = absl::Seconds(2);
// The trainer's limit is 512 KiB; a frame has to hold the spec as well.
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

class Marks final : public SharedMarks {
 public:
  explicit Marks(Options options) : options_(std::move(options)) {
    if (!options_.write) options_.write = WriteFile;
  }
  ~Marks() override {
    *alive_ = false;
    way_->Close();
    options_.loop->Cancel(timer_);
    for (const auto timer : removal_timers_) options_.loop->Cancel(timer);
    if (thread_ != nullptr) thread_->Join(kToGiveUp);
  }

  void Write(const Plan& plan, Done done) override {
    wanted_ = ++last_;
    done_ = std::move(done);
    timer_ = options_.loop->RunAfter(options_.limit, [this, plan] {
      timer_ = 0;
      Answer(absl::UnavailableError(
          absl::StrCat("the file system of ", DirectoriesOf(plan), " has not answered for ",
                       absl::FormatDuration(options_.limit), " on the yard's machine")));
    });
    Queue([this, plan, number = last_] {
      if (number != wanted_) return false;
      Run([this, plan, number, write = options_.write, way = way_, alive = alive_] {
        Written written{.run = !plan.run.empty() && write(plan.run, plan.mark),
                        .work = !plan.work.empty() && write(plan.work, plan.mark)};
        if (!plan.config.empty()) {
          written.config = runtime::ReadFile(plan.config, kMaxConfig).value_or("");
        }
        const bool is_awaited = way->Post([this, alive, number, written] {
          if (!*alive) return;
          if (number == wanted_) Answer(written);
          if (*alive) Next();
        });
        // (No node was told of them.)
        if (!is_awaited) RemoveFiles(plan);
      });
      return true;
    });
  }

  bool is_wanted() const override { return wanted_ != 0; }

  void Remove(const Plan& plan, std::function<void()> done) override {
    wanted_ = 0;
    done_ = nullptr;
    options_.loop->Cancel(std::exchange(timer_, 0));
    const auto once = std::make_shared<std::function<void()>>(std::move(done));
    const auto tell = [alive = alive_, once] {
      if (*alive && *once) std::exchange(*once, nullptr)();
    };
    if (plan.run.empty() && plan.work.empty()) return options_.loop->Post(tell);
    if (*once) removal_timers_.push_back(options_.loop->RunAfter(kToGiveUp, tell));
    Queue([this, plan, tell] {
      Run([this, plan, tell, way = way_, alive = alive_] {
        RemoveFiles(plan);
        way->Post([this, alive, tell] {
          if (!*alive) return;
          Next();
          tell();
        });
      });
      return true;
    });
  }

 private:
  void Answer(absl::StatusOr<Written> written) {
    options_.loop->Cancel(std::exchange(timer_, 0));
    if (const Done done = std::exchange(done_, nullptr)) done(std::move(written));
  }
  // Begins `job` after those that wait. It returns false if there is nothing to do any more.
  void Queue(std::function<bool()> job) {
    waiting_.push_back(std::move(job));
    if (!is_busy_) Next();
  }
  void Next() {
    is_busy_ = false;
    while (!is_busy_ && !waiting_.empty()) {
      const std::function<bool()> job = std::move(waiting_.front());
      waiting_.erase(waiting_.begin());
      is_busy_ = job();
    }
  }
  void Run(std::function<void()> body) {
    thread_ = std::make_unique<runtime::Thread>("marks", std::move(body));
  }

  Options options_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::uint64_t wanted_ = 0, last_ = 0;  // Numbers of calls of Write(); 0: none.
  bool is_busy_ = false;
  Done done_;
  runtime::EventLoop::TimerId timer_ = 0;
  std::vector<runtime::EventLoop::TimerId> removal_timers_;
  std::vector<std::function<bool()>> waiting_;
  std::unique_ptr<runtime::Thread> thread_;
};

}  // namespace

std::unique_ptr<SharedMarks> SharedMarks::Create(Options options) {
  return std::make_unique<Marks>(std::move(options));
}

}  // namespace launcher
