#include "trainer/testing/program_function.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/named_values.h"
#include "trainer/function/program_channel.h"
#include "trainer/function/reporter.h"
#include "trainer/report/report_line.h"

namespace trainer {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(10);

// The trainer's end of one program's channel.
class Conversation {
 public:
  Conversation(const NamedValues& config, Reporter& reporter)
      : config_(config), reporter_(reporter) {}
  ~Conversation() {
    if (program_ && !program_->Wait(absl::ZeroDuration()).ok()) (void)program_->Signal(SIGKILL);
    if (program_) (void)program_->Wait();
  }

  absl::Status Start(const std::vector<std::string>& argv) {
    int fds[2] = {-1, -1};
    struct stat about {};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0 ||
        fstat(fds[1], &about) != 0) {
      return absl::ErrnoToStatus(errno, "making a channel");
    }
    channel_.emplace(runtime::UniqueFd(fds[0]));
    const runtime::UniqueFd theirs(fds[1]);
    auto program = runtime::Subprocess::Start(
        {.argv = argv,
         .program = argv.at(0),
         .environment = {"PATH=/usr/bin:/bin", absl::StrCat("YARD_FD=3:", about.st_ino)},
         .fds = {{theirs.get(), 3}}});
    if (!program.ok()) return program.status();
    program_.emplace(*std::move(program));
    return absl::OkStatus();
  }

  // Serves the channel until the program ends. Rethrows exceptions of the reporter.
  absl::Status Hold() {
    for (;;) {
      auto text = channel_->Receive();
      if (!text.ok()) return End();
      const auto line = ParseReportLine(*text);
      if (!line.ok()) {
        Say(ErrorLine("", line.status()));
      } else if (WantsAnswer(*line)) {
        Say(AnswerTo(*line));
      } else if (line->kind == ReportLine::Kind::kFail) {
        failure_ = line->text;
      }
    }
  }

 private:
  void Say(const std::string& line) { channel_->Send(line).IgnoreError(); }

  std::string AnswerTo(const ReportLine& line) {
    switch (line.kind) {
      case ReportLine::Kind::kHello: {
        const auto from = reporter_.checkpoint();
        return WelcomeLine(config_.ToJson(), from ? from->directory : "", 0, reporter_.trial().id,
                           reporter_.trial().name);
      }
      case ReportLine::Kind::kCheckpointBegin: {
        const auto made = MakeTemporaryCheckpoint(reporter_.trial().directory, line.step);
        return made.ok() ? CheckpointDirectoryLine(line.seq, *made)
                         : ErrorLine(line.seq, made.status());
      }
      case ReportLine::Kind::kCheckpointEnd:
        reporter_.SaveCheckpoint(TemporaryStep(line.checkpoint).value_or(0), line.checkpoint);
        RemoveCheckpoint(line.checkpoint).IgnoreError();
        return OkLine(line.seq, {}, reporter_.checkpoint()->directory);
      case ReportLine::Kind::kReport:
        return Report(line);
      default:
        return ErrorLine(line.seq, absl::UnimplementedError(line.type));
    }
  }

  std::string Report(const ReportLine& line) {
    auto values = NamedValues::FromJson(line.metrics);
    if (!values.ok()) return ErrorLine(line.seq, values.status());
    try {
      reporter_.Report(*std::move(values));
    } catch (const StopTrial&) {
      Say(StopLine(line.seq, "stop", absl::ToDoubleSeconds(kGrace)));
      (void)program_->Wait(kGrace);
      throw;
    }
    return OkLine(line.seq);
  }

  absl::Status End() {
    const auto ended = program_->Wait(kGrace);
    if (!ended.ok()) return ended.status();
    if (failure_.empty() && ended->ok()) return absl::OkStatus();
    return absl::UnknownError(failure_.empty() ? ended->ToString() : failure_);
  }

  const NamedValues& config_;
  Reporter& reporter_;
  std::optional<ProgramChannel> channel_;
  std::optional<runtime::Subprocess> program_;
  std::string failure_;
};

}  // namespace

TrainableFunction MakeProgramFunction(std::string name, std::vector<std::string> argv) {
  return MakeFunction(std::move(name),
                      [argv = std::move(argv)](const NamedValues& config, Reporter& reporter) {
                        Conversation conversation(config, reporter);
                        absl::Status started = conversation.Start(argv);
                        return started.ok() ? conversation.Hold() : started;
                      });
}

}  // namespace trainer
