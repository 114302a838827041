#include "trainer/testing/trials_fixture.h"

#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trainer {

TrialsFixture::TrialsFixture() {
  char name[] = "/tmp/tr-XXXXXX";
  directory_ = state_ = mkdtemp(name);
  options_.logdir = directory_ + "/runs";
  options_.relay = "/relay";
  options_.hostname = "host";
  options_.slots = 2;
}

// (A derived fixture with more than trials kills them itself.)
TrialsFixture::~TrialsFixture() {
  if (loop_ != nullptr) Kill();
  killed_.clear();
  std::filesystem::remove_all(directory_);
}

void TrialsFixture::Start() {
  loop_ = std::make_unique<LoopThread>(&clock_);
  jobs_.SetLoop(loop_->loop());
  for (auto& [id, job] : jobs_.jobs) job.follower = nullptr;
  auto store = TrialStore::Open(state_ + "/trainer.db");
  ASSERT_TRUE(store.ok()) << store.status();
  store_ = *std::move(store);
  Trials::Options options = options_;
  options.loop = loop_->loop();
  options.clock = &clock_;
  options.store = store_.get();
  options.jobs = &jobs_;
  BeforeOpen(options);
  auto trials = Trials::Open(std::move(options));
  ASSERT_TRUE(trials.ok()) << trials.status();
  trials_ = *std::move(trials);
  if (on_wanted_) trials_->OnWanted(on_wanted_);
  On([&] {
    trials_->Resume();
    AfterResume();
  });
}

void TrialsFixture::Kill() {
  loop_->Stop();
  trials_.reset();
  AfterKill();
  if (keeps_stores_open_) killed_.push_back(std::move(store_));
  store_.reset();
  loop_.reset();
}

void TrialsFixture::Restart() {
  Kill();
  Start();
}

void TrialsFixture::On(const std::function<void()>& body) {
  loop_->Call(body);
  loop_->Settle();
}

void TrialsFixture::Advance(absl::Duration step) {
  clock_.Advance(step);
  loop_->Settle();
}

msg::RunTrialRequestT TrialsFixture::Request(const std::string& name) {
  msg::RunTrialRequestT request;
  request.name = name;
  request.argv = {"prog"};
  request.working_directory = "/";
  request.environment = {"PATH=/bin"};
  request.options = std::make_unique<msg::TrialOptionsT>();
  return request;
}

absl::StatusOr<msg::TrialT> TrialsFixture::TryRun(const msg::RunTrialRequestT& request,
                                                  std::string request_id) {
  if (request_id.empty()) request_id = absl::StrCat("request-", ++requests_);
  absl::StatusOr<msg::TrialT> trial;
  On([&] { trial = trials_->Run(request_id, request, trace_); });
  return trial;
}

std::string TrialsFixture::Run(const msg::RunTrialRequestT& request) {
  const auto trial = TryRun(request);
  EXPECT_TRUE(trial.ok()) << trial.status();
  return trial.ok() ? trial->id : "";
}

msg::TrialT TrialsFixture::Get(const std::string& id) {
  absl::StatusOr<msg::TrialT> trial;
  On([&] { trial = trials_->Get(id); });
  EXPECT_TRUE(trial.ok()) << trial.status();
  return trial.ok() ? *std::move(trial) : msg::TrialT();
}

void TrialsFixture::Stop(const std::string& id, absl::Duration grace) {
  On([&] { EXPECT_TRUE(trials_->Stop(id, grace, trace_).ok()); });
}

std::vector<ResultRow> TrialsFixture::Rows(const std::string& id) {
  absl::StatusOr<std::vector<ResultRow>> rows;
  On([&] { rows = trials_->RowsAfter(id, 0); });
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.ok() ? *std::move(rows) : std::vector<ResultRow>();
}

AttemptKey TrialsFixture::KeyOf(const std::string& job) {
  return trials_->Greet(jobs_.jobs[job].spec.report_channel->nonce).value_or(AttemptKey());
}

std::vector<absl::StatusOr<std::string>> TrialsFixture::Relay(const std::string& job,
                                                              std::vector<RelayedLine> lines) {
  std::vector<absl::StatusOr<std::string>> answers;
  On([&] {
    const auto key = trials_->Greet(jobs_.jobs[job].spec.report_channel->nonce);
    if (!key.ok()) return answers.assign(lines.size(), key.status());
    for (RelayedLine& line : lines) line.attempt = *key;
    answers = trials_->Receive(lines);
  });
  return answers;
}

std::string TrialsFixture::TextOf(const absl::StatusOr<std::string>& answer) {
  return answer.ok() ? *answer : absl::StrCat("ERR ", answer.status().ToString());
}

std::string TrialsFixture::Say(const std::string& job, std::int64_t number,
                               const std::string& line) {
  return TextOf(Relay(job, {{AttemptKey(), number, line, false}}).front());
}

std::string TrialsFixture::SayEnd(const std::string& job, std::int64_t number) {
  return TextOf(Relay(job, {{AttemptKey(), number, "", true}}).front());
}

}  // namespace trainer
