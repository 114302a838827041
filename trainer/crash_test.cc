// Kills the trainer at every named point. In the report path it does so repeatedly, under shims
// that resend unanswered lines; in the end each report must exist once and in order in every place.
// In a trial's life each attempt must have one job, each failure must be in error.txt once, and
// every order must be carried out.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bus/schema/trainer_generated.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/process/subprocess.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/checkpoint_row.h"
#include "trainer/run/result_files.h"
#include "trainer/store/trial_store.h"
#include "trainer/testing/relay_client.h"

namespace trainer {
namespace {

constexpr int kTrials = 2;
constexpr int kLines = 60;
constexpr int kWindow = 7;
constexpr int kKills = 5;

// One line in five is not a report.
bool IsReport(int number) { return number % 5 != 0; }
bool IsLog(int number) { return !IsReport(number) && number % 2 != 0; }
bool IsConfig(int number) { return number % 10 == 0 && number < kLines; }

// Every seventh line adds a metric that no earlier report had.
std::string MetricsOf(int number) {
  const std::string late = number % 7 == 0 ? absl::StrCat(",\"late", number, "\":1") : "";
  return absl::StrCat("{\"value\":", number, late, "}");
}

std::string LineText(int number) {
  if (IsLog(number)) return absl::StrCat(R"({"t":"log","text":"line )", number, "\"}");
  if (IsConfig(number)) {
    return absl::StrCat(R"({"t":"config","c":{"last":)", number, ",\"at", number, "\":true}}");
  }
  if (!IsReport(number)) return R"({"t":"hb"})";
  const std::string seq = number % 2 == 0 ? "" : absl::StrCat(",\"seq\":", number);
  return absl::StrCat(R"({"t":"report","m":)", MetricsOf(number), seq, "}");
}

// The configuration after all lines.
std::string ExpectedConfig() {
  std::string config, last;
  for (int i = 1; i <= kLines; ++i) {
    if (!IsConfig(i)) continue;
    absl::StrAppend(&config, ",\"at", i, "\":true");
    last = absl::StrCat(R"({"last":)", i);
  }
  return absl::StrCat(last, config, "}");
}

std::string ExpectedAnswer(int number) {
  if (IsConfig(number)) return absl::StrCat(number, R"( {"t":"ok","events":[]})");
  if (!IsReport(number)) return absl::StrCat(number);
  const std::string seq = number % 2 == 0 ? "" : absl::StrCat(",\"seq\":", number);
  return absl::StrCat(number, R"( {"t":"ok")", seq, R"(,"events":[]})");
}

// Behaves like a shim for lines 1 to kLines.
class FakeShim {
 public:
  FakeShim(std::string path, std::string nonce)
      : path_(std::move(path)), nonce_(std::move(nonce)) {}

  bool done() const { return answered_ == kLines; }
  int resent() const { return resent_; }
  // Connects and resends from the last answered line on, to check that its answer is the same.
  void Connect() {
    connection_ = std::make_unique<RelayClient>(path_);
    resent_ += sent_ - answered_;
    sent_ = std::max(0, answered_ - 1);
    expected_ = sent_ + 1;
    if (!connection_->connected() || !connection_->Send("YARD1 " + nonce_ + "\n") ||
        connection_->Line() != "OK") {
      connection_.reset();
    }
  }
  // Fills the window and reads the answers. Returns false if the trainer has gone.
  bool Exchange() {
    if (connection_ == nullptr) return false;
    std::string bytes;
    while (sent_ < kLines && sent_ < answered_ + kWindow) {
      ++sent_;
      absl::StrAppend(&bytes, sent_, " ", LineText(sent_), "\n");
    }
    if (!connection_->Send(bytes)) return false;
    for (; expected_ <= sent_; ++expected_) {
      const std::optional<std::string> line = connection_->Line();
      if (!line) return false;
      EXPECT_EQ(*line, ExpectedAnswer(expected_));
      answered_ = std::max(answered_, expected_);
    }
    return true;
  }

