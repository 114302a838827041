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

// A yard whose five services run in this process, in a private directory: real sockets, a
// real hub, and fake services that hold the trials, jobs and runs of the test. They behave
// like the real services for stops, lookups by prefix and follows. Fill it, then call
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
    std::vector<std::int64_t> steps = {};  // If empty, steps count from 0.
  };

  FakeYard();
  ~FakeYard();
  FakeYard(const FakeYard&) = delete;
  FakeYard& operator=(const FakeYard&) = delete;

  // Call before Start(). A live trial ends, as Done, when it is followed or waited for.
  void AddTrial(const std::string& id, const std::string& name, msg::TrialState state);
  // Adds a report to a trial; `metrics` is JSON.
  void AddReport(const std::string& trial, const std::string& metrics);
  // Sets the trainer's answer to TrialDetails.
  void SetDetails(const std::string& trial, msg::TrialDetailsReplyT details);
  // Makes a trial failed, with this reason and these last lines of its stderr.
  void FailTrial(const std::string& trial, const std::string& reason,
                 std::vector<std::string> error_lines);
  void AddJob(const std::string& id, const std::string& name, msg::TaskState state);
  // A launch starts the first job added. A live job ends well when it is waited for.
  void AddJob(msg::JobT job);
  // `yard sweep` starts the first sweep added. A live sweep ends, as Done, when it is followed;
  // `levels` and the like stay as given.
  void AddSweep(msg::SweepDetailsReplyT details);
  // Adds output of a job's only task.
  void AddOutput(const std::string& job, msg::LogStream stream, const std::string& bytes);
  // Adds output of one task of a job: "j-abcde/worker-1".
  void AddTaskOutput(const std::string& task, std::uint32_t attempt, msg::LogStream stream,
                     const std::string& bytes);
  // Makes the job of the next WaitJob pending for each of these reasons in turn, then running.
  void AddWaits(std::vector<std::string> reasons) { waits_ = std::move(reasons); }
  // Makes followers of output wait for a stop; with `keeps_running`, the first stop is not enough.
  void HoldOutput(bool keeps_running = false) {
    holds_ = true;
    keeps_running_ = keeps_running;
  }
  void AddSeries(Series series) { series_.push_back(std::move(series)); }
  // Edits each answer of the data manager about a run, or about a tag.
  void EditRun(const std::string& run, std::function<void(msg::RunT&)> edit) {
    run_edits_[run] = std::move(edit);
  }
  void EditTag(const std::string& tag, std::function<void(msg::TagT&)> edit) {
    tag_edits_[tag] = std::move(edit);
  }
  // Sets the runs that match a query; unknown queries are invalid. Patterns of tags are compared
  // literally.
  void AddQuery(const std::string& query, std::vector<std::string> runs) {
    queries_[query] = std::move(runs);
  }
  void SetUndecided(std::uint64_t runs) { undecided_ = runs; }
  void SetUnreadable(std::vector<std::string> directories) { unreadable_ = std::move(directories); }
  // Sets the page size of lists of runs and tags.
  void SetPage(std::size_t size) { page_ = size; }
  void AddHParams(msg::RunHParamsT hparams) { hparams_.push_back(std::move(hparams)); }
  void AddFiles(msg::FilesReplyT files) { files_.push_back(std::move(files)); }
  // Lets the first scan last until a client joins it.
  void HoldScan() { scans_ = true; }
  // Hides the run until the data manager is asked to reload.
  void LeaveUnread(const std::string& run) {
    runtime::MutexLock lock(mutex_);
    unread_.insert(run);
  }
  // Sends points in parts of `size`; the data manager goes away after `goes_after` parts (-1:
  // never).
  void CutPoints(std::size_t size, int goes_after = -1) {
    part_ = size;
    goes_after_ = goes_after;
  }
  // Answers each run as one that is still being read.
  void LeaveIncomplete() { incomplete_ = true; }
  // Answers calls of this service ("trainer") with this error.
  void Break(const std::string& service, absl::Status why) { broken_[service] = std::move(why); }
  // Leaves calls of the service's Stats unanswered.
  void NeverAnswer(const std::string& service) { silent_ = service; }
  // Sets the service's answer to Stats; by default Stats has only its name and our version.
  void SetStats(const std::string& service, msg::StatsReplyT stats) {
    stats_[service] = std::move(stats);
  }
  // Sets the service's names; by default it does not know the method Names. It does not filter them
  // by the requested prefix.
  void SetNames(const std::string& service, std::vector<std::string> names) {
    names_[service] = std::move(names);
  }
  // Sets the launcher's answer to KillModes; by default it does not know the method.
  void SetKillModes(msg::KillModesReplyT modes) { kill_modes_ = std::move(modes); }
  // Sets the launcher's answer to Usage; by default no task runs.
  void SetUsage(msg::UsageReplyT usage) { usage_ = std::move(usage); }
  // Runs the service without a lease at the registry.
  void Unregister(const std::string& service) { unregistered_.push_back(service); }
  // Does not run the service: it has no socket, no lease and no lock.
  void LeaveOut(const std::string& service) { left_out_.push_back(service); }

  void Start();
  // Redirects stderr of later Run() calls; Output::err then stays empty. Not owned.
  void SetErr(std::ostream* err) { err_ = err; }
  // The same for stdout and Output::out.
  void SetOut(std::ostream* out) { out_ = out; }
  // Runs a command line like main().
  Output Run(std::vector<std::string> words);
  // Terminal, environment and so on of Run(), which sets out and err itself.
  Context& context() { return context_; }
  // The run directory that the data manager reports.
  std::string logdir() const { return directory_ + "/runs"; }
  const runtime::Locations& locations() const { return context_.locations; }
  // Last request of `yard run`.
  msg::RunTrialRequestT last_run();
  // Last requests of `yard sweep`, and of an order.
  msg::RunSweepRequestT last_sweep();
  msg::ChangeSweepRequestT last_change();
  // Last job that `yard launch` requested.
  msg::JobSpecT last_launch();
  // Last request of `yard logs`.
  msg::LogsRequestT last_logs();
  // All requests to search logs, in order.
  std::vector<msg::SearchLogsRequestT> searches();
  // Orders received: "signal j-abcde/worker-0 10", "restart j-abcde 5000", "remove j-abcde", "stop
  // j-abcde 0", "pause t-abcde", "tell 1 to t-abcde", "Stop s-abcde", "remove run first 7 nested
  // force".
  std::vector<std::string> asked();
  // Remaining deadline of each call for names, when it arrived.
  std::vector<absl::Duration> names_waits();
  // Blocks until a client follows held output.
  bool AwaitFollower();
  // Breaks the streams of clients that follow held output, as if the launcher restarted.
  void CutOff();
  std::vector<std::string> stopped();  // Ids of stopped trials and jobs, in order.
  std::size_t listed();                // Number of trials and jobs in all lists sent.
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
  // Records a request about a trial, and changes its `state` if given. `refusal` ("pause trial $0")
  // describes what is impossible for a trial that is done.
  template <typename Reply>
  absl::StatusOr<Reply> Changed(const std::string& verb, const std::string& trial,
                                std::optional<msg::TrialState> state,
                                const std::string& refusal = "");
  void ServeDatamanager();
  // Adds the requested metrics and parameters to the run.
  void AddColumns(const msg::RunsRequestT& request, msg::RunT& run) const;
  void ServeRuns(bus::Service* service);
  void ServePoints(bus::Service* service);
  // The runs and their tags, in the order of the series.
  bool IsUnread(const std::string& run) const;
  std::vector<msg::RunT> RunsOnDisk() const;
  std::vector<msg::TagT> TagsOf(const std::string& run) const;
  absl::StatusOr<std::vector<msg::RunT>> FindRuns(const std::string& name,
                                                  const std::string& query) const;
  msg::ScalarsReplyT PointsOf(const Series& series, msg::Overlap overlap) const;
  absl::StatusOr<bus::Node*> CallerNode();
  absl::StatusOr<bus::Client*> CallerClient();
  // Returns OK, or the error of Break().
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
