#include "launcher/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/job_spec_record.h"
#include "launcher/supervisor.h"

namespace launcher {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    char name[] = "/tmp/ystXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<Store> Open() {
    auto store = Store::Open(path());
    EXPECT_TRUE(store.ok()) << store.status();
    return std::move(*store);
  }
  std::string path() const { return folder_ + "/launcher.db"; }
  std::string folder_;
};

JobRow Sample(const std::string& id) {
  JobRow job;
  job.id = id;
  job.request_id = "request of " + id;
  job.created_us = 12;
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
  job.task.type = "worker";
  return job;
}

TEST_F(StoreTest, KeepsEverythingOfAJob) {
  JobRow job = Sample("j-aaaaa");
  auto store = Open();
  ASSERT_TRUE(store->Insert(job).ok());
  job.ended_us = 99;
  job.task.status.state = msg::TaskState::Failed;
  job.task.status.attempt = 1;
  job.task.status.restarts = 1;
  job.task.status.stop_requested = true;
  job.task.status.stop_grace = absl::Seconds(3);
  job.task.status.stop_reason = "why";
  job.task.status.reason = "exit code 3";
  job.task.attempts.push_back({.number = 1,
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
                               .error_number = 13});
  ASSERT_TRUE(store->Save(job).ok());
  store.reset();
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->size(), 1u);
  const JobRow& back = loaded->front();
  EXPECT_EQ(back.request_id, job.request_id);
  EXPECT_EQ(back.ended_us, 99);
  EXPECT_EQ(EncodeJobSpec(back.spec), EncodeJobSpec(job.spec));
  EXPECT_EQ(back.spec.argv, job.spec.argv);
  EXPECT_EQ(back.spec.environment, job.spec.environment);
  EXPECT_EQ(back.spec.log_limit_bytes, 1'000'000u);
  EXPECT_EQ(back.spec.report_channel->nonce, "n");
  EXPECT_EQ(back.spec.labels[0]->value, "v");
  EXPECT_EQ(back.task.status, job.task.status);
  ASSERT_EQ(back.task.attempts.size(), 1u);
  EXPECT_EQ(back.task.attempts[0].start_ticks, 6u);
  EXPECT_EQ(back.task.attempts[0].exit_code, 3);
  EXPECT_EQ(back.task.attempts[0].stderr_end, 4u);
  EXPECT_TRUE(back.task.attempts[0].shim_lost);
  EXPECT_EQ(back.task.attempts[0].error_number, 13);
}

TEST_F(StoreTest, KnowsTheLostShimsOfTheFirstVersion) {
  JobRow job = Sample("j-aaaaa");
  for (const char* reason : {"exit code 1", "the shim was killed (signal 9)"}) {
    job.task.attempts.push_back({.number = static_cast<int>(job.task.attempts.size()) + 1,
                                 .exit_code = 1,
                                 .reason = reason});
    auto store = Open();
    if (job.task.attempts.size() == 1) {
      ASSERT_TRUE(store->Insert(job).ok());
    }
    ASSERT_TRUE(store->Save(job).ok());
  }
  {
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    database.exec(
        "ALTER TABLE attempts DROP COLUMN shim_lost; "
        "ALTER TABLE attempts DROP COLUMN error_number; PRAGMA user_version=1");
  }
  for (int opened = 0; opened < 2; ++opened) {
    const auto loaded = Open()->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ(loaded->front().task.attempts.size(), 2u);
    EXPECT_FALSE(loaded->front().task.attempts[0].shim_lost);
    EXPECT_TRUE(loaded->front().task.attempts[1].shim_lost);
  }
}

TEST_F(StoreTest, AnAttemptOfTheSecondVersionHasNoErrorNumber) {
  JobRow job = Sample("j-aaaaa");
  job.task.attempts.push_back({.number = 1, .shim_lost = true, .error_number = 13});
  {
    auto store = Open();
    ASSERT_TRUE(store->Insert(job).ok());
    ASSERT_TRUE(store->Save(job).ok());
  }
  {
    SQLite::Database database(path(), SQLite::OPEN_READWRITE);
    database.exec("ALTER TABLE attempts DROP COLUMN error_number; PRAGMA user_version=2");
  }
  for (int opened = 0; opened < 2; ++opened) {
    const auto loaded = Open()->Load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ(loaded->front().task.attempts.size(), 1u);
    EXPECT_TRUE(loaded->front().task.attempts[0].shim_lost);
    EXPECT_EQ(loaded->front().task.attempts[0].error_number, 0);
  }
}

TEST_F(StoreTest, TakesARequestOnce) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  JobRow again = Sample("j-bbbbb");
  again.request_id = "request of j-aaaaa";
  EXPECT_EQ(store->Insert(again).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store->Load()->size(), 1u);
}

TEST_F(StoreTest, RemovesAJobWithAllThatBelongsToIt) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  ASSERT_TRUE(store->Remove("j-aaaaa").ok());
  EXPECT_TRUE(store->Remove("j-aaaaa").ok());
  EXPECT_TRUE(store->Load()->empty());
  SQLite::Database database(path());
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM tasks").getInt(), 0);
}

TEST_F(StoreTest, IsForItsOwnerOnly) {
  auto store = Open();
  ASSERT_TRUE(store->Insert(Sample("j-aaaaa")).ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    struct stat status = {};
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST_F(StoreTest, RefusesANewerFileByName) {
  Open();
  SQLite::Database(path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=7");
  const auto store = Store::Open(path());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(store.status().ToString().find("newer version (7, this one knows 3)"),
            std::string::npos)
      << store.status();
}

}  // namespace
}  // namespace launcher
