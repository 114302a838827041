#include "launcher/testing_table.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "launcher/cgroup.h"
#include "launcher/process_table.h"
#include "launcher/shim_protocol.h"
#include "launcher/supervisor.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"

namespace launcher {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(20);

std::string MakeFolder() {
  char name[] = "/tmp/yltXXXXXX";
  return mkdtemp(name);
}

}  // namespace

TestingTable::TestingTable(std::string folder)
    : owns_folder_(folder.empty()),
      folder_(owns_folder_ ? MakeFolder() : std::move(folder)),
      loop_(runtime::EventLoop::Create()),
      pool_(runtime::ThreadPool::Create(&coordinator_, {.threads = 1})) {
  thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
}

TestingTable::~TestingTable() {
  Close();
  (void)coordinator_.RequestStop();
  pool_.reset();
  loop_->Stop();
  thread_->Join();
  if (!owns_folder_) return;
  // Shims live in sessions of their own: none may be left behind.
  for (const auto& row : ReadProcesses()) {
    const auto link = std::filesystem::path(absl::StrCat("/proc/", row.pid, "/cmdline"));
    const auto words = runtime::ReadFile(link, 1 << 20);
    if (words.ok() && absl::StrContains(*words, state_directory())) kill(row.pid, SIGKILL);
  }
  RemoveCgroups();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

// Those of attempts that were left over.
void TestingTable::RemoveCgroups() {
  std::error_code ignored;
  std::filesystem::recursive_directory_iterator entry(state_directory() + "/jobs", ignored), end;
  for (; !ignored && entry != end; entry.increment(ignored)) {
    if (entry->path().filename() != kStartedFile) continue;
    const auto content = runtime::ReadFile(entry->path(), 64 * 1024);
    const auto mark = content.ok() ? TreeMark::Decode(*content) : std::nullopt;
    if (!mark || mark->boot != BootId()) continue;
    for (const std::string& path : mark->cgroups) {
      (void)AwaitTrue([&] { return KillCgroup(path) == 0 && RemoveCgroup(path); });
    }
  }
}

absl::Status TestingTable::Open(std::function<void(std::string_view)> fault) {
  auto shim = runtime::FindBinary("launcher/yard-shim");
  if (!shim.ok()) return shim.status();
  absl::Status status;
  OnLoop([&] {
    JobTable::Options options;
    options.loop = loop_.get();
    options.pool = pool_.get();
    options.locations.runtime_directory = folder_ + "/run";
    options.locations.state_directory = state_directory();
    options.shim_path = *shim;
    options.resources = resources_;
    options.limits = limits_;
    options.port_ranges = port_ranges_;
    options.keep_count = keep_count_;
    options.keep_for = keep_for_;
    options.random = [] { return 0.0; };
    options.fault = std::move(fault);
    options.on_job = [this](const msg::JobT&) {
      runtime::MutexLock lock(mutex_);
      changed_.SignalAll();
    };
    options.on_lines = [this](const std::string& job, std::uint64_t from, msg::LogLinesT lines) {
      runtime::MutexLock lock(mutex_);
      announced_.push_back({job, from, std::move(lines)});
      changed_.SignalAll();
    };
    options.on_barrier = [this](const auto& said, std::function<void(std::string)> answer) {
      if (on_barrier_) on_barrier_(said, std::move(answer));
    };
    auto table = JobTable::Open(std::move(options));
    status = table.status();
    if (table.ok()) table_ = std::move(*table);
  });
  return status;
}

void TestingTable::Close() {
  OnLoop([this] { table_.reset(); });
}

void TestingTable::CloseNext() {
  loop_->Post([this] { table_.reset(); });
}

bool TestingTable::AwaitClosed() {
  return AwaitTrue([this] {
    bool closed = false;
    OnLoop([&] { closed = table_ == nullptr; });
    return closed;
  });
}

void TestingTable::OnLoop(const std::function<void()>& body) {
  bool done = false;
  loop_->Post([&] {
    body();
    runtime::MutexLock lock(mutex_);
    done = true;
    changed_.SignalAll();
  });
  runtime::MutexLock lock(mutex_);
  while (!done) changed_.Wait(mutex_);
}

msg::JobSpecT TestingTable::Shell(const std::string& script) const {
  msg::JobSpecT spec;
  spec.argv = {"sh", "-c", script};
  spec.environment = {"PATH=/usr/bin:/bin", absl::StrCat("FOLDER=", folder_)};
  spec.working_directory = folder_;
  return spec;
}

absl::StatusOr<msg::JobT> TestingTable::Launch(const msg::JobSpecT& spec,
                                               const std::string& request_id) {
  absl::StatusOr<msg::JobT> job = absl::UnknownError("");
  OnLoop([&] { job = table_->Launch(request_id, spec); });
  return job;
}

std::vector<msg::JobT> TestingTable::List() {
  std::vector<msg::JobT> jobs;
  OnLoop([&] { jobs = table_->List({}); });
  return jobs;
}

absl::Status TestingTable::Stop(const std::string& job, absl::Duration grace) {
  absl::Status status;
  OnLoop([&] {
    const auto named = table_->Find(job);
    status = named.ok() ? table_->Stop(*named, grace, "the test") : named.status();
  });
  return status;
}

absl::Status TestingTable::Remove(const std::string& job) {
  std::optional<absl::Status> status;
  OnLoop([&] {
    table_->Remove(job, [&](const absl::Status& removed) {
      runtime::MutexLock lock(mutex_);
      status = removed;
      changed_.SignalAll();
    });
  });
  runtime::MutexLock lock(mutex_);
  while (!status) changed_.Wait(mutex_);
  return *status;
}

std::optional<msg::JobT> TestingTable::Await(
    const std::string& job, const std::function<bool(const msg::JobT&)>& condition) {
  const absl::Time deadline = absl::Now() + kDeadline;
  for (;;) {
    for (auto& found : List()) {
      if (found.id == job && condition(found)) return std::move(found);
    }
    if (absl::Now() >= deadline) return std::nullopt;
    runtime::MutexLock lock(mutex_);
    changed_.WaitWithTimeout(mutex_, absl::Milliseconds(20));
  }
}

std::optional<msg::JobT> TestingTable::AwaitEnd(const std::string& job) {
  return Await(job, [](const msg::JobT& found) { return HasEnded(found.state); });
}

std::optional<msg::JobT> TestingTable::AwaitRunning(const std::string& job) {
  return Await(job, [](const msg::JobT& found) { return found.state == msg::TaskState::Running; });
}

bool TestingTable::AwaitTrue(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + kDeadline;
  while (!condition()) {
    if (absl::Now() >= deadline) return false;
    runtime::MutexLock lock(mutex_);
    changed_.WaitWithTimeout(mutex_, absl::Milliseconds(5));
  }
  return true;
}

bool TestingTable::AwaitInFile(const std::string& path, const std::string& text) {
  return AwaitTrue(
      [&] { return absl::StrContains(runtime::ReadFile(path, 64 << 20).value_or(""), text); });
}

bool TestingTable::AwaitNoFile(const std::string& path) {
  return AwaitTrue([&] { return !std::filesystem::exists(path); });
}

std::vector<TestingTable::Announced> TestingTable::Batches() {
  runtime::MutexLock lock(mutex_);
  return announced_;
}

bool TestingTable::AwaitLine(const std::string& line) {
  const absl::Time deadline = absl::Now() + kDeadline;
  runtime::MutexLock lock(mutex_);
  for (std::size_t seen = 0;;) {
    for (; seen < announced_.size(); ++seen) {
      const auto& lines = announced_[seen].lines.lines;
      if (std::find(lines.begin(), lines.end(), line) != lines.end()) return true;
    }
    if (absl::Now() >= deadline) return false;
    changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
  }
}

std::vector<std::string> TestingTable::Lines() {
  std::vector<std::string> lines;
  for (const auto& batch : Batches()) {
    lines.insert(lines.end(), batch.lines.lines.begin(), batch.lines.lines.end());
  }
  return lines;
}

msg::TaskGroupT& AddGroup(msg::JobSpecT* spec, const std::string& type, std::uint32_t count) {
  auto group = std::make_unique<msg::TaskGroupT>();
  group->type = type;
  group->count = count;
  spec->groups.push_back(std::move(group));
  return *spec->groups.back();
}

const msg::TaskT& TaskOf(const msg::JobT& job, const std::string& name) {
  static const auto* const none = new msg::TaskT;
  for (const auto& task : job.tasks) {
    if (absl::StrCat(task->type, "-", task->index) == name) return *task;
  }
  ADD_FAILURE() << "job " << job.id << " has no task " << name;
  return *none;
}

pid_t ShimOf(const std::string& state_directory, const msg::JobT& job, int attempt) {
  return runtime::LockHolder(
             absl::StrCat(state_directory, "/jobs/", job.id, "/worker-0.", attempt, "/lock"))
      .value_or(0);
}

}  // namespace launcher
