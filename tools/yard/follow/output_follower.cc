#include "tools/yard/follow/output_follower.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/clock.h"
#include "runtime/text/printable.h"
#include "tools/yard/event/timely_lines.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/text/line_printer.h"
#include "tools/yard/text/task_names.h"

namespace yard {
namespace {

using runtime::MutexLock;

// Timeout for the output after the trial's end, and between two parts of it.
constexpr absl::Duration kOutputGrace = absl::Seconds(5);

// Prints the output of a cluster: whole lines with the names of their tasks.
class TaskLines {
 public:
  TaskLines(const Context& context, LiveScreen* screen)
      : out_is_terminal_(context.out_is_terminal),
        err_is_terminal_(context.err_is_terminal),
        screen_(screen),
        lines_([this](const std::string& task, bool is_error,
                      std::string_view line) { Print(task, is_error, line); },
               [] {}, context.clock) {}

  void Add(const msg::LogsReplyT& part) { lines_.Add(part); }
  void Finish() { lines_.Finish(); }

 private:
  void Print(const std::string& task, bool is_error, std::string_view line) {
    std::ostringstream text;
    LinePrinter({.out = &text, .printable = is_error ? err_is_terminal_ : out_is_terminal_})
        .Print(TaskName(task), line);
    screen_->Output(is_error ? msg::LogStream::Stderr : msg::LogStream::Stdout, text.str());
  }

  const bool out_is_terminal_, err_is_terminal_;
  LiveScreen* const screen_;
  TimelyLines lines_;
};

}  // namespace

OutputFollower::OutputFollower(Context& context, LiveScreen* screen, bool is_cluster)
    : context_(context), screen_(screen), is_cluster_(is_cluster) {
  thread_ = std::thread([this] { Work(); });
}

void OutputFollower::SetJob(const std::string& job) {
  MutexLock lock(mutex_);
  if (job == job_) return;
  job_ = job;
  changed_.SignalAll();
}

bool OutputFollower::Finish() {
  {
    MutexLock lock(mutex_);
    last_ = true;
    changed_.SignalAll();
    const absl::Duration begin = context_.clock->Monotonic();
    while (!ended_) {
      // No deadline while a slow reader of stdout blocks the printing.
      const absl::Duration deadline =
          printing_ ? absl::InfiniteDuration() : std::max(begin, printed_) + kOutputGrace;
      if (context_.clock->Monotonic() >= deadline) return false;
      context_.clock->WaitUntil(changed_, mutex_, deadline);
    }
  }
  thread_.join();
  return true;
}

void OutputFollower::Work() {
  std::string followed;
  for (;;) {
    msg::LogsRequestT request;
    {
      MutexLock lock(mutex_);
      while (job_ == followed && !last_) changed_.Wait(mutex_);
      if (job_ == followed) break;
      followed = request.job = job_;
    }
    request.follow = true;
    TaskLines lines(context_, screen_);
    const absl::Status status = FollowLogs(
        context_, std::move(request),
        [this, &lines](const msg::LogsReplyT& part) {
          SetPrinting(true);
          if (is_cluster_) {
            lines.Add(part);
          } else {
            screen_->Output(part.stream,
                            {reinterpret_cast<const char*>(part.data.data()), part.data.size()});
          }
          SetPrinting(false);
          return true;
        },
        [this](const std::string& line) { screen_->Say(line); });
    lines.Finish();
    if (!status.ok()) {
      screen_->Say(
          absl::StrCat("yard run: no output: ", runtime::Printable(std::string(status.message()))));
    }
  }
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.SignalAll();
}

void OutputFollower::SetPrinting(bool printing) {
  MutexLock lock(mutex_);
  printing_ = printing;
  printed_ = context_.clock->Monotonic();
  changed_.SignalAll();
}

}  // namespace yard