 private:
  const std::string path_, nonce_;
  std::unique_ptr<RelayClient> connection_;
  int sent_ = 0, answered_ = 0, expected_ = 1, resent_ = 0;
};

class CrashTest : public testing::TestWithParam<std::pair<const char*, int>> {
 protected:
  CrashTest() {
    char name[] = "/tmp/tc-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~CrashTest() override {
    if (trainer_) (void)trainer_->Signal(SIGKILL);
    std::filesystem::remove_all(directory_);
  }

  // Returns once the trainer is ready or dead.
  void StartTrainer(const std::string& point, int count, int trials = kTrials) {
    int fds[2];
    ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
    const runtime::UniqueFd reader(fds[0]);
    runtime::UniqueFd writer(fds[1]);
    auto program = runtime::FindBinary("trainer/testing/crashing_trainer");
    ASSERT_TRUE(program.ok()) << program.status();
    runtime::Subprocess::Options options;
    options.argv = {*program, directory_, absl::StrCat(trials), point, absl::StrCat(count)};
    options.argv.insert(options.argv.end(), more_.begin(), more_.end());
    options.fds = {{writer.get(), 1}, {2, 2}};
    auto child = runtime::Subprocess::Start(options);
    ASSERT_TRUE(child.ok()) << child.status();
    trainer_ = *std::move(child);
    writer.reset();
    char buffer[64];
    while (read(reader.get(), buffer, sizeof(buffer)) < 0 && errno == EINTR) {
    }
  }
  void EndTrainer() {
    (void)trainer_->Signal(SIGKILL);
    EXPECT_TRUE(trainer_->Wait(absl::Seconds(20)).ok());
    trainer_.reset();
  }
  std::vector<TrialRecord> StoredTrials() {
    auto store = TrialStore::Open(directory_ + "/trainer.db");
    EXPECT_TRUE(store.ok()) << store.status();
    std::vector<TrialRecord> trials;
    const absl::Status loaded = (*store)->ForEachTrial([&](TrialRecord trial) {
      trials.push_back(std::move(trial));
      return absl::OkStatus();
    });
    EXPECT_TRUE(loaded.ok()) << loaded;
    return trials;
  }

  void ExpectEachReportOnce(const TrialRecord& trial) {
    auto store = *TrialStore::Open(directory_ + "/trainer.db");
    const auto rows = *store->RowsAfter(trial.number, 0, 1000);
    std::vector<std::string> expected, found, said, kept;
    for (int i = 1; i <= kLines; ++i) {
      if (IsReport(i)) expected.push_back(MetricsOf(i));
      if (IsLog(i)) said.push_back(absl::StrCat("line ", i));
    }
    const auto logs = *store->LastLogs(trial.number, kLines);
    for (const StoreBatch::Log& log : logs) kept.push_back(log.text);
    EXPECT_EQ(kept, said) << "in the log";
    for (const ResultRow& row : rows) found.push_back(row.metrics);
    EXPECT_EQ(found, expected) << "in the store";
    for (std::string& metrics : expected) {
      const std::size_t late = metrics.find(',');
      if (late != metrics.npos) metrics.replace(late, metrics.npos, "}");
    }
    ExpectText(trial, expected);
    ExpectEvents(trial, expected);
    EXPECT_EQ(store->LoadTrial(trial.number)->spec.config, ExpectedConfig());
    EXPECT_EQ(
        runtime::ReadFile(trial.spec.run_directory + "/params.json", 1 << 20).value_or("missing"),
        *RenderParams(ExpectedConfig()));
  }
  void ExpectText(const TrialRecord& trial, const std::vector<std::string>& expected) {
    const std::string json = *runtime::ReadFile(trial.spec.run_directory + "/result.json", 1 << 20);
    std::vector<std::string> found;
    for (const auto line : absl::StrSplit(json, '\n', absl::SkipEmpty())) {
      const auto end = line.find(',');
      found.push_back(absl::StrCat(line.substr(0, end), "}"));
    }
    EXPECT_EQ(found, expected) << "in result.json";
    const std::string csv = *runtime::ReadFile(trial.spec.run_directory + "/progress.csv", 1 << 20);
    found.clear();
    for (const auto line : absl::StrSplit(csv, '\n', absl::SkipEmpty())) {
      found.push_back(absl::StrCat("{\"value\":", line.substr(0, line.find(',')), "}"));
    }
    ASSERT_FALSE(found.empty());
    found.erase(found.begin());  // The header.
    EXPECT_EQ(found, expected) << "in progress.csv";
  }
  void ExpectEvents(const TrialRecord& trial, const std::vector<std::string>& expected) {
    const std::string bytes =
        *runtime::ReadFile(trial.spec.run_directory + "/" + trial.run.event_file, 1 << 20);
    std::string_view rest = bytes;
    std::vector<std::string> found;
    while (!rest.empty()) {
      const eventlog::ParsedRecord record = eventlog::ParseRecord(rest);
      ASSERT_EQ(record.state, eventlog::ParsedRecord::State::kRecord);
      eventlog::Event event;
      ASSERT_TRUE(eventlog::DecodeEvent(record.payload, &event).ok());
      for (const auto& value : event.values) {
        if (value.tag != "value") continue;
        found.push_back(absl::StrCat("{\"value\":", *value.scalar, "}"));
      }
      rest.remove_prefix(record.size);
    }
    EXPECT_EQ(found, expected) << "in the event file";
  }

