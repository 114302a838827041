// Annotations of trials: in the store, in the run's directory, and in a trial's message.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/json/annotations.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"
#include "trainer/store/trial_store.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using Labels = std::vector<std::string>;

class TrialAnnotationsTest : public TrialsFixture {
 protected:
  TrialAnnotationsTest() {
    options_.on_event = [this](msg::TrialEventT event) { events_.push_back(std::move(event)); };
    options_.fault = [this](std::string_view point) { points_.emplace_back(point); };
    Start();
  }
  ~TrialAnnotationsTest() override { Kill(); }

  static msg::RunTrialRequestT Labelled(const std::string& name) {
    msg::RunTrialRequestT request = Request(name);
    request.options = std::make_unique<msg::TrialOptionsT>();
    request.options->labels = {"base"};
    request.options->provenance_diff = "a difference";
    return request;
  }
  static msg::AnnotateRequestT Change() {
    msg::AnnotateRequestT change;
    change.add_labels = {"best"};
    change.remove_labels = {"base"};
    change.note = "one\ntwo";
    change.set_note = true;
    change.display_name = "The best";
    change.set_display_name = true;
    return change;
  }
  absl::Status Annotate(const std::string& id, const msg::AnnotateRequestT& change) {
    absl::Status status;
    On([&] { status = trials_->Annotate(id, change).status(); });
    return status;
  }
  void EndJob(const std::string& job) {
    SayEnd(job, 0);
    On([&] { jobs_.End(job, 0, ""); });
  }
  std::string DirectoryOf(const std::string& run) { return directory_ + "/runs/" + run; }
  void ExpectChanged(const std::string& id, const std::string& run) {
    const msg::TrialT trial = Get(id);
    EXPECT_EQ(trial.labels, Labels{"best"});
    EXPECT_EQ(trial.note, "one\ntwo");
    EXPECT_EQ(trial.display_name, "The best");
    EXPECT_EQ(trial.name, run);
    const auto file = bus::ReadAnnotations(DirectoryOf(run));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->labels, Labels{"best"});
    EXPECT_EQ(file->note, "one\ntwo");
    EXPECT_EQ(file->display_name, "The best");
  }

  std::vector<msg::TrialEventT> events_;
  std::vector<std::string> points_;
};

TEST_F(TrialAnnotationsTest, WhatIsSaidOfOneThatRunsIsKeptOverARestart) {
  const std::string id = Run(Labelled("one"));
  EXPECT_FALSE(std::filesystem::exists(DirectoryOf("one") + "/annotations.json"));
  events_.clear();
  ASSERT_TRUE(Annotate(id, Change()).ok());
  ExpectChanged(id, "one");
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_.front().trial->display_name, "The best");
  Restart();
  ExpectChanged(id, "one");
  // A repeated change has no effect.
  events_.clear();
  ASSERT_TRUE(Annotate(id, Change()).ok());
  EXPECT_TRUE(events_.empty());
}

TEST_F(TrialAnnotationsTest, OneThatHasEndedAndWasPutAsideIsAnnotatedToo) {
  const std::string id = Run(Labelled("one"));
  EndJob("j-1");
  Advance(absl::Minutes(5));
  ASSERT_TRUE(Annotate(id, Change()).ok());
  Advance(absl::Minutes(5));
  ExpectChanged(id, "one");
  Restart();
  ExpectChanged(id, "one");
}

TEST_F(TrialAnnotationsTest, OneThatWaitsHasItsFileOnceItHasADirectory) {
  options_.slots = 1;
  Restart();
  Run("first");
  const std::string id = Run(Labelled("second"));
  ASSERT_TRUE(Annotate(id, Change()).ok());
  EXPECT_FALSE(std::filesystem::exists(DirectoryOf("second")));
  EndJob("j-1");
  Advance(absl::Seconds(1));
  ExpectChanged(id, "second");
}

TEST_F(TrialAnnotationsTest, ATrainerThatWasKilledBeforeItWroteTheFileWritesItAtItsNextStart) {
  const std::string runs = Run(Labelled("runs")), ended = Run(Labelled("ended"));
  EndJob("j-2");
  for (const std::string& id : {runs, ended}) ASSERT_TRUE(Annotate(id, Change()).ok());
  EXPECT_EQ(std::count(points_.begin(), points_.end(), "annotated"), 2);
  Kill();
  for (const char* run : {"runs", "ended"}) {
    ASSERT_TRUE(runtime::WriteFileAtomically(DirectoryOf(run) + "/annotations.json",
                                             "{\"labels\":[\"base\"]}", 0644)
                    .ok());
  }
  Start();
  On([&] { trials_->Resume(); });
  ExpectChanged(runs, "runs");
  ExpectChanged(ended, "ended");
}

TEST_F(TrialAnnotationsTest, WhereTheDirectoryTakesNoFileNothingChanges) {
  const std::string id = Run(Labelled("one"));
  std::filesystem::create_directories(DirectoryOf("one") + "/annotations.json/taken");
  const absl::Status refused = Annotate(id, Change());
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_NE(refused.message().find(DirectoryOf("one")), absl::string_view::npos) << refused;
  EXPECT_EQ(Get(id).labels, Labels{"base"});
  EXPECT_EQ(Get(id).note, "");
  Restart();
  EXPECT_EQ(Get(id).labels, Labels{"base"});
}

TEST_F(TrialAnnotationsTest, WhatIsRefusedChangesNothing) {
  const std::string id = Run(Labelled("one"));
  msg::AnnotateRequestT change = Change();
  change.add_labels = {"fine", "\x1b[2J"};
  EXPECT_EQ(Annotate(id, change).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Get(id).labels, Labels{"base"});
  EXPECT_EQ(Get(id).display_name, "");
  EXPECT_EQ(Annotate("t-nobody", Change()).code(), absl::StatusCode::kNotFound);
}

TEST_F(TrialAnnotationsTest, WhatElseItWasAskedForWithStaysInTheStore) {
  const std::string id = Run(Labelled("one"));
  ASSERT_TRUE(Annotate(id, Change()).ok());
  On([&] {
    const auto record = store_->LoadTrial(1);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(record->spec.options.provenance_diff, "a difference");
    EXPECT_EQ(record->spec.options.labels, Labels{"best"});
  });
}

}  // namespace
}  // namespace trainer
