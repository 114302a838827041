#include "bus/process/stats_source.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "bus/thread/counters.h"
#include "bus/wire/version.h"
#include "runtime/process/init.h"
#include "runtime/process/process_usage.h"

namespace bus {
namespace {

void Add(msg::StatsReplyT* stats, const std::string& name, std::uint64_t value, bool gauge) {
  auto counter = std::make_unique<msg::CounterT>();
  counter->name = name;
  counter->value = value;
  counter->gauge = gauge;
  stats->counters.push_back(std::move(counter));
}

std::unique_ptr<msg::PoolStatsT> MessageOf(const runtime::ThreadPool::Stats& pool) {
  auto message = std::make_unique<msg::PoolStatsT>();
  message->name = "pool";
  message->threads = pool.threads;
  message->busy = pool.busy;
  message->queued = pool.queued;
  message->queue_limit = pool.queue_limit;
  message->done = pool.done;
  message->refused = pool.refused;
  return message;
}

std::unique_ptr<msg::HistogramT> MessageOf(const Service::MethodStats& method) {
  auto message = std::make_unique<msg::HistogramT>();
  message->name = method.name;
  message->count = method.count;
  message->sum_us = method.sum_us;
  message->buckets = method.buckets;
  message->errors = method.errors;
  return message;
}

}  // namespace

StatsSource::StatsSource(Options options) : options_(std::move(options)) {}

void StatsSource::AddCounter(std::string name, std::function<std::uint64_t()> value) {
  runtime::MutexLock lock(mutex_);
  numbers_.push_back({std::move(name), std::move(value), false});
}

void StatsSource::AddGauge(std::string name, std::function<std::uint64_t()> value) {
  runtime::MutexLock lock(mutex_);
  numbers_.push_back({std::move(name), std::move(value), true});
}

void StatsSource::SetStopReason(std::string why) {
  runtime::MutexLock lock(mutex_);
  stop_reason_ = std::move(why);
}

msg::StatsReplyT StatsSource::Gather() const {
  msg::StatsReplyT stats;
  stats.service = options_.service;
  stats.version = std::string(kVersion);
  stats.pid = getpid();
  stats.uptime_ms = absl::ToInt64Milliseconds(options_.clock->Monotonic() - started_);
  stats.started_us = absl::ToUnixMicros(started_at_);
  stats.log_level = runtime::LogLevel();
  const runtime::ProcessUsage usage = runtime::UsageOfThisProcess();
  stats.cpu_us = absl::ToInt64Microseconds(usage.cpu);
  stats.rss_bytes = usage.resident_bytes;
  stats.open_files = static_cast<std::uint32_t>(usage.open_files);
  stats.open_files_limit = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(usage.open_files_limit, std::numeric_limits<std::uint32_t>::max()));
  for (const std::string& name : options_.coordinator->LiveThreads()) {
    auto thread = std::make_unique<msg::ThreadStatsT>();
    thread->name = name;
    thread->alive = true;
    stats.threads.push_back(std::move(thread));
  }
  stats.pools.push_back(MessageOf(options_.pool->GetStats()));
  for (const auto& method : options_.methods->GetStats()) {
    stats.histograms.push_back(MessageOf(method));
  }
  Add(&stats, "process.threads", usage.threads, /*gauge=*/true);
  GatherCounters(&stats);
  return stats;
}

void StatsSource::GatherCounters(msg::StatsReplyT* stats) const {
  std::vector<Number> numbers;
  {
    runtime::MutexLock lock(mutex_);
    stats->stop_reason = stop_reason_;
    stats->stop_requested = !stop_reason_.empty();
    numbers = numbers_;
  }
  for (const CounterValue& counter : options_.node->counters().List()) {
    Add(stats, counter.name, counter.value, counter.gauge);
  }
  for (const Number& number : numbers) Add(stats, number.name, number.value(), number.gauge);
}

}  // namespace bus
