#include "trainer/store/trial_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/unique_fd.h"

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
    auto store = TrialStore::Open(Path());
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
    trial.spec.options.priority = 7;
    trial.spec.options.labels = {"lr=0.1"};
    return trial;
  }
  std::vector<TrialRecord> LoadTrials() {
    std::vector<TrialRecord> trials;
    const absl::Status loaded = store_->ForEachTrial([&](TrialRecord trial) {
      EXPECT_EQ(store_->LoadTrial(trial.number)->id(), trial.id());
      trials.push_back(std::move(trial));
      return absl::OkStatus();
    });
    EXPECT_TRUE(loaded.ok()) << loaded;
    return trials;
  }
  static StoreBatch::Row Row(std::int64_t trial, std::int64_t number) {
    ResultRow row;
    row.row = number;
    row.metrics = "{\"x\":NaN}";
    row.step = -4;
    row.ends = {number * 10, number * 20, number * 30};
    row.iterations_since_restore = number + 1;
    row.time_since_restore_us = number + 2;
    row.timesteps_since_restore = number + 3;
    row.timesteps_total = number + 4;
    row.episodes_total = number + 5;
    row.pid = number + 6;
    row.monotonic_us = number + 7;
    return {trial, row};
  }

  std::string directory_;
  std::unique_ptr<TrialStore> store_;
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
  changed.pause_requested = true;
  changed.start_checkpoint = "/runs/run/checkpoint_000004";
  changed.start_iteration = 4;
  changed.start_time_total_us = 5;
  changed.expelled = true;
  changed.criterion = "loss has reached 1";
  changed.earlier_attempts_us = 1'234;
  changed.failures = 5;
  changed.attempt_began_us = 6;
  changed.earlier_metrics = R"({"acc":0.10})";
  StoreBatch batch;
  batch.trials.push_back(changed);
  ASSERT_TRUE(store_->Write(batch).ok());
  Reopen();
  const auto trials = LoadTrials();
  ASSERT_EQ(trials.size(), 1u);
  const TrialRecord& loaded = trials.front();
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
  EXPECT_TRUE(loaded.pause_requested);
  EXPECT_EQ(loaded.start_checkpoint, "/runs/run/checkpoint_000004");
  EXPECT_EQ(loaded.start_iteration, 4);
  EXPECT_EQ(loaded.start_time_total_us, 5);
  EXPECT_TRUE(loaded.expelled);
  EXPECT_EQ(loaded.criterion, "loss has reached 1");
  EXPECT_EQ(loaded.earlier_attempts_us, 1'234);
  EXPECT_EQ(loaded.failures, 5u);
  EXPECT_EQ(loaded.attempt_began_us, 6);
  EXPECT_EQ(loaded.earlier_metrics, changed.earlier_metrics);
  EXPECT_EQ(*store_->EnvironmentOf(*number), changed.spec.environment);
  EXPECT_EQ(store_->LoadTrial(99).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->EnvironmentOf(99).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(loaded.spec.options.priority, 7);
  EXPECT_EQ(loaded.spec.options.labels, std::vector<std::string>{"lr=0.1"});
  EXPECT_EQ(loaded.spec.options.keep_checkpoints, -1);
}

TEST_F(StoreTest, TakesOverTheFileOfTheFirstVersion) {
  ASSERT_TRUE(store_->Insert(Trial("t-a")).ok());
  store_.reset();
  {
    SQLite::Database database(Path(), SQLite::OPEN_READWRITE);
    for (const char* column : {"trace", "options", "pause_requested", "start_checkpoint",
                               "start_iteration", "start_time_total_us", "expelled", "criterion",
                               "earlier_attempts_us", "failures", "earlier_metrics"}) {
      database.exec(absl::StrCat("ALTER TABLE trials DROP COLUMN ", column));
    }
    for (const char* column :
         {"iterations_since_restore", "time_since_restore_us", "timesteps_since_restore",
          "timesteps_total", "episodes_total", "pid", "monotonic_us"}) {
      database.exec(absl::StrCat("ALTER TABLE reports DROP COLUMN ", column));
    }
    database.exec("ALTER TABLE trials RENAME COLUMN attempt_began_us TO attempt_started_us");
    database.exec("DROP TABLE checkpoints; DROP TABLE csv_columns; DROP TABLE failures");
    database.exec("DROP TABLE events; DROP TABLE removals; DROP TABLE recent");
    database.exec("DROP TABLE sweeps; DROP TABLE sweep_events; DROP TABLE alerts");
    database.exec("INSERT INTO reports VALUES (1, 1, 1, 0, 0, 1, 1, 0, 0, 0, '{}', 1, 2, 3)");
    database.exec("UPDATE trials SET attempt = 3");
    database.exec("PRAGMA user_version=1");
  }
  Reopen();
  ASSERT_TRUE(store_->Insert(Trial("t-b")).ok());
  const ResultRow old = *store_->LastRow(1);
  EXPECT_EQ(old.iterations_since_restore, 0);
  EXPECT_EQ(old.timesteps_total, -1);
  EXPECT_EQ(old.monotonic_us, -1);
  StoreBatch batch;
  batch.rows = {Row(1, 2)};
  batch.widenings = {{1, {2, {"new"}}}};
  EXPECT_TRUE(store_->Write(batch).ok());
  EXPECT_TRUE(store_->AddFailure(1, {}).ok());
  for (int i = 0; i < 2; ++i, Reopen()) {
    const auto trials = LoadTrials();
    ASSERT_EQ(trials.size(), 2u);
    EXPECT_EQ(trials.at(0).id(), "t-a");
    EXPECT_EQ(trials.at(0).nonce, "nonce");
    EXPECT_EQ(trials.at(0).trace, "");
    EXPECT_EQ(trials.at(0).attempt_began_us, -1) << "it was a time of another clock";
    EXPECT_EQ(trials.at(0).failures, 2u) << "every attempt but the last one had failed";
    EXPECT_TRUE(store_->EventsAfter(1, 0, 1)->empty());
    EXPECT_TRUE(store_->UnfinishedRemovals()->empty());
    EXPECT_EQ(trials.at(1).trace, "trace");
    EXPECT_EQ(trials.at(0).start_checkpoint, "");
    EXPECT_EQ(store_->NewestCheckpoint(1)->number, 0);
  }
}

TEST_F(StoreTest, KeepsCheckpointsNewestFirstOneForEachName) {
  StoreBatch batch;
  batch.checkpoints = {{1, 1, 1, "checkpoint_000001", 1, 10, 100, 1000, 0.5},
                       {1, 2, 1, "checkpoint_000002", 2, 20, 200, 2000, std::nullopt},
                       {2, 1, 1, "checkpoint_000001", 7, 0, 0, 0, -1.5}};
  ASSERT_TRUE(store_->Write(batch).ok());
  batch = {};
  batch.checkpoints = {{1, 3, 2, "checkpoint_000001", 1, 11, 300, 3000, 0.25, 12, 13, true, true}};
  ASSERT_TRUE(store_->Write(batch).ok());
  Reopen();
  const auto rows = *store_->Checkpoints(1);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].number, 3);
  EXPECT_EQ(rows[0].attempt, 2);
  EXPECT_EQ(rows[0].name, "checkpoint_000001");
  EXPECT_EQ(rows[0].score, 0.25);
  EXPECT_EQ(rows[0].step, 12);
  EXPECT_EQ(rows[0].report, 13);
  EXPECT_TRUE(rows[0].pending && rows[0].saves_first);
  EXPECT_EQ(rows[1].step, -1);
  EXPECT_FALSE(rows[1].pending || rows[1].saves_first);
  EXPECT_EQ(rows[1].number, 2);
  EXPECT_EQ(rows[1].iteration, 2);
  EXPECT_EQ(rows[1].time_total_us, 20);
  EXPECT_EQ(rows[1].wall_time_us, 200);
  EXPECT_EQ(rows[1].bytes, 2000);
  EXPECT_EQ(rows[1].score, std::nullopt);
  EXPECT_EQ(store_->NewestCheckpoint(2)->score, -1.5);
  batch = {};
  batch.forgotten_checkpoints = {rows[0]};
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_EQ(store_->NewestCheckpoint(1)->number, 2);
  EXPECT_EQ(store_->NewestCheckpoint(3)->number, 0);
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
  EXPECT_EQ(row.iterations_since_restore, 5);
  EXPECT_EQ(row.time_since_restore_us, 6);
  EXPECT_EQ(row.timesteps_since_restore, 7);
  EXPECT_EQ(row.timesteps_total, 8);
  EXPECT_EQ(row.episodes_total, 9);
  EXPECT_EQ(row.pid, 10);
  EXPECT_EQ(row.monotonic_us, 11);
  EXPECT_EQ(store_->RowsAfter(7, 1, 2)->size(), 2u);
  EXPECT_EQ(store_->RowsAfter(7, 1, 2)->front().row, 2);
  EXPECT_TRUE(store_->RowsAfter(7, 4, 2)->empty());
}

