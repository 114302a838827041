#include "web/metrics/yard_metrics.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/metrics/yard_facts.h"

namespace web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<msg::TaskT> Task(const std::string& id, msg::TaskState state) {
  auto task = std::make_unique<msg::TaskT>();
  task->id = id;
  task->state = state;
  task->restarts = 2;
  return task;
}

std::unique_ptr<msg::TaskUsageT> Usage(const std::string& task, std::uint64_t bytes) {
  auto usage = std::make_unique<msg::TaskUsageT>();
  usage->task = task;
  usage->cpu_us = 1'500'000;
  usage->rss_bytes = bytes;
  usage->processes = 3;
  return usage;
}

std::unique_ptr<msg::TrialT> Trial(const std::string& id, msg::TrialState state) {
  auto trial = std::make_unique<msg::TrialT>();
  trial->id = id;
  trial->name = "run \"" + id + "\"\n";
  trial->state = state;
  trial->attempt = 3;
  trial->reports = 7;
  trial->job = "j-" + id;
  return trial;
}

// Returns facts with a job of two tasks of a running trial, and a failed trial.
YardFacts Facts() {
  YardFacts facts;
  facts.stats["trainer"].emplace().service = "trainer";
  facts.stats["web"].emplace().service = "web";
  facts.stats["launcher"];
  facts.kept.emplace().services.push_back(std::make_unique<msg::SupervisedServiceT>());
  facts.kept->services.back()->name = "trainer";
  facts.kept->services.back()->restarts = 4;
  auto job = std::make_unique<msg::JobT>();
  job->id = "j-t-1";
  job->name = "train";
  job->tasks.push_back(Task("j-t-1/worker-0", msg::TaskState::Running));
  job->tasks.back()->resources = {"slots=1", "gpu=0,2"};
  job->tasks.push_back(Task("j-t-1/worker-1", msg::TaskState::Starting));
  facts.jobs.emplace().jobs.push_back(std::move(job));
  facts.usage.emplace().tasks.push_back(Usage("j-t-1/worker-0", 1000));
  facts.usage->tasks.back()->io_known = true;
  facts.usage->tasks.back()->read_bytes = 5;
  facts.usage->tasks.push_back(Usage("j-t-1/worker-1", 17));
  facts.usage->tasks.back()->gpus = {3};
  auto gpu = std::make_unique<msg::GpuUsageT>();
  gpu->index = 2;
  gpu->uuid = "GPU-1";
  gpu->name = "H100";
  gpu->utilisation = 50;
  gpu->memory_bytes = 85'899'345'920;
  gpu->memory_total_bytes = 2 * gpu->memory_bytes;
  gpu->temperature = 41;
  gpu->power = std::numeric_limits<double>::quiet_NaN();
  facts.usage->gpus.push_back(std::move(gpu));
  auto lost = std::make_unique<msg::GpuUsageT>();
  lost->index = 3;
  lost->utilisation = lost->temperature = lost->power = std::numeric_limits<double>::quiet_NaN();
  facts.usage->gpus.push_back(std::move(lost));
  facts.trials.emplace().trials.push_back(Trial("t-1", msg::TrialState::Running));
  facts.trials->trials.push_back(Trial("t-2", msg::TrialState::Failed));
  return facts;
}

TEST(YardMetricsTest, SaysOfEachServiceWhetherItIsUp) {
  const std::string text = YardMetricsText(Facts());
  EXPECT_THAT(text, HasSubstr("# TYPE trainyard_up gauge\n"
                              "trainyard_up{service=\"launcher\"} 0\n"
                              "trainyard_up{service=\"trainer\"} 1\n"
                              "trainyard_up{service=\"web\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ntrainyard_service_restarts_total{service=\"trainer\"} 4\n"));
}

TEST(YardMetricsTest, SamplesOfAMetricStandTogether) {
  EXPECT_THAT(YardMetricsText(Facts()), HasSubstr("# TYPE process_open_fds gauge\n"
                                                  "process_open_fds{service=\"trainer\"} 0\n"
                                                  "process_open_fds{service=\"web\"} 0\n"));
}