  // Returns the contents of the files, and removes them.
  static std::string TakeFiles(const TrialRecord& trial) {
    std::string contents;
    for (const std::string& name :
         {std::string("result.json"), std::string("progress.csv"), trial.run.event_file}) {
      const std::string path = trial.spec.run_directory + "/" + name;
      contents += runtime::ReadFile(path, 1 << 20).value_or("missing: " + name);
      std::filesystem::remove(path);
    }
    return contents;
  }

  // Kills the trainer at a point repeatedly, until everything is answered.
  void ExpectEachReportOnceWithKillsAt(const std::string& point, int count);

  std::string directory_;
  std::vector<std::string> more_;  // Further arguments of the trainer.
  std::optional<runtime::Subprocess> trainer_;
};

void CrashTest::ExpectEachReportOnceWithKillsAt(const std::string& point, int count) {
  StartTrainer("", 0);
  const std::vector<TrialRecord> trials = StoredTrials();
  ASSERT_EQ(trials.size(), static_cast<std::size_t>(kTrials));
  std::vector<FakeShim> shims;
  for (const TrialRecord& trial : trials) shims.emplace_back(directory_ + "/relay", trial.nonce);
  EndTrainer();
  int kills = 0;
  for (bool done = false; !done;) {
    StartTrainer(point, kills < kKills ? count : 0);
    for (FakeShim& shim : shims) shim.Connect();
    for (bool lives = true; lives && !done;) {
      done = true;
      for (FakeShim& shim : shims) {
        if (!shim.done()) lives = shim.Exchange() && lives;
        done = done && shim.done();
      }
    }
    if (!done) ++kills;
    EndTrainer();
  }
  EXPECT_EQ(kills, kKills) << "the point was not reached";
  StartTrainer("", 0);
  EndTrainer();
  std::vector<std::string> files;
  for (const TrialRecord& trial : trials) {
    ExpectEachReportOnce(trial);
    files.push_back(TakeFiles(trial));
  }
  StartTrainer("", 0);
  EndTrainer();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(TakeFiles(trials[i]), files[i]) << "rendered anew from the rows";
  }
}

TEST_P(CrashTest, EachReportIsThereOnce) {
  ExpectEachReportOnceWithKillsAt(GetParam().first, GetParam().second);
}

// Answered reports may not be in the files yet.
class LateFilesCrashTest : public CrashTest {
 protected:
  LateFilesCrashTest() { more_ = {"spread"}; }
};

TEST_P(LateFilesCrashTest, EachReportIsThereOnce) {
  ExpectEachReportOnceWithKillsAt(GetParam().first, GetParam().second);
}

// Answered reports are moved to their tables again and again.
class TidyCrashTest : public CrashTest {
 protected:
  TidyCrashTest() { more_ = {"tidy"}; }
};

TEST_P(TidyCrashTest, EachReportIsThereOnce) {
  ExpectEachReportOnceWithKillsAt(GetParam().first, GetParam().second);
}

std::string NameOfPoint(const testing::TestParamInfo<std::pair<const char*, int>>& info) {
  std::string name = absl::StrCat(info.param.first, " ", info.param.second);
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
}

