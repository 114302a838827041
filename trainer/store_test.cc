#include "trainer/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/unique_fd.h"

namespace trainer {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    char name[] = "/tmp/ts-XXXXXX";
    directory_ = mkdtemp(name);
    Reopen();
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string Path() const { return directory_ + "/trainer.db"; }
  void Reopen() {
    store_.reset();
    auto store = Store::Open(Path());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  static TrialRecord Trial(const std::string& id) {
    TrialRecord trial;
    trial.run = {id, "e", "host", 5, "events"};
    trial.request_id = "r-" + id;
    trial.spec.name = "run";
    trial.spec.argv = {"prog", "", "a b"};
    trial.spec.environment = {"A=1", "B="};
    trial.spec.run_directory = "/runs/run";
    trial.spec.config = "{\"a\":1}";
    trial.spec.seed = 0xFFFFFFFFFFFFFFFF;
    trial.spec.max_restarts = 3;
    trial.nonce = "nonce";
    trial.job_request_id = "jr";
    trial.trace = "trace";
    return trial;
  }
  static StoreBatch::Row Row(std::int64_t trial, std::int64_t number) {
    ResultRow row;
    row.row = number;
    row.metrics = "{\"x\":NaN}";
    row.step = -4;
    row.ends = {number * 10, number * 20, number * 30};
    return {trial, row};
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsTrialsOverAReopening) {
  auto number = store_->Insert(Trial("t-a"));
  ASSERT_TRUE(number.ok()) << number.status();
  TrialRecord changed = Trial("t-a");
  changed.number = *number;
  changed.state = msg::TrialState::Failed;
  changed.attempt = 2;
  changed.reason = "exit code 3";
  changed.error_lines = {"one", "", "three"};
  StoreBatch batch;
  batch.trials.push_back(changed);
  ASSERT_TRUE(store_->Write(batch).ok());
  Reopen();
  auto trials = store_->LoadTrials();
  ASSERT_TRUE(trials.ok()) << trials.status();
  ASSERT_EQ(trials->size(), 1u);
  const TrialRecord& loaded = trials->front();
  EXPECT_EQ(loaded.id(), "t-a");
  EXPECT_EQ(loaded.spec.argv, changed.spec.argv);
  EXPECT_EQ(loaded.spec.environment, changed.spec.environment);
  EXPECT_EQ(loaded.spec.seed, changed.spec.seed);
  EXPECT_EQ(loaded.spec.max_restarts, 3u);
  EXPECT_EQ(loaded.state, msg::TrialState::Failed);
  EXPECT_EQ(loaded.attempt, 2);
  EXPECT_EQ(loaded.reason, "exit code 3");
  EXPECT_EQ(loaded.error_lines, changed.error_lines);
  EXPECT_EQ(loaded.nonce, "nonce");
  EXPECT_EQ(loaded.trace, "trace");
}

TEST_F(StoreTest, TakesOverTheFileOfTheFirstVersion) {
  ASSERT_TRUE(store_->Insert(Trial("t-a")).ok());
  store_.reset();
  {
    SQLite::Database database(Path(), SQLite::OPEN_READWRITE);
    database.exec("ALTER TABLE trials DROP COLUMN trace");
    database.exec("PRAGMA user_version=1");
  }
  Reopen();
  ASSERT_TRUE(store_->Insert(Trial("t-b")).ok());
  for (int i = 0; i < 2; ++i, Reopen()) {
    const auto trials = store_->LoadTrials();
    ASSERT_TRUE(trials.ok()) << trials.status();
    ASSERT_EQ(trials->size(), 2u);
    EXPECT_EQ(trials->at(0).id(), "t-a");
    EXPECT_EQ(trials->at(0).nonce, "nonce");
    EXPECT_EQ(trials->at(0).trace, "");
    EXPECT_EQ(trials->at(1).trace, "trace");
  }
}

TEST_F(StoreTest, RefusesARequestIdASecondTime) {
  ASSERT_TRUE(store_->Insert(Trial("t-a")).ok());
  TrialRecord again = Trial("t-b");
  again.request_id = "r-t-a";
  EXPECT_EQ(store_->Insert(again).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(StoreTest, ABatchIsAllOrNothing) {
  StoreBatch first;
  first.rows = {Row(1, 1)};
  first.lines = {{1, 1, 1, "ok"}};
  ASSERT_TRUE(store_->Write(first).ok());
  StoreBatch second;
  second.rows = {Row(1, 2), Row(1, 1)};
  second.lines = {{1, 1, 2, "ok"}};
  EXPECT_EQ(store_->Write(second).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->LastRow(1)->row, 1);
  EXPECT_EQ(*store_->LastLine(1, 1), 1);
  second.rows.pop_back();
  EXPECT_TRUE(store_->Write(second).ok()) << "a refused batch must not spoil the next";
  EXPECT_EQ(store_->LastRow(1)->row, 2);
}

TEST_F(StoreTest, FindsTheLastRowThatFits) {
  StoreBatch batch;
  for (int i = 1; i <= 4; ++i) batch.rows.push_back(Row(7, i));
  batch.rows.push_back(Row(8, 1));
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_EQ(store_->LastRowThatFits(7, kResultJson, 9)->row, 0);
  EXPECT_EQ(store_->LastRowThatFits(7, kResultJson, 10)->row, 1);
  EXPECT_EQ(store_->LastRowThatFits(7, kProgressCsv, 79)->row, 3);
  EXPECT_EQ(store_->LastRowThatFits(7, kEventFile, 1000)->row, 4);
  const ResultRow row = *store_->LastRow(7);
  EXPECT_EQ(row.metrics, "{\"x\":NaN}");
  EXPECT_EQ(row.step, -4);
  EXPECT_EQ(row.ends, (FileEnds{40, 80, 120}));
  EXPECT_EQ(store_->RowsAfter(7, 1, 2)->size(), 2u);
  EXPECT_EQ(store_->RowsAfter(7, 1, 2)->front().row, 2);
  EXPECT_TRUE(store_->RowsAfter(7, 4, 2)->empty());
}

TEST_F(StoreTest, RemembersTheLastAnswersOfEachAttempt) {
  for (int i = 1; i <= 600; ++i) {
    StoreBatch batch;
    batch.lines = {{1, 2, i, "answer " + std::to_string(i)}};
    ASSERT_TRUE(store_->Write(batch).ok());
  }
  Reopen();
  EXPECT_EQ(*store_->LastLine(1, 2), 600);
  EXPECT_EQ(*store_->LastLine(1, 1), 0);
  EXPECT_EQ(**store_->AnswerTo(1, 2, 600), "answer 600");
  EXPECT_EQ(**store_->AnswerTo(1, 2, 600 - 255), "answer 345");
  EXPECT_FALSE(store_->AnswerTo(1, 2, 1)->has_value());
}

TEST_F(StoreTest, ForgetsTheLinesOfWhatIsOver) {
  StoreBatch batch;
  for (const char* id : {"t-old", "t-late", "t-live"}) {
    TrialRecord trial = Trial(id);
    trial.number = *store_->Insert(trial);
    trial.attempt = 2;
    trial.ended_us = trial.id() == "t-old" ? 100 : trial.id() == "t-late" ? 300 : 0;
    batch.trials.push_back(trial);
    for (int attempt : {1, 2}) batch.lines.push_back({trial.number, attempt, 1, "ok"});
  }
  ASSERT_TRUE(store_->Write(batch).ok());
  ASSERT_TRUE(store_->ForgetOldLines(200).ok());
  EXPECT_EQ(*store_->LastLine(1, 2), 0);
  EXPECT_EQ(*store_->LastLine(2, 2), 1);
  EXPECT_EQ(*store_->LastLine(3, 2), 1);
  EXPECT_EQ(*store_->LastLine(2, 1), 0);
}

TEST_F(StoreTest, ATrialThatLogsForEverKeepsItsLastLines) {
  StoreBatch batch;
  for (int i = 0; i < 5000; ++i) batch.logs.push_back({1, i, "line"});
  batch.logs.push_back({2, 1, "of another trial"});
  ASSERT_TRUE(store_->Write(batch).ok());
  SQLite::Database database(Path());
  const auto count = [&](const char* where) {
    return database.execAndGet(std::string("SELECT COUNT(*) FROM logs WHERE ") + where).getInt();
  };
  EXPECT_EQ(count("trial = 1 AND wall_time_us >= 4000"), 1000);
  EXPECT_LT(count("trial = 1"), 2000);
  EXPECT_EQ(count("trial = 2"), 1);
}

TEST_F(StoreTest, ItsFilesArePrivate) {
  ASSERT_TRUE(store_->Insert(Trial("t-a")).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    struct stat about {};
    ASSERT_EQ(stat(file.path().c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << file.path();
  }
}

TEST_F(StoreTest, RefusesTheFileOfANewerVersion) {
  store_.reset();
  SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=99");
  const auto store = Store::Open(Path());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(store.status().message()), testing::HasSubstr("99"));
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsAnErrorAndNoException) {
  store_.reset();
  std::filesystem::remove(Path() + "-wal");
  FILE* file = fopen(Path().c_str(), "w");
  fputs(std::string(8192, 'x').c_str(), file);
  fclose(file);
  EXPECT_FALSE(Store::Open(Path()).ok());
}

// Without it another process that closes the database believes to be the last one, and removes the
// log that is in use.
TEST_F(StoreTest, ItsLockOnTheFileIsHeld) {
  const runtime::UniqueFd file(open(Path().c_str(), O_RDWR | O_CLOEXEC));
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
}  // namespace trainer
