#include "tools/yard/top/view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/envelope_generated.h"

namespace yard::top {
namespace {

using Kind = Order::Kind;

constexpr std::int64_t kSecond = 1'000'000;
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

std::int64_t Ago(std::int64_t seconds) { return absl::ToUnixMicros(kNow) - seconds * kSecond; }

msg::JobT JobOf(const std::string& id, const std::string& name, int tasks) {
  msg::JobT job;
  job.id = id;
  job.name = name;
  job.state = msg::TaskState::Running;
  job.created_us = Ago(600);
  for (int i = 0; i < tasks; ++i) {
    auto task = std::make_unique<msg::TaskT>();
    task->id = absl::StrCat(id, "/worker-", i);
    task->state = msg::TaskState::Running;
    task->restarts = static_cast<std::uint32_t>(i);
    auto attempt = std::make_unique<msg::AttemptT>();
    attempt->started_us = Ago(60);
    task->attempts.push_back(std::move(attempt));
    job.tasks.push_back(std::move(task));
  }
  return job;
}

// Returns facts with a reporting trial and a job of two tasks.
std::shared_ptr<Facts> SomeFacts() {
  auto facts = std::make_shared<Facts>();
  facts->at = kNow;
  for (const char* service : {"registry", "launcher", "datamanager", "trainer"}) {
    facts->services.push_back({.service = service, .state = "up"});
  }
  facts->services[3].restarts = 2;
  msg::TrialT trial;
  trial.id = "t-abcde";
  trial.name = "first";
  trial.state = msg::TrialState::Running;
  trial.created_us = Ago(90);
  trial.attempt = 2;
  trial.job = "j-trial";
  trial.reports = 3;
  trial.last_metrics = "{\"accuracy\": 0.5, \"loss\": 0.25, \"step\": 3}";
  facts->trials.push_back(trial);
  facts->jobs.push_back(JobOf("j-trial", "first", 1));
  facts->jobs.back().labels.push_back(std::make_unique<msg::KeyValueT>());
  facts->jobs.back().labels.back()->key = "trial";
  facts->jobs.back().labels.back()->value = "t-abcde";
  facts->jobs.push_back(JobOf("j-train", "train", 2));
  for (const auto& [task, cores, rss] : {std::tuple("j-trial/worker-0", 0.98, 212'000'000),
                                         {"j-train/worker-0", 0.4, 50'000'000},
                                         {"j-train/worker-1", 0.02, 60'000'000}}) {
    auto usage = std::make_unique<msg::TaskUsageT>();
    usage->task = task;
    usage->rss_bytes = static_cast<std::uint64_t>(rss);
    facts->usage.tasks.push_back(std::move(usage));
    facts->rates.cores[task] = cores;
  }
  facts->usage.cores = 2;
  facts->usage.memory_bytes = 8'000'000'000;
  facts->trial = "t-abcde";
  for (int i = 1; i <= 3; ++i) {
    msg::ResultRowT row;
    row.metrics = absl::StrCat("{\"loss\": ", 1.0 / i, ", \"accuracy\": ", i, "}");
    facts->reports.push_back(row);
  }
  return facts;
}

std::string Shown(const Model& model, int width = 80, int height = 12, bool keys = true) {
  return Draw(model, {.width = width, .height = height, .zone = absl::UTCTimeZone(), .keys = keys})
      .ToString();
}
Order Type(Model& model, const std::string& keys) {
  Order order;
  for (const char key : keys) order = model.Press({Key::Kind::kText, std::string(1, key)});
  return order;
}

class ViewTest : public ::testing::Test {
 protected:
  ViewTest() { model_.Take(SomeFacts()); }
  Model model_;
};

TEST_F(ViewTest, ANodeHasALineWithItsStateAndItsSlots) {
  auto facts = SomeFacts();
  for (const auto& [name, state, why] :
       {std::tuple("gpu1", msg::NodeState::Connected, ""),
        {"gpu2", msg::NodeState::Away, "the connection was cut"}}) {
    msg::NodeT node;
    node.name = name;
    node.pool = "lab";
    node.state = state;
    node.slots = 8;
    node.slots_used = 3;
    node.gpus = {"GPU-1"};
    node.why = why;
    facts->nodes.push_back(std::move(node));
  }
  model_.Take(facts);
  const std::string shown = Shown(model_, 80, 20);
  for (const char* const line : {" node gpu1 of lab connected  3 of 8 slots  0 of 1 gpu\n",
                                 " node gpu2 of lab away  3 of 8 slots  0 of 1 gpu  the connection "
                                 "was cut\n"}) {
    EXPECT_NE(shown.find(line), shown.npos) << line << shown;
  }
}

TEST_F(ViewTest, ShowsServicesTrialsJobsAndTasks) {
  EXPECT_EQ(Shown(model_),
            R"( yard top  3 tasks  cpu 140% of 200%  mem 322.0 MB of 8.0 GB           22:13:20
 registry up  launcher up  datamanager up  trainer up, 2 restarts
 NAME                STATE         AGE    CPU    MEMORY RESTARTS DETAILS
>t-abcde first       running     1 min    98%  212.0 MB        1 loss 0.25
 j-train train       running    10 min    42%  110.0 MB        0
   worker-0          running     1 min    40%   50.0 MB        0
   worker-1          running     1 min     2%   60.0 MB        1



 loss █▃▁  0.333333 to 1
 q quit  / filter  l logs  m metric  s stop  r restart  ? help
)");
}

TEST_F(ViewTest, DisksAndGpusHaveColumnsWhereThereAreAny) {
  const auto facts = SomeFacts();
  facts->rates.disks["j-trial/worker-0"] = {1'500'000, 500'000};
  facts->rates.disks["j-train/worker-0"] = {0, 0};
  for (const double percent : {70.0, 80.0, static_cast<double>(NAN)}) {
    auto gpu = std::make_unique<msg::GpuUsageT>();
    gpu->index = static_cast<std::uint32_t>(facts->usage.gpus.size());
    gpu->utilisation = percent;
    facts->usage.gpus.push_back(std::move(gpu));
  }
  facts->usage.tasks[0]->gpus = {0, 1};
  facts->usage.tasks[1]->gpus = {2};  // Its utilisation is unknown.
  Model model;
  model.Take(facts);
  const std::string wide = Shown(model, 110, 9);
  EXPECT_EQ(
      wide,
      R"( yard top  3 tasks  cpu 140% of 200%  mem 322.0 MB of 8.0 GB  gpu 150% of 200%                       22:13:20
 registry up  launcher up  datamanager up  trainer up, 2 restarts
 NAME                         STATE         AGE    CPU   GPU    MEMORY    DISK/S RESTARTS DETAILS
>t-abcde first                running     1 min    98%  150%  212.0 MB    2.0 MB        1 loss 0.25
 j-train train                running    10 min    42%     -  110.0 MB       0 B        0
   worker-0                   running     1 min    40%     -   50.0 MB       0 B        0
   worker-1                   running     1 min     2%     -   60.0 MB         -        1

 q quit  / filter  l logs  m metric  s stop  r restart  ? help
)");
  EXPECT_EQ(Shown(model, 80, 9).find("DISK/S"), std::string::npos);
  EXPECT_NE(Shown(model, 80, 9).find(" GPU "), std::string::npos);
  EXPECT_EQ(Shown(model_, 200, 9).find("DISK/S"), std::string::npos);
}

TEST_F(ViewTest, SmallScreensLeaveOutWhatIsLessImportant) {
  EXPECT_EQ(Shown(model_, 30, 5), R"( yard top  3 tasks  cpu 140% o
 NAME         STATE         AG
>t-abcde fir… running     1 mi
 j-train tra… running    10 mi
 q quit  / filter  l logs  m m
)");
  EXPECT_EQ(Shown(model_, 12, 1), " yard top  3\n");
  for (int width = 1; width < 100; width += 7) {
    for (int height = 1; height < 30; ++height) {
      for (const char* keys : {"", "l", "?", "?/", "s"}) {
        Model model;
        model.Take(SomeFacts());
        Type(model, keys);
        const Screen screen = Draw(model, {.width = width, .height = height});
        EXPECT_EQ(screen.width(), width);
        EXPECT_EQ(screen.height(), height);
      }
    }
  }
}

TEST_F(ViewTest, APageFollowsTheSelectedRow) {
  model_.Press({Key::Kind::kEnd});
  const std::string shown = Shown(model_, 80, 5);
  EXPECT_NE(shown.find(">  worker-1"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("t-abcde"), std::string::npos) << shown;
}

TEST_F(ViewTest, AFilterLeavesWhatMatches) {
  Type(model_, "/TRAIN");
  EXPECT_EQ(model_.mode(), Model::Mode::kFilter);
  EXPECT_EQ(model_.rows().size(), 3u);
  EXPECT_NE(Shown(model_).find(" /TRAIN_\n"), std::string::npos);
  // In this mode, keys are text.
  EXPECT_EQ(Type(model_, "q"), Order{});
  EXPECT_NE(Shown(model_).find("nothing matches"), std::string::npos);
  model_.Press({Key::Kind::kBackspace});
  model_.Press({Key::Kind::kEnter});
  EXPECT_NE(Shown(model_).find("[TRAIN]"), std::string::npos);
  model_.Press({Key::Kind::kEscape});
  EXPECT_EQ(model_.rows().size(), 4u);
}

TEST_F(ViewTest, AskingComesBeforeStopping) {
  EXPECT_EQ(Type(model_, "s"), Order{});
  EXPECT_NE(Shown(model_).find("\n stop t-abcde first? y/n\n"), std::string::npos);
  EXPECT_EQ(Type(model_, "n"), Order{});
  EXPECT_NE(Shown(model_).find("nothing is done"), std::string::npos);
  EXPECT_EQ(Type(model_, "y"), Order{});
  EXPECT_EQ(Type(model_, "sy"), (Order{Kind::kStop, "t-abcde", true}));
  EXPECT_EQ(Type(model_, "jry"), (Order{Kind::kRestart, "j-train", false}));
  EXPECT_EQ(Type(model_, "jsy"), (Order{Kind::kStop, "j-train/worker-0", false}));
}

// An answer concerns the thing in the question, whatever is selected by then.
TEST_F(ViewTest, AnAnswerIsOfWhatWasAsked) {
  Type(model_, "s");
  auto later = SomeFacts();
  later->trials.clear();
  model_.Take(later);
  EXPECT_EQ(Type(model_, "y"), (Order{Kind::kStop, "t-abcde", true}));
}

TEST_F(ViewTest, WhatCannotBeDoneIsSaid) {
  EXPECT_EQ(Type(model_, "r"), Order{});
  EXPECT_EQ(model_.mode(), Model::Mode::kNormal);
  EXPECT_NE(Shown(model_).find("t-abcde first is a trial: the trainer"), std::string::npos);
  auto later = SomeFacts();
  later->trials[0].state = msg::TrialState::Done;
  model_.Take(later);
  Type(model_, "s");
  EXPECT_NE(Shown(model_).find("t-abcde first has ended"), std::string::npos);
}

TEST_F(ViewTest, QuitAndInterruptAreOrders) {
  EXPECT_EQ(Type(model_, "q"), Order{Kind::kQuit});
  for (const char* before : {"", "/", "s", "?"}) {
    Type(model_, before);
    EXPECT_EQ(model_.Press({Key::Kind::kInterrupt}), Order{Kind::kInterrupt});
  }
}

TEST_F(ViewTest, OutputOfWhatIsSelected) {
  EXPECT_EQ(model_.subject(), (Subject{.trial = "t-abcde", .reports = 3}));
  Type(model_, "l");
  EXPECT_EQ(model_.subject(), (Subject{.trial = "t-abcde", .reports = 3, .output_of = "j-trial"}));
  auto facts = SomeFacts();
  facts->output_of = "j-trial";
  facts->output = {"one", "two \x1b]0;title\x07", "three"};
  model_.Take(facts);
  const std::string shown = Shown(model_, 40, 12);
  EXPECT_NE(shown.find(" output of t-abcde first -----"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" two \\x1B]0;title\\x07\n three\n"), std::string::npos) << shown;
  // Another trial does not show this output.
  Type(model_, "j");
  EXPECT_EQ(Shown(model_).find("three"), std::string::npos);
}

TEST_F(ViewTest, TheNextMetric) {
  EXPECT_EQ(model_.metric(), "loss");
  Type(model_, "m");
  EXPECT_EQ(model_.metric(), "step");
  Type(model_, "m");
  EXPECT_EQ(model_.metric(), "accuracy");
  EXPECT_NE(Shown(model_).find(" accuracy ▁▅█  1 to 3\n"), std::string::npos) << Shown(model_);
  Type(model_, "jm");
  EXPECT_NE(Shown(model_).find("no metrics"), std::string::npos);
}

TEST_F(ViewTest, WhoDoesNotAnswerIsSaid) {
  auto facts = SomeFacts();
  facts->services[1].state = "down";
  facts->why = absl::UnavailableError("the launcher is not there");
  model_.Take(facts);
  const std::string shown = Shown(model_);
  EXPECT_NE(shown.find("launcher down"), std::string::npos) << shown;
  EXPECT_NE(shown.find("\n the launcher is not there\n"), std::string::npos) << shown;
}

TEST_F(ViewTest, HostileAndWideNames) {
  auto facts = SomeFacts();
  facts->trials[0].name = "損失損失損失損失損失";
  facts->trials[0].last_metrics = "{\"a\\u001b[2J\": 1}";
  facts->jobs[1].name = "x\x1b[2J\xff\n";
  model_.Take(facts);
  const std::string shown = Shown(model_);
  EXPECT_NE(shown.find(">t-abcde 損失損失損… running"), std::string::npos) << shown;
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
  EXPECT_NE(shown.find("j-train x\\x1B[2J"), std::string::npos) << shown;
}

TEST_F(ViewTest, AFrameForAFileHasNoKeysAndNoSelection) {
  EXPECT_EQ(Shown(model_, 80, HeightOfAll(model_), false),
            R"( yard top  3 tasks  cpu 140% of 200%  mem 322.0 MB of 8.0 GB           22:13:20
 registry up  launcher up  datamanager up  trainer up, 2 restarts
 NAME                STATE         AGE    CPU    MEMORY RESTARTS DETAILS
 t-abcde first       running     1 min    98%  212.0 MB        1 loss 0.25
 j-train train       running    10 min    42%  110.0 MB        0
   worker-0          running     1 min    40%   50.0 MB        0
   worker-1          running     1 min     2%   60.0 MB        1
 loss █▃▁  0.333333 to 1
)");
}

TEST(EmptyViewTest, SaysWhatToDoNext) {
  Model model;
  EXPECT_NE(Shown(model).find("asking the services"), std::string::npos);
  EXPECT_EQ(Type(model, "jslrm"), Order{});
  model.Take(std::make_shared<Facts>());
  EXPECT_NE(Shown(model).find("nothing runs; next: yard run -- PROGRAM"), std::string::npos);
  EXPECT_EQ(Type(model, "jslrm"), Order{});
  EXPECT_EQ(model.subject(), Subject{});
}

}  // namespace
}  // namespace yard::top