// A program in lock step, with its shim, that repeatedly reports, begins a checkpoint, writes it
// and ends it.
class SavingProgram {
 public:
  static constexpr int kSaves = 12;

  SavingProgram(std::string relay, const TrialRecord& trial)
      : relay_(std::move(relay)), nonce_(trial.nonce), run_(trial.spec.run_directory) {}

  bool done() const { return answered_ == 3 * kSaves; }
  std::string CheckpointOf(int save) const {
    return absl::StrFormat("%s/checkpoint_%06d", run_, save);
  }
  static std::string ContentOf(int save) { return absl::StrCat("weights ", save); }
  // Continues until it is done or the trainer has gone.
  void Run() {
    RelayClient connection(relay_);
    if (!connection.connected() || !connection.Send("YARD1 " + nonce_ + "\n")) return;
    if (connection.Line() != "OK") return;
    while (!done()) {
      const int number = answered_ + 1;
      if (!connection.Send(absl::StrCat(number, " ", LineOf(number), "\n"))) return;
      const std::optional<std::string> answer = connection.Line();
      if (!answer) return;
      Take(number, *answer);
      answered_ = number;
    }
  }

 private:
  std::string LineOf(int number) const {
    if (number % 3 == 1) return absl::StrCat(R"({"t":"report","m":{"value":)", number, "}}");
    if (number % 3 == 2) return R"({"t":"ckpt_begin"})";
    return absl::StrCat(R"({"t":"ckpt_end","path":")", directory_, "\"}");
  }
  void Take(int number, const std::string& answer) {
    const int save = (number + 2) / 3;
    if (number % 3 == 2) {
      const std::string before = absl::StrCat(number, R"( {"t":"ckpt_dir","path":")");
      ASSERT_EQ(answer.substr(0, before.size()), before);
      directory_ = answer.substr(before.size(), answer.size() - before.size() - 2);
      ASSERT_TRUE(runtime::WriteFileAtomically(directory_ + "/w", ContentOf(save), 0644).ok());
    } else if (number % 3 == 0) {
      EXPECT_EQ(answer, absl::StrCat(number, R"( {"t":"ok","path":")", CheckpointOf(save),
                                     R"(","events":[]})"));
    }
  }

  const std::string relay_, nonce_, run_;
  std::string directory_;  // The checkpoint directory that is being written.
  int answered_ = 0;
};

class CheckpointCrashTest : public CrashTest {};

TEST_P(CheckpointCrashTest, EachCheckpointIsThereOnceAndWhole) {
  const auto [point, count] = GetParam();
  StartTrainer("", 0);
  const TrialRecord trial = StoredTrials().front();
  EndTrainer();
  SavingProgram program(directory_ + "/relay", trial);
  int kills = 0;
  while (!program.done()) {
    StartTrainer(point, kills < kKills ? count : 0);
    program.Run();
    if (!program.done()) ++kills;
    EndTrainer();
  }
  EXPECT_EQ(kills, kKills) << "the point was not reached";
  auto store = *TrialStore::Open(directory_ + "/trainer.db");
  const auto rows = *store->Checkpoints(trial.number);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(SavingProgram::kSaves));
  for (int save = 1; save <= SavingProgram::kSaves; ++save) {
    const CheckpointRow& row = rows[static_cast<std::size_t>(SavingProgram::kSaves - save)];
    const std::string directory = program.CheckpointOf(save);
    EXPECT_EQ(trial.spec.run_directory + "/" + row.name, directory);
    EXPECT_EQ(row.iteration, save);
    EXPECT_TRUE(VerifyCheckpoint(directory).ok()) << VerifyCheckpoint(directory);
    EXPECT_EQ(runtime::ReadFile(directory + "/w", 100).value_or("missing"),
              SavingProgram::ContentOf(save));
  }
  EXPECT_EQ(store->LastRow(trial.number)->row, SavingProgram::kSaves);
}

