#ifndef TOOLS_YARD_TESTING_FAKE_YARD_H_
#define TOOLS_YARD_TESTING_FAKE_YARD_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/event/hub.h"
#include "bus/schema/envelope_generated.h"
#include "bus/thread/node.h"
#include "runtime/coordinator.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"
#include "tools/yard/cli/context.h"

namespace yard {

// A yard whose five services are in this process, in a private directory: real sockets, a real
// hub, and the answers of services that hold the trials, jobs and runs a test gives them. These
// services do what the real ones do on a stop, a lookup by prefix or a follow. Fill it, then
// Start().
class FakeYard {
 public:
  struct Output {
    int code = -1;
    std::string out;
    std::string err;
  };
  struct Series {
    std::string run;
    std::string tag;
    std::vector<double> values;
    std::vector<std::int64_t> steps = {};  // Empty: they count from 0.
  };

  FakeYard();
  ~FakeYard();
  FakeYard(const FakeYard&) = delete;
  FakeYard& operator=(const FakeYard&) = delete;

  // Before Start(). A trial that has not ended ends, as Done, when it is followed or waited for.
  void AddTrial(const std::string& id, const std::string& name, msg::TrialState state);
  void AddReport(const std::string& trial, const std::string& metrics);
  // The further details of the trial that the trainer gives.
  void SetDetails(const std::string& trial, msg::TrialDetailsReplyT details);
  void FailTrial(const std::string& trial, const std::string& reason,
                 std::vector<std::string> error_lines);
  void AddJob(const std::string& id, const std::string& name, msg::TaskState state);
  // A launch starts the first one. A job that has not ended ends well when it is waited for.
  void AddJob(msg::JobT job);
  // The first one is what `yard sweep` starts. A sweep that has not ended ends, as Done, when it is
  // followed; `levels` and so on are as they stand.
  void AddSweep(msg::SweepDetailsReplyT details);
  // Output of a job's one task.
  void AddOutput(const std::string& job, msg::LogStream stream, const std::string& bytes);
  // Output of one of a job's tasks: "j-abcde/worker-1".
  void AddTaskOutput(const std::string& task, std::uint32_t attempt, msg::LogStream stream,
                     const std::string& bytes);
  // The job of the next WaitJob has waited for these reasons when it begins.
  void AddWaits(std::vector<std::string> reasons) { waits_ = std::move(reasons); }
  // Followers of output wait for a stop; with `keeps_running` the first stop is not enough.
  void HoldOutput(bool keeps_running = false) {
    holds_ = true;
    keeps_running_ = keeps_running;
  }
  void AddSeries(Series series) { series_.push_back(std::move(series)); }
  // Edits each answer of the data manager about a run and about a tag.
  void EditRun(const std::string& run, std::function<void(msg::RunT&)> edit) {
    run_edits_[run] = std::move(edit);
  }
  void EditTag(const std::string& tag, std::function<void(msg::TagT&)> edit) {
    tag_edits_[tag] = std::move(edit);
  }
  // The runs that a query is true of; other queries are wrong. Patterns of tags are found as they
  // stand.
  void AddQuery(const std::string& query, std::vector<std::string> runs) {
    queries_[query] = std::move(runs);
  }
  void SetUndecided(std::uint64_t runs) { undecided_ = runs; }
  void SetUnreadable(std::vector<std::string> directories) { unreadable_ = std::move(directories); }
  // Lists of runs and tags come in pages of so many.
  void SetPage(std::size_t size) { page_ = size; }
  void AddHParams(msg::RunHParamsT hparams) { hparams_.push_back(std::move(hparams)); }
  void AddFiles(msg::FilesReplyT files) { files_.push_back(std::move(files)); }
  // The first scan goes on until it is joined.
  void HoldScan() { scans_ = true; }
  // The data manager finds this run when it is told to reload.
  void LeaveUnread(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    unread_.insert(run);
  }
  // Points come so many at a time; the data manager goes away after so many parts (-1: never).
  void CutPoints(std::size_t size, int goes_after = -1) {
    part_ = size;
    goes_after_ = goes_after;
  }
  // Each run is answered as one that is still being read.
  void LeaveIncomplete() { incomplete_ = true; }
  // Calls of this service ("trainer") are answered with this error.
  void Break(const std::string& service, absl::Status why) { broken_[service] = std::move(why); }
  // Its Stats are never answered.
  void NeverAnswer(const std::string& service) { silent_ = service; }
  // The service's answer to Stats; else Stats has its name and our version only.
  void SetStats(const std::string& service, msg::StatsReplyT stats) {
    stats_[service] = std::move(stats);
  }
  // The names that this service has; else it does not know the method. It does not pick those that
  // begin as asked.
  void SetNames(const std::string& service, std::vector<std::string> names) {
    names_[service] = std::move(names);
  }
  // The launcher's answer about the ways to kill a tree; else it does not know the method.
  void SetKillModes(msg::KillModesReplyT modes) { kill_modes_ = std::move(modes); }
  // The launcher's answer about the usage of tasks; else it says that none runs.
  void SetUsage(msg::UsageReplyT usage) { usage_ = std::move(usage); }
  // The service runs, and the registry does not know it.
  void Unregister(const std::string& service) { unregistered_.push_back(service); }
  // The service never runs: it has no socket, no lease and no lock.
  void LeaveOut(const std::string& service) { left_out_.push_back(service); }