// Rows that wait in order of arrival look like rows in their table to every reader, in this process
// and, after a kill, in the next one.
TEST_F(StoreTest, ReportsOfManyTrialsThatTakeTurnsAreReadInTheirOrder) {
  constexpr int kRounds = 1500;  // More than may wait together.
  for (int i = 1; i <= kRounds; ++i) {
    StoreBatch batch;
    for (std::int64_t trial : {3, 1, 2}) {
      if (i % 5 != 0) batch.rows.push_back(Row(trial, i - i / 5));
      batch.lines.push_back({trial, 1, i, absl::StrCat("answer ", trial, " ", i)});
    }
    ASSERT_TRUE(store_->Write(batch).ok());
    if (store_->IsUntidy()) {
      ASSERT_TRUE(store_->Tidy().ok());
    }
    if (i % 700 == 0) {
      EXPECT_EQ(store_->LastRow(2)->row, i - i / 5);
    }
  }
  for (const bool reopened : {false, true}) {
    for (std::int64_t trial : {1, 2, 3}) {
      std::int64_t last = 0;
      for (auto rows = *store_->RowsAfter(trial, 0, 512); !rows.empty();
           rows = *store_->RowsAfter(trial, last, 512)) {
        for (const ResultRow& row : rows) ASSERT_EQ(row.row, ++last);
      }
      EXPECT_EQ(last, kRounds - kRounds / 5);
      EXPECT_EQ(*store_->LastLine(trial, 1), kRounds);
      EXPECT_EQ(**store_->AnswerTo(trial, 1, kRounds - 255),
                absl::StrCat("answer ", trial, " ", kRounds - 255));
      EXPECT_FALSE(store_->AnswerTo(trial, 1, kRounds - 256)->has_value());
    }
    if (!reopened) Reopen();
  }
}

