#include "launcher/job/job_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job/job_row.h"
#include "launcher/job/job_spec_record.h"
#include "launcher/job/supervisor.h"
#include "launcher/wire/record.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

class JobStoreTest : public ::testing::Test {
 protected:
  JobStoreTest() {
    char name[] = "/tmp/ystXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~JobStoreTest() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<JobStore> Open() {
    auto store = JobStore::Open(path());
    EXPECT_TRUE(store.ok()) << store.status();
    return std::move(*store);
  }
  std::string path() const { return folder_ + "/launcher.db"; }
  std::string folder_;
};

JobRow Sample(const std::string& id, int tasks = 1) {
  JobRow job;
  job.id = id;
  job.request_id = "request of " + id;
  job.created_us = 12;
  job.run_since_us = 13;
  job.run_since_monotonic_us = 14;
  job.spec.name = "name";
  job.spec.argv = {"prog", "", std::string("\xff x", 3)};
  job.spec.environment = {"A=b\nc", "SECRET=1"};
  job.spec.working_directory = "/somewhere";
  job.spec.restart = msg::RestartPolicy::OnFailure;
  job.spec.max_restarts = 3;
  job.spec.stop_signal = 2;
  job.spec.stop_grace_ms = 77;
  job.spec.log_limit_bytes = 1'000'000;
  job.spec.report_channel = std::make_unique<msg::ReportChannelT>();
  job.spec.report_channel->socket = "/s";
  job.spec.report_channel->nonce = "n";
  job.spec.labels.push_back(std::make_unique<msg::KeyValueT>());
  job.spec.labels.back()->key = "k";
  job.spec.labels.back()->value = "v";
  for (int i = 0; i < tasks; ++i) job.tasks.push_back({.type = "worker", .index = i});
  job.status.tasks.resize(job.tasks.size());
  return job;
}

