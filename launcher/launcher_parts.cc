#include "launcher/launcher_parts.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bus/process/backup_method.h"
#include "launcher/barrier_calls.h"
#include "launcher/launcher_service.h"
#include "launcher/run/job_table.h"
#include "launcher/service_keeper.h"
#include "runtime/file/locations.h"
#include "runtime/mutex.h"
#include "runtime/text/random_id.h"

namespace launcher {
namespace {

double Random() { return static_cast<double>(runtime::RandomId() >> 11) * 0x1.0p-53; }

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

// In a build tree the other services are not in our runfiles (services do not depend on each
// other) but in the folders beside ours.
absl::StatusOr<std::string> FindService(std::string_view label_path) {
  auto found = runtime::FindBinary(label_path);
  if (found.ok()) return found;
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = own.parent_path().parent_path() / label_path;
  if (!error && std::filesystem::is_regular_file(beside, error)) return beside.string();
  return found;
}

class Parts : public LauncherParts {
 public:
  explicit Parts(bus::ServiceProcess* process) : process_(process) {}

  absl::Status Prepare(Options options) {
    const bool external = options.external;
    if (auto status = OpenTable(std::move(options)); !status.ok()) return status;
    if (auto status = OpenKeeper(external); !status.ok()) return status;
    barriers_ = std::make_unique<BarrierCalls>(table_.get(), process_->loop(), process_->clock());
    AddLauncherMethods(process_->service(), process_->loop(), process_->pool(), table_.get(),
                       barriers_.get(), keeper_.get(), process_->locations().state_directory);
    bus::AddBackupMethod(process_->service(),
                         process_->locations().state_directory + "/launcher.db");
    process_->AddGauge("jobs", Read(&JobTable::Stats::jobs));
    process_->AddGauge("jobs_live", Read(&JobTable::Stats::live));
    process_->AddCounter("attempts_started", Read(&JobTable::Stats::attempts));
    process_->AddCounter("attempts_adopted", Read(&JobTable::Stats::adopted));
    process_->AddCounter("attempts_lost", Read(&JobTable::Stats::lost));
    process_->OnStop([this] { table_->GiveUpRemovals(); });
    process_->OnStop([this] { keeper_->Stop([hold = process_->HoldStop()] {}); });
    return absl::OkStatus();
  }

 private:
  absl::Status OpenTable(Options options) {
    auto shim = runtime::FindBinary("launcher/yard-shim");
    if (!shim.ok()) return shim.status();
    bus::Publisher* const publisher = process_->publisher();
    auto table = JobTable::Open(
        {.loop = process_->loop(),
         .pool = process_->pool(),
         .clock = process_->clock(),
         .locations = process_->locations(),
         .shim_path = *shim,
         .resources = std::move(options.resources),
         .limits = std::move(options.limits),
         .hides_gpus = options.hides_gpus,
         .keep_for = options.keep_jobs_for,
         .keep_count = options.keep_jobs,
         .random = Random,
         .on_job =
             [this, publisher](msg::JobT job) {
               PublishJob(publisher, std::move(job));
               CopyStats();
             },
         .on_lines =
             [publisher](const std::string& job, std::uint64_t from, msg::LogLinesT lines) {
               PublishLines(publisher, job, from, std::move(lines));
             },
         .on_barrier =
             [this](const JobTable::Options::BarrierLine& said,
                    std::function<void(std::string)> answer) {
               barriers_->ArriveByLine(said.id, said.task, said.line, std::move(answer));
             }});
    if (!table.ok()) return table.status();
    table_ = std::move(*table);
    CopyStats();
    return absl::OkStatus();
  }

  absl::Status OpenKeeper(bool external) {
    auto keeper = ServiceKeeper::Create({.loop = process_->loop(),
                                         .clock = process_->clock(),
                                         .locations = process_->locations(),
                                         .environment = OwnEnvironment(),
                                         .find_binary = FindService,
                                         .random = Random,
                                         .external = external,
                                         .on_change = {}});
    if (!keeper.ok()) return keeper.status();
    keeper_ = std::move(*keeper);
    return absl::OkStatus();
  }

  // Stats are asked for on any thread; the table lives on the loop's.
  void CopyStats() {
    if (table_ == nullptr) return;
    runtime::MutexLock lock(mutex_);
    stats_ = table_->GetStats();
  }
  std::function<std::uint64_t()> Read(std::uint64_t JobTable::Stats::*member) {
    return [this, member] {
      runtime::MutexLock lock(mutex_);
      return stats_.*member;
    };
  }

  bus::ServiceProcess* const process_;
  std::unique_ptr<JobTable> table_;
  std::unique_ptr<BarrierCalls> barriers_;
  std::unique_ptr<ServiceKeeper> keeper_;
  runtime::Mutex mutex_;
  JobTable::Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<LauncherParts>> LauncherParts::Create(bus::ServiceProcess* process,
                                                                     Options options) {
  auto parts = std::make_unique<Parts>(process);
  if (auto status = parts->Prepare(std::move(options)); !status.ok()) return status;
  return parts;
}

}  // namespace launcher