// Otherwise the report that arrives at that moment would wait for thousands of others.
TEST_F(StoreTest, TidyingPutsNoMoreInItsPlaceThanItHasTo) {
  constexpr std::int64_t kRows = 2500;
  StoreBatch batch;
  for (std::int64_t i = 1; i <= kRows; ++i) {
    for (const std::int64_t trial : {1, 2}) {
      batch.rows.push_back(Row(trial, i));
      batch.lines.push_back({trial, 1, i, absl::StrCat("answer ", i)});
    }
  }
  // The only line of its trial.
  batch.lines.insert(batch.lines.begin(), {3, 1, 1, "welcome"});
  ASSERT_TRUE(store_->Write(batch).ok());
  ASSERT_TRUE(store_->IsUntidy());
  ASSERT_TRUE(store_->Tidy().ok());
  EXPECT_FALSE(store_->IsUntidy());
  SQLite::Database database(Path());
  const auto count = [&](const std::string& table) {
    return database.execAndGet("SELECT count(*) FROM " + table).getInt64();
  };
  EXPECT_EQ(count("recent"), 3071);
  EXPECT_EQ(count("reports"), 2 * kRows + 1 - 3071 - 1);
  // No shim requests the answers to the oldest lines of running trials again.
  EXPECT_EQ(count("lines"), 1);

  EXPECT_EQ(**store_->AnswerTo(3, 1, 1), "welcome");
  for (const std::int64_t trial : {1, 2}) {
    EXPECT_EQ(store_->LastRow(trial)->row, kRows);
    EXPECT_EQ(store_->RowsAfter(trial, 0, 1)->front().row, 1);
    EXPECT_EQ(*store_->LastLine(trial, 1), kRows);
    EXPECT_EQ(**store_->AnswerTo(trial, 1, kRows - 255), absl::StrCat("answer ", kRows - 255));
    StoreBatch again;
    again.rows = {Row(trial, kRows)};
    EXPECT_EQ(store_->Write(again).code(), absl::StatusCode::kAlreadyExists);
  }
}

