#include "trainer/testing/table_fixture.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <stdlib.h>

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "trainer/report/line_receiver.h"
#include "trainer/trial/trial_reports.h"

namespace trainer {

TableFixture::TableFixture() : loop_(&clock_) {
  char name[] = "/tmp/tb-XXXXXX";
  directory_ = mkdtemp(name);
  store_ = TrialStore::Open(directory_ + "/trainer.db").value();
  loop_.Call([this] { MakeParts(); });
}

void TableFixture::MakeParts() {
  runtime::EventLoop* const loop = loop_.loop();
  const auto on_stored = [this] { ++stored_; };
  const auto on_store_error = [this] { ++store_errors_; };
  const auto retry_later = [this] { ++retries_; };
  const auto happened = [this](const Trial&, const LifeEvent& event) {
    happened_.push_back(event);
  };
  table_ = std::make_unique<TrialTable>(TrialTable::Options{store_.get(),
                                                            [this](const TrialRecord& record) {
                                                              return TrialReports::Load(
                                                                  record, {.store = store_.get()});
                                                            },
                                                            [this] { ++recalled_; }});
  room_waits_ = std::make_unique<RoomWaits>(loop, [](const auto&) {});
  holds_ = std::make_unique<StartHolds>(
      StartHolds::Options{.loop = loop, .clock = &clock_, .again = [] {}});
  view_ = std::make_unique<TrialView>(TrialView::Options{
      table_.get(), room_waits_.get(), holds_.get(), [] { return 1u; }, [] { return 0u; }});
  saves_ = std::make_unique<TrialSaves>(
      TrialSaves::Options{store_.get(), table_.get(), on_stored, on_store_error, retry_later});
  queue_ = std::make_unique<LaunchQueue>(
      LaunchQueue::Options{loop, table_.get(), view_.get(), holds_.get(), 1,
                           [this](const Trial& trial) { started_.push_back(trial.record.id()); },
                           [this](const Trial& trial, const std::string& why) {
                             failed_.push_back(absl::StrCat(trial.record.id(), ": ", why));
                           },
                           [] {}});
  news_ = std::make_unique<TrialNews>(
      TrialNews::Options{loop, &clock_, table_.get(), view_.get(), absl::Seconds(1),
                         [this](msg::TrialEventT event) { events_.push_back(std::move(event)); }});
  files_ = std::make_unique<TrialFiles>(
      TrialFiles::Options{loop, &clock_, store_.get(), table_.get(), news_.get(),
                          [this](std::int64_t trial) { return saves_->IsUnsaved(trial); },
                          retry_later, on_store_error});
  guard_ = std::make_unique<AttemptGuard>(AttemptGuard::Options{
      loop, &clock_, store_.get(), table_.get(), room_waits_.get(), {}, happened});
  intake_ = std::make_unique<LineIntake>(
      LineIntake::Options{loop, &clock_, store_.get(), table_.get(), news_.get(), files_.get(),
                          room_waits_.get(), guard_.get(), nullptr, happened,
                          [](const AttemptKey&, const std::string&) {}, on_stored, on_store_error});
  removals_ = std::make_unique<TrialRemovals>(TrialRemovals::Options{store_.get(), table_.get(),
                                                                     view_.get(),
                                                                     [this](std::int64_t trial) {
                                                                       dropped_.push_back(trial);
                                                                       table_->Remove(trial);
                                                                     },
                                                                     on_stored});
}

TableFixture::~TableFixture() {
  loop_.Call([this] {
    removals_.reset();
    intake_.reset();
    guard_.reset();
    files_.reset();
    news_.reset();
    queue_.reset();
    saves_.reset();
    view_.reset();
    holds_.reset();
    room_waits_.reset();
    table_.reset();
  });
  loop_.Stop();
  store_.reset();
  std::filesystem::remove_all(directory_);
}

void TableFixture::On(const std::function<void()>& body) {
  loop_.Call(body);
  loop_.Settle();
}

void TableFixture::Advance(absl::Duration step) {
  clock_.Advance(step);
  loop_.Settle();
}

TrialRecord TableFixture::Record(const std::string& id, msg::TrialState state) const {
  TrialRecord record;
  record.run = {id, "experiment", "host", 5, "events"};
  record.request_id = "request-" + id;
  record.spec.name = "name-" + id;
  record.spec.argv = {"prog"};
  record.spec.working_directory = "/";
  record.spec.run_directory = directory_ + "/" + id;
  record.spec.config = "{}";
  record.nonce = "nonce-" + id;
  record.job_request_id = "job-" + id;
  record.state = state;
  record.ended_us = HasEnded(state) ? 7 : 0;
  return record;
}

Trial& TableFixture::Add(const TrialRecord& record) {
  Trial* added = nullptr;
  On([&] {
    TrialRecord stored = record;
    stored.number = store_->Insert(stored).value();
    std::filesystem::create_directory(stored.spec.run_directory);
    added = *table_->Add(std::move(stored));
  });
  return *added;
}

TrialRecord TableFixture::Stored(const Trial& trial) {
  TrialRecord record;
  On([&] {
    auto loaded = store_->LoadTrial(trial.record.number);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (loaded.ok()) record = *std::move(loaded);
  });
  return record;
}

void TableFixture::RefuseWrites(const std::string& database_table) {
  SQLite::Database database(directory_ + "/trainer.db", SQLite::OPEN_READWRITE);
  for (const char* const order : {"UPDATE", "INSERT"}) {
    database.exec(absl::StrCat("CREATE TRIGGER refuse_", order, " BEFORE ", order, " ON ",
                               database_table, " BEGIN SELECT RAISE(ABORT, 'refused'); END"));
  }
}

void TableFixture::AllowWrites() {
  SQLite::Database database(directory_ + "/trainer.db", SQLite::OPEN_READWRITE);
  for (const char* const order : {"UPDATE", "INSERT"}) {
    database.exec(absl::StrCat("DROP TRIGGER refuse_", order));
  }
}

std::vector<std::string> TableFixture::Say(const Trial& trial, std::int64_t first,
                                           const std::vector<std::string>& lines) {
  std::vector<std::string> said;
  On([&] {
    const AttemptKey attempt{trial.record.number, trial.record.attempt};
    std::vector<RelayedLine> relayed;
    for (const std::string& line : lines) relayed.push_back({attempt, first++, line, false});
    for (const auto& answer : intake_->Receive(relayed)) {
      said.push_back(answer.ok() ? *answer
                                 : "ERR " + absl::StatusCodeToString(answer.status().code()));
    }
  });
  return said;
}

}  // namespace trainer