TEST(YardMetricsTest, SaysWhatTasksUse) {
  const std::string text = YardMetricsText(Facts());
  const std::string first = "{task=\"j-t-1/worker-0\",job=\"j-t-1\",job_name=\"train\"";
  const std::string second = "{task=\"j-t-1/worker-1\",job=\"j-t-1\",job_name=\"train\"";
  for (const std::string& line :
       {"trainyard_task_up" + first + "} 1\n", "trainyard_task_up" + second + "} 0\n",
        "trainyard_task_state" + second + ",state=\"starting\"} 1\n",
        "trainyard_task_restarts_total" + first + "} 2\n",
        "trainyard_task_cpu_seconds_total" + first + "} 1.500000\n",
        "trainyard_task_memory_bytes" + first + "} 1000\n",
        "trainyard_task_processes" + first + "} 3\n",
        "trainyard_task_read_bytes_total" + first + "} 5\n",
        "trainyard_task_gpu" + first + ",gpu=\"0\"} 1\n",
        "trainyard_task_gpu" + first + ",gpu=\"2\"} 1\n",
        "trainyard_task_gpu" + second + ",gpu=\"3\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr("\n" + line));
  }
  EXPECT_THAT(text, Not(HasSubstr("trainyard_task_read_bytes_total" + second)))
      << "what is not known is not zero";
}

TEST(YardMetricsTest, ATrialUsesWhatItsTasksUse) {
  const std::string text = YardMetricsText(Facts());
  const std::string runs = "{trial=\"t-1\",name=\"run \\\"t-1\\\"\\n\"";
  const std::string failed = "{trial=\"t-2\",name=\"run \\\"t-2\\\"\\n\"";
  for (const std::string& line :
       {"trainyard_trial_up" + runs + "} 1\n", "trainyard_trial_up" + failed + "} 0\n",
        "trainyard_trial_state" + failed + ",state=\"failed\"} 1\n",
        "trainyard_trial_reports_total" + runs + "} 7\n",
        "trainyard_trial_restarts_total" + runs + "} 2\n",
        "trainyard_trial_cpu_seconds_total" + runs + "} 3.000000\n",
        "trainyard_trial_memory_bytes" + runs + "} 1017\n",
        "trainyard_trial_gpus" + runs + "} 3\n"}) {
    EXPECT_THAT(text, HasSubstr("\n" + line));
  }
  EXPECT_THAT(text, Not(HasSubstr("trainyard_trial_memory_bytes" + failed)));
}

TEST(YardMetricsTest, AGpuSaysWhatItKnows) {
  const std::string text = YardMetricsText(Facts());
  const std::string gpu = "{gpu=\"2\",uuid=\"GPU-1\",model=\"H100\"} ";
  EXPECT_THAT(text, HasSubstr("\ntrainyard_gpu_utilisation_ratio" + gpu + "0.5\n"));
  EXPECT_THAT(text, HasSubstr("\ntrainyard_gpu_memory_used_bytes" + gpu + "85899345920\n"));
  EXPECT_THAT(text, HasSubstr("\ntrainyard_gpu_memory_bytes" + gpu + "171798691840\n"));
  EXPECT_THAT(text, Not(HasSubstr("trainyard_gpu_power_watts")));
  EXPECT_THAT(text, Not(HasSubstr("gpu=\"3\",uuid"))) << "it says nothing";
}

TEST(YardMetricsTest, WithoutAnAnswerThereIsWhoDidNotAnswer) {
  YardFacts facts;
  facts.stats["registry"];
  EXPECT_EQ(YardMetricsText(facts),
            "# HELP trainyard_up 1 if the service has answered just now.\n"
            "# TYPE trainyard_up gauge\ntrainyard_up{service=\"registry\"} 0\n");
}

}  // namespace
}  // namespace web