// The third of three commits belongs to the line that ends a checkpoint.
INSTANTIATE_TEST_SUITE_P(
    Points, CheckpointCrashTest,
    testing::Values(std::pair("before background work", 1), std::pair("after background work", 1),
                    std::pair("before checkpoint rename", 1),
                    std::pair("after checkpoint rename", 1),
                    std::pair("after checkpoint rename", 2), std::pair("before commit", 3),
                    std::pair("after commit", 3), std::pair("before commit", 2),
                    std::pair("after replies", 2)),
    NameOfPoint);
class RemovalCrashTest : public CrashTest {};

TEST_P(RemovalCrashTest, TheNextTrainerFinishesARemoval) {
  const auto [point, count] = GetParam();
  ASSERT_TRUE(runtime::MakeDirectories(directory_ + "/removed").ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(directory_ + "/removed/model", "x", 0644).ok());
  more_ = {"remove"};
  StartTrainer(point, count, 0);
  EXPECT_EQ(trainer_->Wait(absl::Seconds(20))->signal, SIGKILL) << "the point was not reached";
  trainer_.reset();
  more_.clear();
  StartTrainer("", 0, 0);
  EndTrainer();
  EXPECT_TRUE(StoredTrials().empty());
  auto store = *TrialStore::Open(directory_ + "/trainer.db");
  const auto removal = *store->RemovalWith("rm");
  ASSERT_TRUE(removal.has_value());
  EXPECT_TRUE(store->UnfinishedRemovals()->empty());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/removed"));
  EXPECT_EQ(runtime::ReadFile(directory_ + "/.trash/" + removal->id + "/model", 10).value_or(""),
            "x");
}

INSTANTIATE_TEST_SUITE_P(Points, RemovalCrashTest,
                         testing::Values(std::pair("after removal", 1),
                                         std::pair("after trash", 1)),
                         [](const auto& info) {
                           return std::string(info.index == 0 ? "AfterRows" : "AfterDirectory");
                         });

class LifeCrashTest : public CrashTest {
 protected:
  // Runs in `mode`, first with a kill at the point, and then to the end.
  void Run(const char* mode, const std::string& point, int count) {
    more_ = {mode};
    StartTrainer(point, count);
    EXPECT_EQ(trainer_->Wait(absl::Seconds(60))->signal, SIGKILL) << "the point was not reached";
    before_ = StoredTrials();
    RunToItsEnd(mode);
  }
  void RunToItsEnd(const char* mode) {
    more_ = {mode};
    StartTrainer("", 0);
    const auto ended = trainer_->Wait(absl::Seconds(60));
    ASSERT_TRUE(ended.ok() && ended->ok()) << mode << " has not come to its end";
    trainer_.reset();
    after_ = StoredTrials();
    ASSERT_EQ(after_.size(), static_cast<std::size_t>(kTrials));
  }
  // Returns how many jobs the launcher has started.
  int Launches() const {
    int launches = 0;
    const std::string jobs = runtime::ReadFile(directory_ + "/jobs", 1 << 20).value_or("");
    for (const auto line : absl::StrSplit(jobs, '\n')) {
      if (absl::StartsWith(line, "launched ")) ++launches;
    }
    return launches;
  }

  std::vector<TrialRecord> before_, after_;
};

class LaunchCrashTest : public LifeCrashTest {};

TEST_P(LaunchCrashTest, EachTrialHasOneJob) {
  Run("launch", GetParam().first, GetParam().second);
  EXPECT_EQ(Launches(), kTrials);
  for (const TrialRecord& trial : after_) {
    EXPECT_EQ(trial.state, msg::TrialState::Running);
    EXPECT_EQ(trial.attempt, 1);
    EXPECT_EQ(trial.job, "j-" + trial.job_request_id);
  }
  for (std::size_t i = 0; i < before_.size(); ++i) {
    EXPECT_EQ(after_[i].nonce, before_[i].nonce) << "with which its shim comes";
  }
}

INSTANTIATE_TEST_SUITE_P(Points, LaunchCrashTest,
                         testing::Values(std::pair("before launch", 1),
                                         std::pair("before launch", 2),
                                         std::pair("after launch", 1),
                                         std::pair("after launch", 2)),
                         NameOfPoint);

class FailureCrashTest : public LifeCrashTest {};