TEST_F(StoreTest, NoRowAndNoLineIsStoredTwice) {
  for (const bool is_read_between : {false, true}) {
    const std::int64_t trial = is_read_between ? 1 : 2;
    StoreBatch batch;
    batch.rows = {Row(trial, 1), Row(trial, 2)};
    batch.lines = {{trial, 1, 1, "a"}, {trial, 1, 2, ""}};
    ASSERT_TRUE(store_->Write(batch).ok());
    if (is_read_between) {
      EXPECT_EQ(store_->LastRow(trial)->row, 2);
    }
    StoreBatch row, line;
    row.rows = {Row(trial, 2)};
    line.lines = {{trial, 1, 2, "b"}};
    EXPECT_EQ(store_->Write(row).code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(store_->Write(line).code(), absl::StatusCode::kAlreadyExists);
    line.lines = {{trial, 2, 1, "of the next attempt"}};
    EXPECT_TRUE(store_->Write(line).ok());
    EXPECT_EQ(**store_->AnswerTo(trial, 1, 2), "");
    EXPECT_EQ(*store_->LastLine(trial, 2), 1);
  }
}

TEST_F(StoreTest, LargeReportsDoNotWaitForMany) {
  StoreBatch batch;
  batch.rows = {Row(1, 1)};
  batch.rows.back().row.metrics = std::string(5 << 20, 'x');
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_TRUE(store_->IsUntidy());
  ASSERT_TRUE(store_->Tidy().ok());
  EXPECT_FALSE(store_->IsUntidy());
}

TEST_F(StoreTest, KeepsTheColumnsThatCameLater) {
  const std::string odd("a\0\"b", 4);
  StoreBatch batch;
  batch.widenings = {{7, {3, {"z", "a"}}}, {8, {2, {"other"}}}, {7, {9, {odd}}}};
  ASSERT_TRUE(store_->Write(batch).ok());
  Reopen();
  const auto widenings = *store_->Widenings(7);
  ASSERT_EQ(widenings.size(), 2u);
  EXPECT_EQ(widenings[0].row, 3);
  EXPECT_EQ(widenings[0].columns, (std::vector<std::string>{"z", "a"}));
  EXPECT_EQ(widenings[1].row, 9);
  EXPECT_EQ(widenings[1].columns, std::vector<std::string>{odd});
  EXPECT_TRUE(store_->Widenings(9)->empty());
}

TEST_F(StoreTest, NumbersTheFailuresOfATrialOneAnAttempt) {
  for (int attempt : {1, 1, 3, 4}) {
    AttemptFailure failure;
    failure.attempt = attempt;
    failure.time_us = 100 + attempt;
    failure.utc_offset_s = -3600;
    failure.reason = absl::StrCat("reason ", attempt);
    failure.error_lines = {"one", "", "three"};
    ASSERT_TRUE(store_->AddFailure(7, failure).ok());
  }
  ASSERT_TRUE(store_->AddFailure(8, {}).ok());
  Reopen();
  const auto failures = *store_->Failures(7, 2);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].number, 2);
  EXPECT_EQ(failures[0].attempt, 3);
  EXPECT_EQ(failures[1].number, 3);
  EXPECT_EQ(failures[1].reason, "reason 4");
  EXPECT_EQ(failures[1].time_us, 104);
  EXPECT_EQ(failures[1].utc_offset_s, -3600);
  EXPECT_EQ(failures[1].error_lines, (std::vector<std::string>{"one", "", "three"}));
  EXPECT_EQ(store_->Failures(7, 100)->size(), 3u);
  EXPECT_EQ(store_->Failures(8, 100)->front().number, 1);
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