// Neither the database's pages nor its write-ahead log contain anything of it.
TEST_F(JobStoreTest, NothingIsLeftOfARemovedJob) {
  const auto has_it = [&](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    return all.find("hunter2") != std::string::npos;
  };
  JobRow job = Sample("j-aaaaa");
  job.spec.environment.push_back("SECRET=" + std::string(20'000, 'x') + "hunter2");
  auto store = Open();
  ASSERT_TRUE(store->Insert(job).ok());
  EXPECT_TRUE(has_it(path() + "-wal"));
  ASSERT_TRUE(store->Remove(job.id).ok());
  const absl::Time until = absl::Now() + absl::Seconds(20);
  while (has_it(path() + "-wal") && absl::Now() < until) std::this_thread::yield();
  EXPECT_FALSE(has_it(path() + "-wal"));
  EXPECT_FALSE(has_it(path()));
}

TEST_F(JobStoreTest, KeepsEverythingOfAJob) {
  JobRow job = Sample("j-aaaaa");
  auto store = Open();
  ASSERT_TRUE(store->Insert(job).ok());
  job.ended_us = 99;
  job.status.tasks[0].state = msg::TaskState::Failed;
  job.status.tasks[0].attempt = 1;
  job.status.tasks[0].restarts = 1;
  job.status.tasks[0].stop = StopCause::kAsked;
  job.status.tasks[0].granted = job.status.tasks[0].ready = true;
  job.tasks[0].node = "box-1";
  job.status.first_failure = 0;
  job.status.phase = JobStatus::Phase::kEnds;
  job.status.ending = "it was stopped";
  job.status.time_is_over = job.status.stop_requested = true;
  job.status.restarts = 3;
  job.status.quick_failures = 2;
  job.ports = {1, 65535};
  job.failure = std::make_unique<msg::FailureT>();
  job.failure->task = "worker-0";
  job.failure->last_lines = {"one", "two"};
  job.tasks[0].address = "h:1";
  job.tasks[0].resources = {"gpu=0,1", "x"};
  job.status.tasks[0].stop_grace = absl::Seconds(3);
  job.status.tasks[0].stop_reason = "why";
  job.status.tasks[0].reason = "exit code 3";
  job.tasks[0].attempts.push_back({.number = 1,
                                   .pid = 5,
                                   .start_ticks = 6,
                                   .started_us = 7,
                                   .ended_us = 8,
                                   .exit_code = 3,
                                   .signal = 9,
                                   .reason = "r",
                                   .stdout_begin = 1,
                                   .stdout_end = 2,
                                   .stderr_begin = 3,
                                   .stderr_end = 4,
                                   .shim_lost = true,
                                   .error_number = 13,
                                   .core_dumped = true,
                                   .was_stopped = true,
                                   .out_of_memory = true,
                                   .node = "box-0"});
  ASSERT_TRUE(store->Save({{.job = &job, .of_job = true, .tasks = {0}}}).ok());
  store.reset();
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->size(), 1u);
  const JobRow& back = loaded->front();
  EXPECT_EQ(back.request_id, job.request_id);
  EXPECT_EQ(back.ended_us, 99);
  EXPECT_EQ(back.run_since_us, 13);
  EXPECT_EQ(back.run_since_monotonic_us, 14);
  EXPECT_EQ(EncodeJobSpec(back.spec), EncodeJobSpec(job.spec));
  EXPECT_EQ(back.spec.argv, job.spec.argv);
  EXPECT_EQ(back.spec.environment, job.spec.environment);
  EXPECT_EQ(back.spec.log_limit_bytes, 1'000'000u);
  EXPECT_EQ(back.spec.report_channel->nonce, "n");
  EXPECT_EQ(back.spec.labels[0]->value, "v");
  EXPECT_EQ(back.status, job.status);
  EXPECT_EQ(back.ports, job.ports);
  ASSERT_NE(back.failure, nullptr);
  EXPECT_EQ(back.failure->task, "worker-0");
  EXPECT_EQ(back.failure->last_lines, job.failure->last_lines);
  EXPECT_EQ(back.tasks[0].address, "h:1");
  EXPECT_EQ(back.tasks[0].resources, job.tasks[0].resources);
  EXPECT_EQ(back.tasks[0].node, "box-1");
  ASSERT_EQ(back.tasks[0].attempts.size(), 1u);
  EXPECT_EQ(back.tasks[0].attempts[0].start_ticks, 6u);
  EXPECT_EQ(back.tasks[0].attempts[0].node, "box-0");
  EXPECT_EQ(back.tasks[0].attempts[0].exit_code, 3);
  EXPECT_EQ(back.tasks[0].attempts[0].stderr_end, 4u);
  EXPECT_TRUE(back.tasks[0].attempts[0].shim_lost);
  EXPECT_EQ(back.tasks[0].attempts[0].error_number, 13);
  EXPECT_TRUE(back.tasks[0].attempts[0].core_dumped);
  EXPECT_TRUE(back.tasks[0].attempts[0].was_stopped);
  EXPECT_TRUE(back.tasks[0].attempts[0].out_of_memory);
}

TEST_F(JobStoreTest, ReadsTheEnvironmentOfOneJob) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  EXPECT_EQ(store->LoadFromCaller("j-aaaaa").value().environment, Sample("").spec.environment);
  EXPECT_EQ(store->LoadFromCaller("j-bbbbb").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobStoreTest, KeepsTheTasksInTheOrderOfTheirRanksAndSavesTheNamedOnes) {
  JobRow job = Sample("j-aaaaa", 12);
  job.tasks[0].type = "zchief";
  auto store = Open();
  ASSERT_TRUE(store->Insert(job).ok());
  for (int i = 0; i < 12; ++i) {
    const auto task = static_cast<std::size_t>(i);
    job.status.tasks[task].attempt = 1;
    job.tasks[task].attempts.push_back({.number = 1, .pid = 100 + i});
  }
  ASSERT_TRUE(store->Save({{.job = &job, .of_job = true, .tasks = {0, 11}}}).ok());
  const auto loaded = store->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const JobRow& back = loaded->front();
  ASSERT_EQ(back.tasks.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(back.tasks[i].name(), job.tasks[i].name());
    const bool saved = i == 0 || i == 11;
    EXPECT_EQ(back.status.tasks[i].attempt, saved ? 1 : 0);
    ASSERT_EQ(back.tasks[i].attempts.size(), saved ? 1u : 0u);
    if (saved) {
      EXPECT_EQ(back.tasks[i].attempts[0].pid, 100 + static_cast<int>(i));
    }
  }
}

// Turns the schema into that of version 3, in which a job had one task.
constexpr char kThirdVersion[] =
    "ALTER TABLE jobs DROP COLUMN state; ALTER TABLE tasks RENAME COLUMN stop TO stop_requested; "
    "ALTER TABLE tasks DROP COLUMN rank; ALTER TABLE tasks DROP COLUMN granted; "
    "ALTER TABLE tasks DROP COLUMN address; ALTER TABLE tasks DROP COLUMN resources; "
    "ALTER TABLE tasks DROP COLUMN ready; "
    "ALTER TABLE attempts DROP COLUMN core_dumped; ALTER TABLE attempts DROP COLUMN was_stopped; "
    "ALTER TABLE attempts DROP COLUMN out_of_memory; DROP TABLE alerts; DROP TABLE notifications; "
    "ALTER TABLE tasks DROP COLUMN node; ALTER TABLE attempts DROP COLUMN node; "
    "ALTER TABLE attempts DROP COLUMN host; DROP TABLE nodes; "
    "PRAGMA user_version=3;";

TEST_F(JobStoreTest, AJobOfTheThirdVersionIsOneOfOneTask) {
  JobRow job = Sample("j-aaaaa");
  job.status.tasks[0].state = msg::TaskState::Failed;
  job.status.tasks[0].stop = StopCause::kAsked;
  Record spec("job");  // In the format of that version.
  spec.Add("name", "old");
  spec.AddAll("argv", {"prog", "x y"});
  spec.AddAll("env", {"A=b"});
  spec.AddNumber("max_restarts", 4);
  const std::string bytes = spec.Encode();
  ASSERT_TRUE(Open()->Insert(job).ok());
  {
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    database.exec(kThirdVersion);
    SQLite::Statement update(database, "UPDATE jobs SET spec = ?");
    update.bind(1, bytes.data(), static_cast<int>(bytes.size()));
    update.exec();
  }
  for (int opened = 0; opened < 2; ++opened) {
    const auto loaded = Open()->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const JobRow& back = loaded->front();
    EXPECT_EQ(back.spec.name, "old");
    EXPECT_EQ(back.spec.argv, (std::vector<std::string>{"prog", "x y"}));
    EXPECT_EQ(back.spec.max_restarts, 4u);
    EXPECT_EQ(back.status.tasks[0].stop, StopCause::kAsked);
    EXPECT_EQ(StateOf(back.status), msg::TaskState::Failed);
  }
}

TEST_F(JobStoreTest, SavesTheChangesOfManyJobsTogetherAndNothingElseOfThem) {
  auto store = Open();
  JobRow a = Sample("j-aaaaa", 2), b = Sample("j-bbbbb", 1);
  ASSERT_TRUE(store->Insert(a).ok());
  ASSERT_TRUE(store->Insert(b).ok());
  a.ended_us = b.ended_us = 7;
  a.status.tasks[1].attempt = b.status.tasks[0].attempt = 2;
  // The end of one attempt and the start of the next are saved together.
  a.tasks[1].attempts = {{.number = 1, .ended_us = 5, .exit_code = 3}, {.number = 2}};
  ASSERT_TRUE(store->Save({{.job = &a, .tasks = {1}}, {.job = &b, .of_job = true}}).ok());
  const auto loaded = store->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const bool a_first = loaded->front().id == a.id;
  const JobRow& back_a = (*loaded)[a_first ? 0 : 1];
  const JobRow& back_b = (*loaded)[a_first ? 1 : 0];
  EXPECT_NE(back_a.ended_us, 7);
  EXPECT_EQ(back_a.status.tasks[1].attempt, 2);
  ASSERT_EQ(back_a.tasks[1].attempts.size(), 2u);
  EXPECT_EQ(back_a.tasks[1].attempts[0].exit_code, 3);
  EXPECT_EQ(back_b.ended_us, 7);
  EXPECT_NE(back_b.status.tasks[0].attempt, 2);
}

TEST_F(JobStoreTest, ASaveWithoutItsJobSavesNothing) {
  auto store = Open();
  JobRow known = Sample("j-aaaaa"), unknown = Sample("j-bbbbb");
  ASSERT_TRUE(store->Insert(known).ok());
  known.status.tasks[0].attempt = 2;
  EXPECT_FALSE(store->Save({{.job = &known, .tasks = {0}}, {.job = &unknown, .tasks = {0}}}).ok());
  EXPECT_NE(store->Load()->front().status.tasks[0].attempt, 2);
}

TEST_F(JobStoreTest, KnowsTheLostShimsOfTheFirstVersion) {
  JobRow job = Sample("j-aaaaa");
  for (const char* reason : {"exit code 1", "the shim was killed (signal 9)"}) {
    job.tasks[0].attempts.push_back({.number = static_cast<int>(job.tasks[0].attempts.size()) + 1,
                                     .exit_code = 1,
                                     .reason = reason});
    auto store = Open();
    if (job.tasks[0].attempts.size() == 1) {
      ASSERT_TRUE(store->Insert(job).ok());
    }
    ASSERT_TRUE(store->Save({{.job = &job, .of_job = true, .tasks = {0}}}).ok());
  }
  {
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    database.exec(std::string(kThirdVersion) +
                  "ALTER TABLE attempts DROP COLUMN shim_lost; "
                  "ALTER TABLE attempts DROP COLUMN error_number; PRAGMA user_version=1");
  }
  for (int opened = 0; opened < 2; ++opened) {
    const auto loaded = Open()->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ(loaded->front().tasks[0].attempts.size(), 2u);
    EXPECT_FALSE(loaded->front().tasks[0].attempts[0].shim_lost);
    EXPECT_TRUE(loaded->front().tasks[0].attempts[1].shim_lost);
  }
}

TEST_F(JobStoreTest, AnAttemptOfTheSecondVersionHasNoErrorNumber) {
  JobRow job = Sample("j-aaaaa");
  job.tasks[0].attempts.push_back({.number = 1, .shim_lost = true, .error_number = 13});
  {
    auto store = Open();
    ASSERT_TRUE(store->Insert(job).ok());
    ASSERT_TRUE(store->Save({{.job = &job, .of_job = true, .tasks = {0}}}).ok());
  }
  {
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    database.exec(std::string(kThirdVersion) +
                  "ALTER TABLE attempts DROP COLUMN error_number; PRAGMA user_version=2");
  }
  for (int opened = 0; opened < 2; ++opened) {
    const auto loaded = Open()->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ(loaded->front().tasks[0].attempts.size(), 1u);
    EXPECT_TRUE(loaded->front().tasks[0].attempts[0].shim_lost);
    EXPECT_EQ(loaded->front().tasks[0].attempts[0].error_number, 0);
  }
}

TEST_F(JobStoreTest, TakesARequestOnce) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  JobRow again = Sample("j-bbbbb");
  again.request_id = "request of j-aaaaa";
  EXPECT_EQ(store->Insert(again).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store->Load()->size(), 1u);
}