TEST_P(FailureCrashTest, EachFailureIsThereOnceAndEachAttemptHasOneJob) {
  Run("fail", GetParam().first, GetParam().second);
  EXPECT_EQ(Launches(), 2 * kTrials);
  for (const TrialRecord& trial : after_) {
    EXPECT_EQ(trial.state, msg::TrialState::Failed);
    EXPECT_EQ(trial.attempt, 2);
    EXPECT_EQ(trial.failures, 1u);
    EXPECT_EQ(trial.reason, "exit code 3");
    const std::string text =
        runtime::ReadFile(trial.spec.run_directory + "/error.txt", 1 << 20).value_or("missing");
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    ASSERT_EQ(lines.size(), 4u) << text;
    EXPECT_EQ(lines[0].rfind("Failure # 1 ", 0), 0u) << text;
    EXPECT_EQ(lines[1], "attempt 1: exit code 3");
    EXPECT_EQ(lines[2].rfind("Failure # 2 ", 0), 0u) << text;
    EXPECT_EQ(lines[3], "attempt 2: exit code 3");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Points, FailureCrashTest,
    testing::Values(std::pair("before launch", 1), std::pair("before launch", 3),
                    std::pair("after launch", 1), std::pair("after launch", 3),
                    std::pair("after failure", 1), std::pair("after failure", 2),
                    std::pair("after failure", 3), std::pair("after failure", 4),
                    std::pair("after next attempt", 1), std::pair("after next attempt", 2),
                    std::pair("after end", 1), std::pair("after end", 2)),
    NameOfPoint);

class PauseCrashTest : public LifeCrashTest {};

// The first trial is paused while it is launched, the second while it waits for that.
TEST_P(PauseCrashTest, ItIsPausedAndGoesOn) {
  Run("pause", GetParam().first, GetParam().second);
  EXPECT_EQ(Launches(), 1);
  for (const TrialRecord& trial : after_) {
    EXPECT_EQ(trial.state, msg::TrialState::Paused);
    EXPECT_EQ(trial.attempt, 1);
    EXPECT_EQ(trial.failures, 0u);
    EXPECT_FALSE(std::filesystem::exists(trial.spec.run_directory + "/error.txt"));
  }
  RunToItsEnd("resume");
  EXPECT_EQ(Launches(), 3);
  EXPECT_EQ(after_[0].attempt, 2);
  EXPECT_EQ(after_[1].attempt, 1) << "it had not begun";
}

INSTANTIATE_TEST_SUITE_P(Points, PauseCrashTest,
                         testing::Values(std::pair("after launch", 1), std::pair("after pause", 1)),
                         NameOfPoint);

INSTANTIATE_TEST_SUITE_P(Points, LateFilesCrashTest,
                         testing::Values(std::pair("after commit", 2),
                                         std::pair("inside a file", 2),
                                         std::pair("between files", 1),
                                         std::pair("inside a reply", 4),
                                         std::pair("after replies", 2)),
                         NameOfPoint);

INSTANTIATE_TEST_SUITE_P(Points, TidyCrashTest,
                         testing::Values(std::pair("before tidy", 1), std::pair("before tidy", 2),
                                         std::pair("after tidy", 1), std::pair("after tidy", 2),
                                         std::pair("after tidy", 3), std::pair("after commit", 3),
                                         std::pair("inside a reply", 4)),
                         NameOfPoint);

INSTANTIATE_TEST_SUITE_P(
    Points, CrashTest,
    testing::Values(std::pair("before commit", 1), std::pair("before commit", 2),
                    std::pair("after commit", 1), std::pair("after commit", 3),
                    std::pair("before configuration file", 1), std::pair("inside a file", 1),
                    std::pair("inside a file", 2), std::pair("inside a file", 6),
                    std::pair("inside a file", 11), std::pair("between files", 1),
                    std::pair("between files", 2), std::pair("between files", 8),
                    std::pair("before the wider table", 1), std::pair("before the wider table", 2),
                    std::pair("after the wider table", 1), std::pair("after the wider table", 2),
                    std::pair("after files", 1), std::pair("after files", 2),
                    std::pair("inside a reply", 3), std::pair("inside a reply", 4),
                    std::pair("after replies", 1), std::pair("after replies", 2)),
    NameOfPoint);

}  // namespace
}  // namespace trainer