std::vector<std::string> Texts(const std::vector<StoreBatch::Log>& logs) {
  std::vector<std::string> texts;
  for (const StoreBatch::Log& log : logs) texts.push_back(log.text);
  return texts;
}

TEST_F(StoreTest, TheLastLinesOfALogAreReadOldestFirst) {
  StoreBatch batch;
  for (int i = 0; i < 1500; ++i) {
    batch.logs.push_back({1, 100 + i, absl::StrCat("line ", i)});
    if (i == 700) batch.logs.push_back({2, 7, "of another trial"});
  }
  ASSERT_TRUE(store_->Write(batch).ok());
  Reopen();
  const auto logs = store_->LastLogs(1, 2);
  ASSERT_TRUE(logs.ok()) << logs.status();
  EXPECT_EQ(Texts(*logs), std::vector<std::string>({"line 1498", "line 1499"}));
  EXPECT_EQ(logs->back().wall_time_us, 1599);
  EXPECT_EQ(Texts(*store_->LastLogs(2, 10)), std::vector<std::string>({"of another trial"}));
  EXPECT_EQ(store_->LastLogs(1, std::int64_t{1} << 40)->size(), 1000u) << "as many as are kept";
  for (const std::int64_t none : {0, -1}) EXPECT_TRUE(store_->LastLogs(1, none)->empty());
  EXPECT_TRUE(store_->LastLogs(3, 10)->empty());
}

TEST_F(StoreTest, OfALogOfLongLinesAMebibyteIsRead) {
  StoreBatch batch;
  for (const char first : {'a', 'b', 'c', 'd'}) {
    batch.logs.push_back({1, 1, std::string(600 << 10, first)});
  }
  ASSERT_TRUE(store_->Write(batch).ok());
  const auto logs = store_->LastLogs(1, 1000);
  ASSERT_EQ(logs->size(), 2u);
  EXPECT_EQ(logs->front().text[0], 'c');
  EXPECT_EQ(logs->back().text[0], 'd') << "the newest ones are read";
}

TEST_F(StoreTest, EventsAreReadInTheirOrderAndDeliveredWithALine) {
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(store_->InsertEvent({1, i, std::to_string(i), absl::StrCat("r", i)}).ok());
  }
  EXPECT_EQ(store_->InsertEvent({1, 4, "4", "r1"}).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->EventsAfter(1, 0, 2)->size(), 2u);
  EXPECT_EQ(store_->EventsAfter(1, 0, 0)->size(), 1u) << "at least one";
  StoreBatch batch;
  batch.lines = {{1, 1, 7, "ok"}};
  batch.deliveries = {{1, 1, 2, 1, 7}};
  ASSERT_TRUE(store_->Write(batch).ok());
  Reopen();
  EXPECT_EQ(store_->EventMarksOf(1)->last, 3);
  EXPECT_EQ(store_->EventMarksOf(1)->last_delivered, 2);
  EXPECT_EQ(store_->EventMarksOf(2)->last, 0);
  EXPECT_EQ((*store_->EventWith("r3"))->number, 3);
  EXPECT_FALSE(store_->EventWith("r9")->has_value());
}

TEST_F(StoreTest, OldDeliveredEventsAreForgotten) {
  for (int i = 1; i <= 1002; ++i) {
    ASSERT_TRUE(store_->InsertEvent({1, i, "0", absl::StrCat("r", i)}).ok());
  }
  StoreBatch batch;
  batch.deliveries = {{1, 1, 1002, 1, 7}};
  ASSERT_TRUE(store_->Write(batch).ok());
  EXPECT_FALSE(store_->EventWith("r2")->has_value());
  EXPECT_TRUE(store_->EventWith("r3")->has_value());
}