  void Start();
  // From now on for Run(), and Output::err stays empty. Not owned.
  void SetErr(std::ostream* err) { err_ = err; }
  // The same for Output::out.
  void SetOut(std::ostream* out) { out_ = out; }
  // Does what main() does with these words.
  Output Run(std::vector<std::string> words);
  // Terminal, environment and so on for Run(); out and err are its own.
  Context& context() { return context_; }
  // The directory that the data manager names as that of its runs.
  std::string logdir() const { return directory_ + "/runs"; }
  const runtime::Locations& locations() const { return context_.locations; }
  // The last request of `yard run`.
  msg::RunTrialRequestT last_run();
  // The last requests of `yard sweep`, and of an order.
  msg::RunSweepRequestT last_sweep();
  msg::ChangeSweepRequestT last_change();
  // The last job that `yard launch` asked for.
  msg::JobSpecT last_launch();
  // The last request of `yard logs`.
  msg::LogsRequestT last_logs();
  std::vector<msg::SearchLogsRequestT> searches();
  // "signal j-abcde/worker-0 10", "restart j-abcde 5000", "remove j-abcde", "stop j-abcde 0",
  // "pause t-abcde", "tell 1 to t-abcde", "Stop s-abcde", "remove run first 7 nested force".
  std::vector<std::string> asked();
  // How long each answer with names was still waited for when it was asked for.
  std::vector<absl::Duration> names_waits();
  // Waits until somebody follows output that is held.
  bool AwaitFollower();
  // Breaks the streams of those who follow output that is held: the launcher is away for a moment.
  void CutOff();
  std::vector<std::string> stopped();  // Ids of trials and jobs, in the order of asking.
  std::size_t listed();                // Trials and jobs of all lists that were asked for.
  bus::Hub& hub() { return *hub_; }

