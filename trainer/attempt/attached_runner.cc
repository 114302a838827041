#include "trainer/attempt/attached_runner.h"

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_generated.h"
#include "runtime/report_channel/relay_protocol.h"
#include "runtime/timer.h"

namespace trainer {
namespace {

class AttachedRunner : public ProgramRunner, public std::enable_shared_from_this<AttachedRunner> {
 public:
  explicit AttachedRunner(AttachedOptions options) : options_(std::move(options)) {}

  void Launch(const std::string&, const msg::JobSpecT&) override { AwaitConnection(); }
  void TakeUp(const std::string&) override { AwaitConnection(); }
  void OnConnection(bool is_open) override {
    timer_.Cancel();
    if (!is_open) AwaitConnection();
  }
  // Called when the grace time is over: the process has received the stop and keeps running.
  void Stop(absl::Duration, const std::string&, const std::string&) override {
    Finish({.success = true, .reason = {}, .error_lines = {}, .may_go_on = true});
  }
  void ReportsComplete(std::string_view how) override {
    if (how == runtime::kEndFinished) {
      return Finish({.success = true, .reason = {}, .error_lines = {}});
    }
    const std::string process = absl::StrCat("process ", options_.pid);
    Finish({.success = false,
            .reason = how == runtime::kEndClosed
                          ? absl::StrCat(process, " has closed its channel without yard.finish()")
                          : absl::StrCat(process,
                                         " ended without yard.finish(): it crashed, was killed, or "
                                         "its kernel was restarted"),
            .error_lines = {}});
  }
  bool nobody_reports() const override { return false; }

 private:
  void AwaitConnection() {
    timer_.Start(options_.loop, options_.patience, [this] {
      Finish({.success = false,
              .reason = absl::StrCat("nothing was heard of process ", options_.pid, " for ",
                                     absl::FormatDuration(options_.patience),
                                     ": its yard-shim, or the machine, has ended"),
              .error_lines = {},
              .may_go_on = true});
    });
  }
  void Finish(ProgramEnd end) {
    const auto keep = shared_from_this();  // The callback may release this object.
    timer_.Cancel();
    if (!std::exchange(finished_, true)) options_.on_ended(std::move(end));
  }

  const AttachedOptions options_;
  bool finished_ = false;
  runtime::Timer timer_;
};

}  // namespace

std::shared_ptr<ProgramRunner> CreateAttachedRunner(AttachedOptions options) {
  return std::make_shared<AttachedRunner>(std::move(options));
}

}  // namespace trainer