TEST_F(StoreTest, ARemovedTrialLeavesNoRowsAndItsNumberToNobody) {
  StoreBatch batch;
  for (const char* id : {"t-a", "t-b"}) {
    const std::int64_t number = *store_->Insert(Trial(id));
    batch.rows.push_back(Row(number, 1));
    batch.lines.push_back({number, 1, 1, "ok"});
    batch.logs.push_back({number, 1, "log"});
    ASSERT_TRUE(store_->InsertEvent({number, 1, "0", id}).ok());
  }
  ASSERT_TRUE(store_->Write(batch).ok());
  ASSERT_TRUE(store_->Remove({2, "t-b", "name", "request", "/runs/t-b"}).ok());
  Reopen();
  EXPECT_EQ(LoadTrials().size(), 1u);
  EXPECT_EQ(store_->LastRow(1)->row, 1);
  EXPECT_EQ(store_->LastRow(2)->row, 0);
  EXPECT_EQ(*store_->LastLine(2, 1), 0);
  EXPECT_EQ(store_->LastLogs(1, 10)->size(), 1u);
  EXPECT_TRUE(store_->LastLogs(2, 10)->empty());
  EXPECT_EQ(store_->EventMarksOf(2)->last, 0);
  EXPECT_EQ((*store_->RemovalWith("request"))->id, "t-b");
  ASSERT_EQ(store_->UnfinishedRemovals()->size(), 1u);
  EXPECT_EQ(store_->UnfinishedRemovals()->front().run_directory, "/runs/t-b");
  ASSERT_TRUE(store_->FinishRemoval(2).ok());
  EXPECT_TRUE(store_->UnfinishedRemovals()->empty());
  EXPECT_EQ(*store_->Insert(Trial("t-c")), 3);
}

