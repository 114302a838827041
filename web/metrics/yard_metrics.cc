#include "web/metrics/yard_metrics.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bus/json/trial_and_job_json.h"
#include "bus/process/prometheus_page.h"
#include "bus/process/prometheus_text.h"

namespace web {
namespace {

using bus::PrometheusPage;
using Labels = PrometheusPage::Labels;

std::string Seconds(std::uint64_t microseconds) {
  return absl::StrFormat("%d.%06d", microseconds / 1'000'000, microseconds % 1'000'000);
}

void AddServices(const YardFacts& facts, PrometheusPage& page) {
  page.Begin("trainyard_up", "gauge", "1 if the service has answered just now.");
  for (const auto& [service, stats] : facts.stats) {
    page.Sample(std::uint64_t{stats.has_value()}, {{"service", service}});
  }
  page.Begin("trainyard_service_restarts_total", "counter",
             "How often the launcher has started the service again.");
  if (facts.kept.has_value()) {
    for (const auto& service : facts.kept->services) {
      page.Sample(std::uint64_t{service->restarts}, {{"service", service->name}});
    }
  }
  for (const auto& [service, stats] : facts.stats) {
    if (stats.has_value()) bus::AddStats(*stats, &page);
  }
}

// A live task, and its usage if known.
struct TaskFacts {
  const msg::JobT* job;
  const msg::TaskT* task;
  const msg::TaskUsageT* usage = nullptr;
};

std::vector<TaskFacts> TasksOf(const YardFacts& facts) {
  std::unordered_map<std::string_view, const msg::TaskUsageT*> usages;
  if (facts.usage.has_value()) {
    for (const auto& usage : facts.usage->tasks) usages[usage->task] = usage.get();
  }
  std::vector<TaskFacts> tasks;
  if (!facts.jobs.has_value()) return tasks;
  for (const auto& job : facts.jobs->jobs) {
    for (const auto& task : job->tasks) {
      const auto usage = usages.find(task->id);
      tasks.push_back({job.get(), task.get(), usage == usages.end() ? nullptr : usage->second});
    }
  }
  return tasks;
}

// Returns the indexes of the task's GPUs: "gpu=0,2" of its resources, else those that the launcher
// reports.
std::vector<std::string> GpusOf(const TaskFacts& one) {
  for (const std::string& resource : one.task->resources) {
    absl::string_view members = resource;
    if (absl::ConsumePrefix(&members, "gpu="))
      return absl::StrSplit(members, ',', absl::SkipEmpty());
  }
  std::vector<std::string> gpus;
  if (one.usage == nullptr) return gpus;
  for (const std::uint32_t gpu : one.usage->gpus) gpus.push_back(absl::StrCat(gpu));
  return gpus;
}

Labels LabelsOf(const TaskFacts& one) {
  return {{"task", one.task->id}, {"job", one.job->id}, {"job_name", one.job->name}};
}

Labels With(Labels labels, std::string_view name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

void AddTasks(const std::vector<TaskFacts>& tasks, PrometheusPage& page) {
  const auto add =
      [&](std::string_view name, std::string_view type, std::string_view help,
          const std::function<void(const TaskFacts& one, const Labels& labels)>& sample) {
        page.Begin(name, type, help);
        for (const TaskFacts& one : tasks) sample(one, LabelsOf(one));
      };
  const auto of_usage = [&](std::string_view name, std::string_view type, std::string_view help,
                            const std::function<std::string(const msg::TaskUsageT&)>& value) {
    add(name, type, help, [&](const TaskFacts& one, const Labels& labels) {
      if (one.usage != nullptr) page.Sample(value(*one.usage), labels);
    });
  };
  add("trainyard_task_up", "gauge", "1 if the task's program runs.",
      [&](const TaskFacts& one, const Labels& labels) {
        page.Sample(std::uint64_t{one.task->state == msg::TaskState::Running}, labels);
      });
  add("trainyard_task_state", "gauge", "1; the label says the state.",
      [&](const TaskFacts& one, const Labels& labels) {
        page.Sample(std::uint64_t{1}, With(labels, "state", bus::StateName(one.task->state)));
      });
  add("trainyard_task_restarts_total", "counter", "How often the task was started again.",
      [&](const TaskFacts& one, const Labels& labels) {
        page.Sample(std::uint64_t{one.task->restarts}, labels);
      });
  of_usage("trainyard_task_cpu_seconds_total", "counter",
           "Processor time of all its processes since its attempt began.",
           [](const msg::TaskUsageT& usage) { return Seconds(usage.cpu_us); });
  of_usage("trainyard_task_memory_bytes", "gauge", "Memory of all its processes.",
           [](const msg::TaskUsageT& usage) { return absl::StrCat(usage.rss_bytes); });
  of_usage("trainyard_task_processes", "gauge", "Its processes.",
           [](const msg::TaskUsageT& usage) { return absl::StrCat(usage.processes); });
  const auto of_disks = [&](std::string_view name, std::string_view help,
                            std::uint64_t msg::TaskUsageT::*bytes) {
    add(name, "counter", help, [&](const TaskFacts& one, const Labels& labels) {
      if (one.usage != nullptr && one.usage->io_known) page.Sample(one.usage->*bytes, labels);
    });
  };
  of_disks("trainyard_task_read_bytes_total", "Read from disks since its attempt began.",
           &msg::TaskUsageT::read_bytes);
  of_disks("trainyard_task_written_bytes_total", "Written to disks since its attempt began.",
           &msg::TaskUsageT::written_bytes);
  add("trainyard_task_gpu", "gauge", "1 for each GPU that the task has.",
      [&](const TaskFacts& one, const Labels& labels) {
        for (const std::string& gpu : GpusOf(one)) {
          page.Sample(std::uint64_t{1}, With(labels, "gpu", gpu));
        }
      });
}

// Sum over the tasks of a trial's job.
struct TrialUsage {
  bool is_known = false;
  std::uint64_t cpu_us = 0, rss_bytes = 0, gpus = 0;
};

std::unordered_map<std::string_view, TrialUsage> UsageOfJobs(const std::vector<TaskFacts>& tasks) {
  std::unordered_map<std::string_view, TrialUsage> usages;
  for (const TaskFacts& one : tasks) {
    if (one.usage == nullptr) continue;
    TrialUsage& usage = usages[one.job->id];
    usage.is_known = true;
    usage.cpu_us += one.usage->cpu_us;
    usage.rss_bytes += one.usage->rss_bytes;
    usage.gpus += GpusOf(one).size();
  }
  return usages;
}

bool HasEnded(const msg::TrialT& trial) {
  return trial.state >= msg::TrialState::Done && trial.state != msg::TrialState::Paused;
}

void AddTrials(const YardFacts& facts, const std::vector<TaskFacts>& tasks, PrometheusPage& page) {
  if (!facts.trials.has_value()) return;
  const auto usages = UsageOfJobs(tasks);
  const auto add =
      [&](std::string_view name, std::string_view type, std::string_view help,
          const std::function<void(const msg::TrialT& trial, const Labels& labels)>& sample) {
        page.Begin(name, type, help);
        for (const auto& trial : facts.trials->trials) {
          sample(*trial, {{"trial", trial->id}, {"name", trial->name}});
        }
      };
  const auto of_usage = [&](std::string_view name, std::string_view type, std::string_view help,
                            const std::function<std::string(const TrialUsage&)>& value) {
    add(name, type, help, [&](const msg::TrialT& trial, const Labels& labels) {
      const auto usage = usages.find(trial.job);
      if (!HasEnded(trial) && usage != usages.end()) page.Sample(value(usage->second), labels);
    });
  };
  add("trainyard_trial_up", "gauge", "1 if the trial runs.",
      [&](const msg::TrialT& trial, const Labels& labels) {
        page.Sample(std::uint64_t{trial.state == msg::TrialState::Running}, labels);
      });
  add("trainyard_trial_state", "gauge", "1; the label says the state.",
      [&](const msg::TrialT& trial, const Labels& labels) {
        page.Sample(std::uint64_t{1}, With(labels, "state", bus::StateName(trial.state)));
      });
  add("trainyard_trial_reports_total", "counter", "Its acknowledged reports.",
      [&](const msg::TrialT& trial, const Labels& labels) { page.Sample(trial.reports, labels); });
  add("trainyard_trial_restarts_total", "counter", "Its attempts after the first.",
      [&](const msg::TrialT& trial, const Labels& labels) {
        page.Sample(std::uint64_t{trial.attempt > 0 ? trial.attempt - 1 : 0}, labels);
      });
  of_usage("trainyard_trial_cpu_seconds_total", "counter",
           "Processor time of all its processes since its attempt began.",
           [](const TrialUsage& usage) { return Seconds(usage.cpu_us); });
  of_usage("trainyard_trial_memory_bytes", "gauge", "Memory of all its processes.",
           [](const TrialUsage& usage) { return absl::StrCat(usage.rss_bytes); });
  of_usage("trainyard_trial_gpus", "gauge", "GPUs that its tasks have.",
           [](const TrialUsage& usage) { return absl::StrCat(usage.gpus); });
}

// Returns NaN for a GPU that does not report its memory.
double MemoryOf(const msg::GpuUsageT& gpu, std::uint64_t bytes) {
  return gpu.memory_total_bytes > 0 ? static_cast<double>(bytes) : std::nan("");
}

void AddGpus(const YardFacts& facts, PrometheusPage& page) {
  if (!facts.usage.has_value()) return;
  const auto add = [&](std::string_view name, std::string_view help,
                       const std::function<double(const msg::GpuUsageT&)>& value) {
    page.Begin(name, "gauge", help);
    for (const auto& gpu : facts.usage->gpus) {
      const double number = value(*gpu);
      if (std::isnan(number)) continue;
      page.Sample(number,
                  {{"gpu", absl::StrCat(gpu->index)}, {"uuid", gpu->uuid}, {"model", gpu->name}});
    }
  };
  add("trainyard_gpu_utilisation_ratio", "How busy it is, from 0 to 1.",
      [](const msg::GpuUsageT& gpu) { return gpu.utilisation / 100; });
  add("trainyard_gpu_memory_used_bytes", "Its memory that is in use.",
      [](const msg::GpuUsageT& gpu) { return MemoryOf(gpu, gpu.memory_bytes); });
  add("trainyard_gpu_memory_bytes", "Its memory.",
      [](const msg::GpuUsageT& gpu) { return MemoryOf(gpu, gpu.memory_total_bytes); });
  add("trainyard_gpu_temperature_celsius", "How warm it is.",
      [](const msg::GpuUsageT& gpu) { return gpu.temperature; });
  add("trainyard_gpu_power_watts", "What it takes.",
      [](const msg::GpuUsageT& gpu) { return gpu.power; });
}

}  // namespace

std::string YardMetricsText(const YardFacts& facts) {
  PrometheusPage page;
  AddServices(facts, page);
  const std::vector<TaskFacts> tasks = TasksOf(facts);
  AddTasks(tasks, page);
  AddTrials(facts, tasks, page);
  AddGpus(facts, page);
  return page.Take();
}

}  // namespace web
