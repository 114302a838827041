#ifndef SDK_CC_REPORTER_H_
#define SDK_CC_REPORTER_H_

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// What a C++ training program links to report to the yard. The standard library is all it needs,
// and it throws nothing.
//
//     yard::Reporter reporter;
//     for (int epoch = 1; epoch <= 30; ++epoch) {
//       const double loss = Train();
//       if (!reporter.Report({{"loss", loss}}, {.step = epoch})) break;
//     }
namespace yard {

namespace internal {
class LineChannel;
}

struct Metric {
  template <typename Number>
  requires std::is_arithmetic_v<Number> Metric(std::string_view metric_name, Number number)
      : name(metric_name), value(static_cast<double>(number)) {}

  std::string_view name;
  // NaN and the infinities are fine; every double arrives exactly.
  double value;
};

struct ReportOptions {
  // What the yard draws curves over. Unset: the yard counts reports.
  std::optional<std::int64_t> step = std::nullopt;
  // This is the last report.
  bool done = false;
};

// The answer to a report. True means go on.
struct Reply {
  enum class State {
    kContinue,
    kStop,   // Save if need be and return from main() within `grace`.
    kError,  // This report was not stored.
  };
  State state = State::kContinue;
  // kStop: the reason, "stop" or "pause". kError: what went wrong. Else empty.
  std::string message;
  // With kStop only.
  std::chrono::duration<double> grace{0};
  // What was sent to this run since its last report, as the JSON text of an array; empty if
  // nothing.
  std::string events;
  // After Save(): where the checkpoint is.
  std::string path;
  // After Barrier(): in which place this task came, from 0.
  std::int64_t index = 0;

  explicit operator bool() const { return state == State::kContinue; }
};

struct BarrierOptions {
  // Who must come, if not all tasks of the job: names ("worker-0") and types ("worker"). Each of
  // them has to name the same.
  std::vector<std::string> tasks = {};
  // Zero: none.
  std::chrono::duration<double> timeout{0};
};

struct ReporterOptions {
  // `N:INODE`: descriptor N is the channel, if it is a socket with that inode. (Programs that start
  // other programs close descriptors and give their numbers to other files.) Anything else is as
  // good as empty.
  std::string fd;
  // Path of a unix socket that is the channel where `fd` is not.
  std::string socket;
  // How long to wait for an answer; zero: for ever, which is right in a yard. While the yard's
  // trainer is restarted the answer just takes longer, and a yard that is gone for good closes the
  // channel. When the time runs out the channel is broken, since a late answer would be taken for
  // that of the next report.
  std::chrono::milliseconds answer_timeout{0};
  // Where reports and log lines are printed when there is no yard. Not owned.
  std::FILE* out = stdout;

  // `fd` and `socket` from YARD_FD and YARD_SOCKET.
  static ReporterOptions FromEnvironment();
};

// The report channel of this process. There can be one Reporter at a time in a process, and one
// process of a task that has one: a second is answered with an error.
//
// Without a yard, and in a task that is no trial, it prints what it is given and every reply is "go
// on", so that the same program runs by hand.
//
// Any thread may call any method. Report() is in lock-step: it returns when the yard has stored the
// report and decided, and a second thread's report waits for that. Log() and Heartbeat() only wait
// while the socket is full.
//
// Errors are replies of state kError. A line over 1 MiB, and what the yard refuses, costs only
// itself. Everything else (the yard's end is gone, or does not speak the protocol) breaks the
// channel: error() says why, and so does every later reply.
class Reporter {
 public:
  // Opens the channel and says hello; waits for the welcome as Report() waits for its answer.
  explicit Reporter(ReporterOptions options = ReporterOptions::FromEnvironment());
  // Closes a channel opened by path; an inherited descriptor stays open.
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // False if nobody collects reports and they are printed. True also for a channel that broke.
  bool connected() const { return connected_; }
  // Why the channel is broken, empty if it is not.
  std::string error() const;

  // From the welcome, constant from then on. The run's configuration as JSON text ("{}" if none),
  // the directory of the checkpoint to start from (empty if none), and how many reports of earlier
  // attempts that checkpoint stands for. On every rank of a cluster.
  const std::string& config() const { return config_; }
  const std::string& checkpoint() const { return checkpoint_; }
  std::int64_t iteration() const { return iteration_; }

  // Reports one row of metrics. After a stop further reports may be sent, and are told to stop
  // again.
  Reply Report(std::initializer_list<Metric> metrics, ReportOptions options = {});
  Reply Report(std::span<const Metric> metrics, ReportOptions options = {});

  // Saves a checkpoint: `write` puts any files into the directory it is given; then the yard makes
  // it permanent, in one step and safe from a crash. `step` numbers it; without one it is the
  // number of reports. kError if `write` returns false, or the yard refuses: then nothing is saved.
  // kStop if the run was told to stop and has saved since. Without a yard the directory is
  // ./checkpoint_NUMBER. Only files and directories can be in it, no links. In a trial that is a
  // cluster only rank 0 saves: kError elsewhere.
  Reply Save(std::optional<std::int64_t> step,
             const std::function<bool(const std::string& directory)>& write);

  // Waits until all tasks of this job have come to the barrier of that name. kError if the time is
  // over, which breaks it for all, or if somebody else broke it. Also in a task that is no trial;
  // without a yard it waits for nobody.
  Reply Barrier(std::string_view name, const BarrierOptions& options = {});

  // Sends a line for the run's log. Not answered: kContinue or kError.
  Reply Log(std::string_view text);
  // Says that the program is alive, for one that takes long between two reports. Not answered.
  Reply Heartbeat();
  // Says why the program fails; it should then exit with a status other than 0. Not answered. Text
  // over 64 KiB is cut. Without a yard the text goes to standard error.
  Reply Fail(std::string_view error);

 private:
  void Open(const ReporterOptions& options);
  void SayHello();
  void ReadEnvironment();
  Reply Print(std::span<const Metric> metrics, const ReportOptions& options);
  Reply ParseAnswer(std::string_view line, std::int64_t seq);
  // For the path in the answer of that kind.
  Reply AskForPath(std::string_view line, std::string_view kind);
  Reply SaveHere(std::optional<std::int64_t> step,
                 const std::function<bool(const std::string& directory)>& write);
  Reply Send(std::string_view line);

  const std::chrono::milliseconds answer_timeout_;
  std::FILE* const out_;

  // Constant after construction; the channel locks itself.
  bool connected_ = false;
  bool in_trial_ = false;  // Without being its reporter: not rank 0 of a cluster.
  std::unique_ptr<internal::LineChannel> channel_;
  std::string open_error_;
  std::string config_ = "{}";
  std::string checkpoint_;
  std::int64_t iteration_ = 0;

  std::mutex report_mutex_;  // Held from a report to its answer.
  std::int64_t seq_ = 0;     // Guarded by report_mutex_.
};

}  // namespace yard

#endif  // SDK_CC_REPORTER_H_