// Neither its pages nor its WAL keep the data, although it was rewritten repeatedly.
TEST_F(StoreTest, NothingIsLeftOfWhatARemovedTrialWasGiven) {
  const auto has_it = [&](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    return all.find("hunter2") != std::string::npos;
  };
  for (const std::string way : {"removed", "forgotten"}) {
    TrialRecord trial = Trial("t-" + way);
    trial.spec.argv.push_back("--password=hunter2");
    trial.spec.environment.push_back("SECRET=" + std::string(20'000, 'x') + "hunter2");
    trial.spec.config = R"({"password":"hunter2"})";
    trial.spec.options.provenance = R"({"command":"hunter2"})";
    trial.number = *store_->Insert(trial);
    for (int i = 1; i <= 100; ++i) {
      StoreBatch batch;
      trial.reason = std::string(static_cast<std::size_t>(i * 50), 'y');
      batch.trials.push_back(trial);
      batch.rows.push_back(Row(trial.number, i));
      batch.rows.back().row.metrics = R"({"x":"hunter2"})";
      ASSERT_EQ(store_->Write(batch), absl::OkStatus());
      ASSERT_EQ(store_->Tidy(), absl::OkStatus());
    }
    EXPECT_TRUE(has_it(Path() + "-wal"));
    if (way == "removed") {
      ASSERT_EQ(store_->Remove({trial.number, trial.id(), way, "r-" + way, "/runs"}),
                absl::OkStatus());
    } else {
      ASSERT_EQ(store_->Forget({trial.number}), absl::OkStatus());
    }
    const absl::Time until = absl::Now() + absl::Seconds(20);
    while (has_it(Path() + "-wal") && absl::Now() < until) std::this_thread::yield();
    EXPECT_FALSE(has_it(Path() + "-wal")) << way;
    EXPECT_FALSE(has_it(Path())) << way;
  }
}

TEST_F(StoreTest, ForgetsTrials) {
  for (const char* id : {"t-a", "t-b", "t-c"}) ASSERT_TRUE(store_->Insert(Trial(id)).ok());
  ASSERT_TRUE(store_->Forget({1, 3}).ok());
  ASSERT_EQ(LoadTrials().size(), 1u);
  EXPECT_EQ(LoadTrials().front().id(), "t-b");
}

TEST_F(StoreTest, ItsFilesArePrivate) {
  ASSERT_TRUE(store_->Insert(Trial("t-a")).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    struct stat about {};
    ASSERT_EQ(stat(file.path().c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << file.path();
  }
}

TEST_F(StoreTest, RefusesAFileThatIsEmptyWhereItWasInUse) {
  store_.reset();
  TrialStore::Options options;
  options.trace_of_use = [] { return "/state/jobs/j-1"; };
  EXPECT_TRUE(TrialStore::Open(Path(), options).ok()) << "it is not empty";
  std::filesystem::resize_file(Path(), 0);
  const auto store = TrialStore::Open(Path(), options);
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(store.status().message()),
              testing::HasSubstr("is empty, but it was in use: /state/jobs/j-1 is there"));
  EXPECT_TRUE(TrialStore::Open(Path()).ok()) << "nothing shows a use";
  std::filesystem::remove(Path());
  EXPECT_TRUE(TrialStore::Open(Path(), options).ok()) << "who removes it begins anew";
}

TEST_F(StoreTest, APageThatIsDamagedCostsTheTrialsInIt) {
  constexpr int kTrials = 200;
  for (int i = 1; i <= kTrials; ++i) {
    TrialRecord trial = Trial(absl::StrCat("t-", i));
    trial.spec.working_directory = absl::StrCat("/marker-", i, "-", std::string(100, 'x'));
    ASSERT_TRUE(store_->Insert(trial).ok());
  }
  store_.reset();
  std::string bytes(std::filesystem::file_size(Path()), 0);
  std::ifstream(Path(), std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::size_t page = bytes.find("/marker-100-") / 4096 * 4096;
  bytes.replace(page, 4096, 4096, 'Z');
  std::ofstream(Path(), std::ios::binary) << bytes;
  Reopen();
  const std::vector<TrialRecord> left = LoadTrials();
  EXPECT_LT(left.size(), std::size_t{kTrials});
  EXPECT_GT(left.size(), std::size_t{kTrials} - 40);
  EXPECT_EQ(left.front().id(), "t-1");
  EXPECT_EQ(left.back().id(), absl::StrCat("t-", kTrials));
}

TEST_F(StoreTest, KeepsTheEventsOfSweepsOfTheSixthVersion) {
  SweepRecord sweep;
  sweep.id = "s-aaaaa";
  sweep.request_id = "the request";
  SweepEventRow begin;
  begin.seq = 1;
  const auto number = store_->InsertSweep(sweep, {begin});
  ASSERT_TRUE(number.ok()) << number.status();
  store_.reset();
  {
    SQLite::Database database(Path(), SQLite::OPEN_READWRITE);
    database.exec("ALTER TABLE sweep_events DROP COLUMN others; DROP TABLE alerts");
    database.exec("PRAGMA user_version=6");
  }
  Reopen();
  StoreBatch batch;
  SweepEventRow report;
  report.sweep = *number;
  report.seq = 2;
  report.value = 0.5;
  report.others = "[1.5,null]";
  batch.sweep_events = {report};
  ASSERT_TRUE(store_->Write(batch).ok());
  std::vector<std::string> others;
  const auto take = [&](const SweepEventRow& row) {
    others.push_back(row.others);
    return absl::OkStatus();
  };
  ASSERT_TRUE(store_->ForEachSweepEvent(*number, take).ok());
  EXPECT_THAT(others, testing::ElementsAre("", "[1.5,null]"));
}

TEST_F(StoreTest, RefusesTheFileOfANewerVersion) {
  store_.reset();
  SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=99");
  const auto store = TrialStore::Open(Path());
  EXPECT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(store.status().message()), testing::HasSubstr("99"));
}

TEST_F(StoreTest, AFileThatIsNoDatabaseIsAnErrorAndNoException) {
  store_.reset();
  std::filesystem::remove(Path() + "-wal");
  FILE* file = fopen(Path().c_str(), "w");
  fputs(std::string(8192, 'x').c_str(), file);
  fclose(file);
  EXPECT_FALSE(TrialStore::Open(Path()).ok());
}

// Without the lock, another process that closes the database takes itself for the last one and
// removes the WAL that is in use.
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
