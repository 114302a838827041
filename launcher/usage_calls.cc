#include "launcher/usage_calls.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launcher/job/job_row.h"
#include "launcher/job/supervisor.h"

// Always true:
// - waiting_ is empty unless a measurement is in progress. The measurement ends at the latest when
//   timer_ has fired and this host is measured.
// - An answer of a node counts only for the measurement whose number requested it.

namespace launcher {
namespace {

UsageMeter::Options MeterOptions(runtime::Clock* clock) {
  UsageMeter::Options options;
  options.clock = clock;
  options.pace = absl::ZeroDuration();
  options.gpus = [gpus = std::make_shared<GpuMeter>()](bool with_processes) {
    return gpus->Measure(with_processes);
  };
  return options;
}

}  // namespace

void AddUsageOfNode(const std::string& node, std::uint32_t place, NodeUsage usage,
                    const NamesOfAttempts& names, msg::UsageReplyT* reply) {
  const std::uint32_t first_gpu = place * kGpusOfNode;
  for (msg::TaskUsageT& one : usage.attempts) {
    const auto name = names.find(one.task);
    if (name == names.end()) continue;
    std::tie(one.task, one.attempt) = name->second;
    for (std::uint32_t& gpu : one.gpus) gpu += first_gpu;
    reply->tasks.push_back(std::make_unique<msg::TaskUsageT>(std::move(one)));
  }
  for (msg::GpuUsageT& gpu : usage.gpus) {
    gpu.index += first_gpu;
    gpu.name = absl::StrCat(gpu.name, " of ", node);
    reply->gpus.push_back(std::make_unique<msg::GpuUsageT>(std::move(gpu)));
  }
}

UsageCalls::UsageCalls(Options options)
    : options_(std::move(options)),
      meter_(std::make_shared<UsageMeter>(MeterOptions(options_.clock))) {}

UsageCalls::~UsageCalls() { *alive_ = false; }

absl::StatusOr<std::string> UsageCalls::Prefix(const std::string& job) const {
  if (job.empty()) return std::string();
  const auto named = options_.table->Find(job);
  if (!named.ok()) return named.status();
  if (named->task == kWholeJob) return named->job + "/";
  const JobRow& row = *options_.table->Row(named->job);
  return absl::StrCat(row.id, "/", row.tasks[static_cast<std::size_t>(named->task)].name(), "/");
}

void UsageCalls::Ask(const std::string& job, Done done) {
  auto prefix = Prefix(job);
  if (!prefix.ok()) return done(prefix.status());
  waiting_.emplace_back(*std::move(prefix), std::move(done));
  if (measures_) return;
  if (last_ && options_.clock->Monotonic() - measured_ < options_.pace) return Finish();
  Begin();
}

void UsageCalls::Begin() {
  measures_ = true;
  const std::uint64_t number = ++number_;
  of_host_.reset();
  of_nodes_ = {};
  names_.clear();
  missing_.clear();
  std::vector<RunningAttempt> here;
  std::set<std::string> nodes;
  for (const JobRow* row : options_.table->Rows()) {
    if (row->has_ended()) continue;
    for (std::size_t i = 0; i < row->tasks.size(); ++i) {
      const TaskRow& task = row->tasks[i];
      if (task.attempts.empty()) continue;
      const AttemptRow& last = task.attempts.back();
      if (last.pid == 0 || last.ended_us != 0) continue;
      const std::string name = absl::StrCat(row->id, "/", task.name());
      const auto attempt = static_cast<std::uint32_t>(last.number);
      if (!last.node.empty()) {
        nodes.insert(last.node);
        names_[NodeKey(*row, static_cast<int>(i), last.number)] = {name, attempt};
        continue;
      }
      here.push_back({.task = name,
                      .number = attempt,
                      .pid = last.pid,
                      .start_ticks = last.start_ticks,
                      .folder = AttemptFolder(*row, task, options_.state_directory, last.number)});
    }
  }
  std::uint32_t place = 0;
  for (const NodeTable::Info* const info : options_.nodes->All()) {
    ++place;
    const std::string& node = info->row.name;
    if (!nodes.contains(node)) continue;
    const bool is_asked = options_.nodes->Link(node)->AskUsage(
        [this, alive = alive_, number, node, place](NodeUsage usage) {
          if (*alive && measures_ && number == number_) OnNode(node, place, std::move(usage));
        });
    if (is_asked) missing_.insert(node);
  }
  timer_.Start(options_.loop, options_.patience, [this] {
    missing_.clear();
    FinishIfAllAreThere();
  });
  const absl::Status submitted = options_.pool->Submit(
      [this, loop = options_.loop, alive = alive_, meter = meter_, here = std::move(here)] {
        loop->Post([this, alive, usage = meter->Measure(here)]() mutable {
          if (*alive) OnHost(std::move(usage));
        });
        return absl::OkStatus();
      });
  if (!submitted.ok()) OnHost(submitted);
}

void UsageCalls::OnNode(const std::string& node, std::uint32_t place, NodeUsage usage) {
  missing_.erase(node);
  AddUsageOfNode(node, place, std::move(usage), names_, &of_nodes_);
  FinishIfAllAreThere();
}

void UsageCalls::OnHost(absl::StatusOr<msg::UsageReplyT> usage) {
  of_host_ = std::move(usage);
  FinishIfAllAreThere();
}

void UsageCalls::FinishIfAllAreThere() {
  if (!of_host_ || !missing_.empty()) return;
  timer_.Cancel();
  measures_ = false;
  measured_ = options_.clock->Monotonic();
  last_ = std::exchange(of_host_, std::nullopt);
  if (last_->ok()) {
    msg::UsageReplyT& reply = **last_;
    if (options_.machine_locks != nullptr) {
      reply.locks_directory = options_.machine_locks->directory();
      reply.locks_problem = options_.machine_locks->problem();
    }
    for (auto& task : of_nodes_.tasks) reply.tasks.push_back(std::move(task));
    for (auto& gpu : of_nodes_.gpus) reply.gpus.push_back(std::move(gpu));
  }
  Finish();
}

void UsageCalls::Finish() {
  for (auto& [prefix, done] : std::exchange(waiting_, {})) {
    auto reply = *last_;
    if (reply.ok()) {
      std::erase_if(reply->tasks, [&prefix = prefix](const auto& usage) {
        return !(usage->task + "/").starts_with(prefix);
      });
    }
    done(std::move(reply));
  }
  if (!last_->ok()) last_.reset();  // An error is not cached.
}

}  // namespace launcher
