#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/file/file.h"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "runtime/thread.h"
#include "tools/yard/event/timely_lines.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/text/line_collapser.h"
#include "tools/yard/text/line_printer.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/task_names.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using runtime::Mutex;
using runtime::MutexLock;

// Prints lines with the names of their tasks; with `collapse`, equal lines of several tasks as one.
// A thread prints collapsed lines that are due while no new output arrives.
class Lines {
 public:
  struct Options {
    bool with_job = false;  // "j-abcde/worker-0", not "worker-0".
    bool collapse = false;
    bool follow = false;
    std::size_t tasks = 0;  // Number of tasks whose lines are shown; 0 if unknown.
  };
  Lines(Context& context, const Options& options)
      : context_(context),
        options_(options),
        printer_({.out = context.out, .prefix = true, .printable = context.out_is_terminal}),
        lines_([this](const std::string& task, bool is_error,
                      std::string_view line) { Take(task, is_error, line); },
               [this] { Flush(); }, context.clock) {
    if (!options.collapse) return;
    LineCollapser::Options collapsing = {.clock = context.clock, .tasks = options.tasks};
    // Stored output carries no arrival times, so equal lines are collapsed whatever their distance.
    if (!options.follow) collapsing.delay = absl::InfiniteDuration();
    collapsing.print = [this](const std::vector<std::string>& tasks, bool, std::string_view line) {
      printer_.Print(NameOf(tasks), line);
    };
    collapser_.emplace(std::move(collapsing));
    if (options.follow) in_time_.emplace("yard-collapse", [this] { PrintInTime(); });
  }
  ~Lines() {
    {
      MutexLock lock(mutex_);
      over_ = true;
      changed_.SignalAll();
    }
    if (in_time_.has_value()) (void)in_time_->Join();
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Returns false once the reader of stdout is gone.
  bool Add(const msg::LogsReplyT& part) {
    lines_.Add(part);
    MutexLock lock(mutex_);
    return context_.out->good();
  }
  void Finish() {
    lines_.Finish();
    MutexLock lock(mutex_);
    if (collapser_.has_value()) collapser_->Finish();
    printer_.Flush();
  }

 private:
  void Take(const std::string& task, bool is_error, std::string_view line) {
    MutexLock lock(mutex_);
    if (collapser_.has_value()) return collapser_->Add(task, is_error, line);
    printer_.Print(options_.with_job ? std::string_view(task) : TaskName(task), line);
  }
  void Flush() {
    MutexLock lock(mutex_);
    printer_.Flush();
    changed_.SignalAll();
  }
  std::string NameOf(const std::vector<std::string>& tasks) const {
    const std::string names = TaskNames(tasks);
    if (!options_.with_job) return names;
    return absl::StrCat(tasks.front().substr(0, tasks.front().find('/')), "/", names);
  }
  void PrintInTime() {
    MutexLock lock(mutex_);
    while (!over_) {
      collapser_->PrintDue();
      printer_.Flush();
      context_.clock->WaitUntil(changed_, mutex_, collapser_->NextDue());
    }
  }

  Context& context_;
  const Options options_;
  Mutex mutex_;  // Acquired after the mutex inside lines_.
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  // Guarded by mutex_ as well; not annotated.
  std::optional<LineCollapser> collapser_;
  LinePrinter printer_;
  TimelyLines lines_;
  std::optional<runtime::Thread> in_time_;
};

class Logs : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", names_, "Trials, jobs, tasks (JOB/worker-1) or a service (trainer).");
    options.Flag("-f,--follow", follow_, "Go on as output comes, until it ends.");
    options.Add("-n,--lines", lines_, "Only the last N lines of each stream.");
    options.Add("--grep", grep_, "Lines that it finds (RE2), of all jobs or the named things.");
    options.Flag("--timestamps", timestamps_, "With the time of each line; of all attempts.");
    options.Flag("--all_attempts", all_attempts_,
                 "Output of all attempts (default: of the current ones).");
    options.Add("--since", since_, "Only what came since then: 10m, 14:30, 2024-05-01T14:30:05Z.");
    options.Add("--rank", ranks_, "Only the tasks of these ranks: 0,2-3.");
    options.Flag("--err", err_, "Standard error only.");
    options.Flag("--out", out_, "Standard output only.");
    options.Flag("--collapse", collapse_, "Show a line that several ranks print once.");
    options.Flag("--raw", raw_, "The bytes as they are: no prefix, nothing made visible.");
  }

  int Run(Context& context) override {
    if (timestamps_ && names_.empty() && !grep_.has_value()) {
      return Fail(context, "logs",
                  absl::InvalidArgumentError("--timestamps: name a trial, a job or a task"));
    }
    if (grep_.has_value() || timestamps_) {
      const absl::Status status = Search(context);
      return status.ok() ? kDone : Fail(context, "logs", status);
    }
    if (names_.empty()) {
      return Fail(
          context, "logs",
          absl::InvalidArgumentError("it takes a trial, a job or a task, or --grep PATTERN"));
    }
    auto request = Request(context);
    if (!request.ok()) return Fail(context, "logs", request.status());
    for (const std::string& name : names_) {
      const absl::Status status = Print(context, name, *request);
      if (absl::IsCancelled(status)) return kDone;  // The reader of stdout is gone.
      if (!status.ok()) return Fail(context, "logs", status);
    }
    return kDone;
  }

 private:
  // Prints the newest lines that match the pattern, in the order in which they were written.
  absl::Status Search(Context& context) const {
    auto request = SearchRequest(context);
    if (!request.ok()) return request.status();
    auto client = context.client();
    if (!client.ok()) return client.status();
    const std::size_t every =
        grep_.has_value() ? kMostFound : std::numeric_limits<std::size_t>::max();
    const std::size_t most = lines_ < 0 ? every : static_cast<std::size_t>(lines_);
    std::vector<std::unique_ptr<msg::FoundLineT>> found;
    std::map<std::string, std::string> names;  // Names of the jobs by id.
    while (found.size() < most) {
      request->limit = static_cast<std::uint32_t>(std::min(most - found.size(), kMostFound));
      auto reply = (*client)->Call<rpc::Launcher::SearchLogs>(*request, Patient());
      if (!reply.ok()) return AsLookup(reply.status());
      for (auto& line : reply->lines) found.push_back(std::move(line));
      for (const auto& job : reply->jobs) names[job->id] = NameOf(*job);
      request->cursor = reply->next;
      if (reply->next.empty()) break;
    }
    std::reverse(found.begin(), found.end());
    LinePrinter printer({.out = context.out, .prefix = true, .printable = context.out_is_terminal});
    for (const auto& line : found) PrintFound(context, printer, *line, names);
    printer.Flush();
    if (lines_ < 0 && !request->cursor.empty()) {
      *context.err << "older lines are left out; -n NUMBER shows more than " << kMostFound << "\n";
    }
    return absl::OkStatus();
  }

  absl::StatusOr<msg::SearchLogsRequestT> SearchRequest(Context& context) const {
    if (follow_ || raw_ || collapse_ || !ranks_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(grep_.has_value() ? "--grep searches" : "--timestamps shows",
                       " what is there: it does not go with ",
                       follow_     ? "-f"
                       : raw_      ? "--raw"
                       : collapse_ ? "--collapse"
                                   : "--rank"));
    }
    const auto like = Request(context);
    if (!like.ok()) return like.status();
    msg::SearchLogsRequestT request;
    request.pattern = grep_.value_or("");
    request.errors_only = err_;
    request.output_only = out_;
    request.since_us = like->since_us;
    for (const std::string& name : names_) {
      auto job = FindJobOrTask(context, name);
      if (!job.ok()) return job.status();
      request.jobs.push_back(*std::move(job));
    }
    return request;
  }

  // Returns the name of the trial, else that of the job, else an empty string.
  static std::string NameOf(const msg::SearchedJobT& job) {
    for (const auto& label : job.labels) {
      if (label->key == "trial_name") return label->value;
    }
    return job.name;
  }

  static void PrintFound(Context& context, LinePrinter& printer, const msg::FoundLineT& line,
                         const std::map<std::string, std::string>& names) {
    const std::string_view text(reinterpret_cast<const char*>(line.text.data()), line.text.size());
    if (context.json) {
      return PrintJson(context,
                       {{"task", line.task},
                        {"attempt", line.attempt},
                        {"stream", line.stream == msg::LogStream::Stderr ? "stderr" : "stdout"},
                        {"offset", line.offset},
                        {"time", TimeToJson(line.time_us)},
                        {"text", std::string(text)}});
    }
    const std::size_t slash = line.task.find('/');
    const auto name = names.find(line.task.substr(0, slash));
    const bool has_name = name != names.end() && !name->second.empty();
    const std::string time =
        absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMicros(line.time_us), context.zone());
    printer.Print(
        absl::StrCat(time, " ",
                     runtime::Printable(has_name ? name->second : line.task.substr(0, slash)),
                     line.task.substr(std::min(slash, line.task.size()))),
        text);
  }

  // Returns the request for the given flags, without the job's id.
  absl::StatusOr<msg::LogsRequestT> Request(const Context& context) const {
    if (err_ && out_) return absl::InvalidArgumentError("--err and --out leave nothing");
    if (collapse_ && (raw_ || context.json)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--collapse is of lines, not of ", raw_ ? "--raw" : "--json"));
    }
    if (follow_ && names_.size() > 1) {
      return absl::InvalidArgumentError("-f follows one thing at a time");
    }
    if (lines_ < -1) return absl::InvalidArgumentError("-n: expected a number from 0");
    msg::LogsRequestT request;
    request.follow = follow_;
    request.last_lines = lines_;
    request.errors_only = err_;
    if (!since_.empty()) {
      const auto since = ParseMoment(since_, context.clock->Now(), context.zone());
      if (!since.has_value()) return Unexpected("--since", kMomentForm, since_);
      request.since_us = std::max<std::int64_t>(absl::ToUnixMicros(*since), 1);
    }
    // Any `since_us` selects all attempts, and 1 excludes none of their output.
    if (all_attempts_ && since_.empty()) request.since_us = 1;
    if (!ranks_.empty()) {
      auto ranks = ParseRanks(ranks_);
      if (!ranks.has_value()) return Unexpected("--rank", kRanksForm, ranks_);
      request.ranks = *std::move(ranks);
    }
    return request;
  }

  static absl::Status Unexpected(const char* flag, const char* form, const std::string& text) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected ", form, ", not \"", runtime::Printable(text), "\""));
  }

  absl::Status Print(Context& context, const std::string& name, msg::LogsRequestT request) const {
    auto thing = FindThing(context, name);
    // A service's log is a file, so it can be shown even if the service is down.
    if (!thing.ok() && IsService(name)) return PrintService(context, name);
    if (!thing.ok()) return thing.status();
    if (thing->sweep.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          name, " is a sweep: its trials have output; yard show ", thing->id(), " names them"));
    }
    if (thing->trial.has_value() && thing->trial->attached_pid != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("the output of ", thing->id(), " is not kept: its program, process ",
                       thing->trial->attached_pid, ", has attached itself; yard show ", thing->id(),
                       " has what it says with log()"));
    }
    request.job = thing->trial.has_value() ? thing->trial->job : TaskOrJob(*thing, name);
    if (request.job.empty()) {
      return absl::NotFoundError(absl::StrCat(thing->id(), " has not started yet"));
    }
    const auto tasks = CountTasks(*thing, request);
    if (!tasks.ok()) return tasks.status();
    Lines lines(
        context,
        {.with_job = names_.size() > 1, .collapse = collapse_, .follow = follow_, .tasks = *tasks});
    JsonParts json(&context, follow_);
    const absl::Status status = FollowLogs(context, std::move(request), [&](const auto& part) {
      return PrintPart(context, lines, json, part);
    });
    lines.Finish();
    json.Finish();
    return status;
  }

  static bool IsService(const std::string& name) {
    return std::find(std::begin(kAllServices), std::end(kAllServices), name) !=
           std::end(kAllServices);
  }

  // Prints the lines of STATE/log/SERVICE.log, or the last of them.
  absl::Status PrintService(Context& context, const std::string& service) const {
    if (IsElsewhere(context.locations)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the log of the ", service,
                       " is a file of its own machine; behind a gate there are the "
                       "logs of trials and jobs"));
    }
    const std::string path = absl::StrCat(context.locations.LogDirectory(), "/", service, ".log");
    if (follow_ || err_ || out_ || collapse_ || !since_.empty() || !ranks_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          service, " is a service: of the flags, its log takes -n, --raw and --json; tail -F ",
          path, " follows it"));
    }
    const auto text = runtime::ReadFile(path, kMostServiceBytes);
    if (absl::IsNotFound(text.status())) {
      return absl::NotFoundError(absl::StrCat("no trial or job ", service,
                                              ", and the service of that name has no log: ", path));
    }
    if (!text.ok()) return text.status();
    std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n');
    if (lines.back().empty()) lines.pop_back();
    const std::size_t shown = lines_ < 0 ? lines.size() : static_cast<std::size_t>(lines_);
    LinePrinter printer(
        {.out = context.out, .prefix = false, .printable = context.out_is_terminal && !raw_});
    for (std::size_t i = lines.size() - std::min(shown, lines.size()); i < lines.size(); ++i) {
      const std::string line(lines[i]);
      if (context.json) {
        PrintJson(context, {{"service", service}, {"text", line}});
      } else {
        printer.Print("", line);
      }
    }
    printer.Flush();
    return absl::OkStatus();
  }

  // Returns "j-abcde/worker-0" if `name` names one task, else the id of the job.
  static std::string TaskOrJob(const Thing& thing, const std::string& name) {
    const std::size_t slash = name.find('/');
    return slash == std::string::npos ? thing.id() : thing.id() + name.substr(slash);
  }

  static absl::StatusOr<std::size_t> CountTasks(const Thing& thing,
                                                const msg::LogsRequestT& request) {
    if (!thing.job.has_value()) return 0;  // A trial may be a cluster, so the number is unknown.
    if (request.job.find('/') != std::string::npos) return 1;
    const std::size_t tasks = thing.job->tasks.size();
    if (request.ranks.empty()) return tasks;
    if (request.ranks.back() >= tasks && tasks > 0) {
      return absl::InvalidArgumentError(absl::StrCat("--rank: job ", thing.id(), " has no rank ",
                                                     request.ranks.back(), ", only 0 to ",
                                                     tasks - 1));
    }
    return request.ranks.size();
  }

  // Prints output as JSON. While it follows, it prints whole lines only, so that no UTF-8 character
  // is cut.
  class JsonParts {
   public:
    JsonParts(Context* context, bool follow) : context_(context), follow_(follow) {}
    void Add(const msg::LogsReplyT& part) {
      msg::LogsReplyT& held = held_[{part.task, part.stream}];
      if (held.attempt != part.attempt || held.offset + held.data.size() != part.offset) {
        Print(held, held.data.size());
        held = part;
      } else {
        held.data.insert(held.data.end(), part.data.begin(), part.data.end());
      }
      const auto newline = std::find(held.data.rbegin(), held.data.rend(), '\n');
      const auto whole = static_cast<std::size_t>(held.data.rend() - newline);
      const bool all = !follow_ || held.data.size() > kLongestJson;
      Print(held, all ? held.data.size() : whole);
    }
    void Finish() {
      for (auto& [key, held] : held_) Print(held, held.data.size());
    }

   private:
    static constexpr std::size_t kLongestJson = 1 << 20;

    // Prints the first `size` bytes of `held` and drops them.
    void Print(msg::LogsReplyT& held, std::size_t size) {
      if (size == 0) return;
      const auto end = held.data.begin() + static_cast<std::ptrdiff_t>(size);
      PrintJson(*context_, {{"task", held.task},
                            {"attempt", held.attempt},
                            {"stream", held.stream == msg::LogStream::Stderr ? "stderr" : "stdout"},
                            {"offset", held.offset},
                            {"text", std::string(held.data.begin(), end)}});
      held.data.erase(held.data.begin(), end);
      held.offset += size;
    }

    Context* const context_;
    const bool follow_;
    std::map<std::pair<std::string, msg::LogStream>, msg::LogsReplyT> held_;
  };

  bool PrintPart(Context& context, Lines& lines, JsonParts& json,
                 const msg::LogsReplyT& part) const {
    const bool is_err = part.stream == msg::LogStream::Stderr;
    if ((err_ && !is_err) || (out_ && is_err)) return true;
    if (!context.json && !raw_) return lines.Add(part);
    const std::string_view bytes(reinterpret_cast<const char*>(part.data.data()), part.data.size());
    if (context.json) {
      json.Add(part);
    } else {
      context.out->write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush();
    }
    return context.out->good();
  }

  std::vector<std::string> names_;
  static constexpr std::size_t kMostFound = 1'000;
  static constexpr std::size_t kMostServiceBytes = 1UL << 30;
  std::optional<std::string> grep_;
  std::string since_, ranks_;
  bool timestamps_ = false, all_attempts_ = false;
  bool follow_ = false, err_ = false, out_ = false, raw_ = false, collapse_ = false;
  int lines_ = -1;
};

}  // namespace

std::unique_ptr<Verb> MakeLogs() { return std::make_unique<Logs>(); }

}  // namespace yard