 private:
  struct Held {
    msg::TrialT trial;
    std::vector<msg::ResultRowT> rows;
    msg::TrialDetailsReplyT details;
  };
  bool IsLeftOut(const std::string& service) const;
  bus::Service& Serve(const std::string& name);
  void ServeRegistry();
  void ServeLauncher();
  void ServeControl(bus::Service* service);
  absl::StatusOr<int> FindJob(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ServeTrainer();
  void ServeSweeps(bus::Service* service);
  // Notes what was asked for a trial; it is in `state` then, if there is one. `refusal` ("pause
  // trial $0"): what cannot be done with one that is done.
  template <typename Reply>
  absl::StatusOr<Reply> Changed(const std::string& verb, const std::string& trial,
                                std::optional<msg::TrialState> state,
                                const std::string& refusal = "");
  void ServeDatamanager();
  // Gives the run the metrics and parameters that the request asks for.
  void AddColumns(const msg::RunsRequestT& request, msg::RunT& run) const;
  void ServeRuns(bus::Service* service);
  void ServePoints(bus::Service* service);
  // Runs and their tags, in the order of the series.
  bool IsUnread(const std::string& run) const;
  std::vector<msg::RunT> RunsOnDisk() const;
  std::vector<msg::TagT> TagsOf(const std::string& run) const;
  absl::StatusOr<std::vector<msg::RunT>> FindRuns(const std::string& name,
                                                  const std::string& query) const;
  msg::ScalarsReplyT PointsOf(const Series& series, msg::Overlap overlap) const;
  absl::StatusOr<bus::Node*> CallerNode();
  absl::StatusOr<bus::Client*> CallerClient();
  // OK, or what Break() said.
  absl::Status Check(const std::string& service) const;

  const std::string directory_;
  Context context_;
  std::map<std::string, absl::Status> broken_;
  std::map<std::string, msg::StatsReplyT> stats_;
  std::map<std::string, std::vector<std::string>> names_;
  std::vector<std::string> left_out_, unregistered_;
  std::string silent_;
  std::vector<Series> series_;
  std::map<std::string, std::function<void(msg::RunT&)>> run_edits_;
  std::map<std::string, std::function<void(msg::TagT&)>> tag_edits_;
  std::map<std::string, std::vector<std::string>> queries_;
  std::vector<msg::RunHParamsT> hparams_;
  std::vector<msg::FilesReplyT> files_;
  std::uint64_t undecided_ = 0;
  std::vector<std::string> unreadable_;
  std::size_t page_ = 1000, part_ = 1000;
  int goes_after_ = -1;
  bool incomplete_ = false;
  std::atomic<bool> scans_ = false;
  std::optional<msg::KillModesReplyT> kill_modes_;
  msg::UsageReplyT usage_;
  std::vector<std::string> waits_;
  bool holds_ = false, keeps_running_ = false;
  std::ostream* err_ = nullptr;
  std::ostream* out_ = nullptr;

  mutable runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<Held> trials_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> unread_ ABSL_GUARDED_BY(mutex_);
  std::vector<msg::SweepDetailsReplyT> sweeps_ ABSL_GUARDED_BY(mutex_);
  std::vector<msg::JobT> jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<msg::LogsReplyT>> output_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> stopped_ ABSL_GUARDED_BY(mutex_);
  std::size_t listed_ ABSL_GUARDED_BY(mutex_) = 0;
  msg::RunTrialRequestT last_run_ ABSL_GUARDED_BY(mutex_);
  msg::RunSweepRequestT last_sweep_ ABSL_GUARDED_BY(mutex_);
  msg::ChangeSweepRequestT last_change_ ABSL_GUARDED_BY(mutex_);
  msg::JobSpecT last_launch_ ABSL_GUARDED_BY(mutex_);
  msg::LogsRequestT last_logs_ ABSL_GUARDED_BY(mutex_);
  std::vector<msg::SearchLogsRequestT> searches_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> names_waits_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void(const absl::Status&)>> held_ ABSL_GUARDED_BY(mutex_);

  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Hub> hub_;
  std::vector<runtime::UniqueFd> locks_;
  std::map<std::string, std::unique_ptr<bus::Service>> services_;
  runtime::Mutex caller_mutex_;
  std::unique_ptr<bus::Node> caller_node_ ABSL_GUARDED_BY(caller_mutex_);
  std::unique_ptr<bus::Client> client_ ABSL_GUARDED_BY(caller_mutex_);
};

}  // namespace yard

#endif  // TOOLS_YARD_TESTING_FAKE_YARD_H_