TEST_F(JobStoreTest, RemovesAJobWithAllThatBelongsToIt) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  ASSERT_TRUE(store->Remove("j-aaaaa").ok());
  EXPECT_TRUE(store->Remove("j-aaaaa").ok());
  EXPECT_TRUE(store->Load()->empty());
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM tasks").getInt(), 0);
}

TEST_F(JobStoreTest, IsForItsOwnerOnly) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    struct stat status = {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST_F(JobStoreTest, RefusesAFileThatIsEmptyWhereItWasInUse) {
  const auto trace = [] { return std::string("/state/jobs/j-1"); };
  EXPECT_TRUE(JobStore::Open(path(), trace).ok()) << "it is a new one";
  std::filesystem::resize_file(path(), 0);
  const auto store = JobStore::Open(path(), trace);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(store.status().ToString().find("is empty, but it was in use: /state/jobs/j-1 is there"),
            std::string::npos)
      << store.status();
  EXPECT_TRUE(JobStore::Open(path()).ok()) << "nothing shows a use";
}

TEST_F(JobStoreTest, APageThatIsDamagedCostsTheJobsInIt) {
  constexpr int kJobs = 200;
  {
    const auto store = Open();
    for (int i = 1; i <= kJobs; ++i) {
      JobRow job = Sample(absl::StrCat("j-", i));
      job.created_us = i;
      job.spec.name = absl::StrCat("marker-", i, "-", std::string(100, 'x'));
      ASSERT_TRUE(store->Insert(job).ok());
    }
  }
  std::string bytes(std::filesystem::file_size(path()), 0);
  std::ifstream(path(), std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::size_t page = bytes.find("marker-100-") / 4096 * 4096;
  bytes.replace(page, 4096, 4096, 'Z');
  std::ofstream(path(), std::ios::binary) << bytes;
  const auto store = Open();
  const auto jobs = store->Load();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_LT(jobs->size(), std::size_t{kJobs});
  EXPECT_GT(jobs->size(), std::size_t{kJobs} - 40);
  EXPECT_EQ(jobs->front().id, "j-1");
  EXPECT_EQ(jobs->back().id, absl::StrCat("j-", kJobs));
  EXPECT_EQ(jobs->back().tasks.size(), 1u);
  EXPECT_TRUE(store->Insert(Sample("j-new")).ok()) << "it is the database itself that goes on";
}

TEST_F(JobStoreTest, RefusesANewerFileByName) {
  Open();
  SQLite::Database(path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=8");
  const auto store = JobStore::Open(path());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(store.status().ToString().find("newer version (8, this one knows 7)"),
            std::string::npos)
      << store.status();
}

// While everything is in the write-ahead log, the database is only one page long.
constexpr std::uintmax_t kCopied = 64 * 1024;

std::uintmax_t SizeOf(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

TEST_F(JobStoreTest, TheLogIsCopiedIntoTheDatabase) {
  const auto store = Open();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(store->Insert(Sample(absl::StrCat("j-", i))).ok());
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (SizeOf(path()) < kCopied && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_GE(SizeOf(path()), kCopied);
}

TEST_F(JobStoreTest, WhatIsStoredIsStoredEvenIfTheLogCannotBeCopied) {
  auto store = Open();
  // Holds the lock of a process that is checkpointing the log.
  const runtime::UniqueFd file(open((path() + "-shm").c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 121;  // SQLite's checkpoint lock.
  lock.l_len = 1;
  ASSERT_EQ(fcntl(file.get(), F_OFD_SETLK, &lock), 0);
  int jobs = 0;
  while (SizeOf(path() + "-wal") < (40 << 20)) {
    ASSERT_TRUE(store->Insert(Sample(absl::StrCat("j-", ++jobs))).ok());
  }
  EXPECT_LT(SizeOf(path()), kCopied);
  store.reset();
  const auto rows = Open()->Load();
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->size(), static_cast<std::size_t>(jobs));
}

// Without this lock another process that closes the database would take itself for the last user,
// and remove the log that is in use.
TEST_F(JobStoreTest, ItsLockOnTheFileIsHeld) {
  const auto store = Open();
  const runtime::UniqueFd file(open(path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(file.valid());
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000002;  // SQLite's range of shared locks.
  lock.l_len = 510;
  ASSERT_EQ(fcntl(file.get(), F_OFD_GETLK, &lock), 0);
  EXPECT_EQ(lock.l_type, F_RDLCK);
}

}  // namespace
}  // namespace launcher
