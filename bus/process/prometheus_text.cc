#include "bus/process/prometheus_text.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace bus {
namespace {

std::string Seconds(std::uint64_t microseconds) {
  return absl::StrFormat("%d.%06d", microseconds / 1'000'000, microseconds % 1'000'000);
}

// Replaces characters that a metric's name must not contain by "_", as in
// "bus.calls_refused.not_found".
std::string NameOf(std::string_view counter) {
  std::string name(counter);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return "trainyard_" + name;
}

// Adds the samples of one service to a page.
class Samples {
 public:
  using Labels = PrometheusPage::Labels;

  Samples(std::string service, PrometheusPage* page) : service_(std::move(service)), page_(page) {}

  void Begin(std::string_view name, std::string_view type, std::string_view help) {
    page_->Begin(name, type, help);
  }
  template <typename Value>
  void Sample(Value value, const Labels& labels = {}, std::string_view suffix = "") {
    Labels all = {{"service", service_}};
    all.insert(all.end(), labels.begin(), labels.end());
    page_->Sample(value, all, suffix);
  }
  template <typename Value>
  void One(std::string_view name, std::string_view type, std::string_view help, Value value) {
    Begin(name, type, help);
    Sample(value);
  }

 private:
  const std::string service_;
  PrometheusPage* const page_;
};

void AddProcess(const msg::StatsReplyT& stats, Samples* text) {
  text->One("process_cpu_seconds_total", "counter", "Processor time since the start.",
            Seconds(stats.cpu_us));
  text->One("process_resident_memory_bytes", "gauge", "Memory that is resident.", stats.rss_bytes);
  text->One("process_open_fds", "gauge", "Open file descriptors.", std::uint64_t{stats.open_files});
  text->One("process_max_fds", "gauge", "Limit of open file descriptors.",
            std::uint64_t{stats.open_files_limit});
  text->One("process_start_time_seconds", "gauge", "When it was started, seconds since 1970.",
            Seconds(static_cast<std::uint64_t>(stats.started_us)));
  text->Begin("trainyard_info", "gauge", "1; what runs.");
  text->Sample(std::uint64_t{1}, {{"version", stats.version}, {"log_level", stats.log_level}});
  text->One("trainyard_stop_requested", "gauge", "1 while it stops.",
            std::uint64_t{stats.stop_requested});
}

void AddPools(const msg::StatsReplyT& stats, Samples* text) {
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help,
                       auto value) {
    text->Begin(name, type, help);
    for (const auto& pool : stats.pools) {
      text->Sample(static_cast<std::uint64_t>(value(*pool)), {{"pool", pool->name}});
    }
  };
  using Pool = msg::PoolStatsT;
  add("trainyard_pool_threads", "gauge", "Threads.", [](const Pool& p) { return p.threads; });
  add("trainyard_pool_busy_threads", "gauge", "Threads at work.",
      [](const Pool& p) { return p.busy; });
  add("trainyard_pool_queued", "gauge", "Functions that wait for a thread.",
      [](const Pool& p) { return p.queued; });
  add("trainyard_pool_queue_limit", "gauge", "Functions that may wait.",
      [](const Pool& p) { return p.queue_limit; });
  add("trainyard_pool_done_total", "counter", "Functions that have run.",
      [](const Pool& p) { return p.done; });
  add("trainyard_pool_refused_total", "counter", "Functions refused because too many waited.",
      [](const Pool& p) { return p.refused; });
  text->Begin("trainyard_thread_alive", "gauge", "1 for each thread that must not end.");
  for (const auto& thread : stats.threads) {
    text->Sample(std::uint64_t{thread->alive}, {{"thread", thread->name}});
  }
}

void AddCalls(const msg::StatsReplyT& stats, Samples* text) {
  text->Begin("trainyard_call_errors_total", "counter", "Calls answered with an error.");
  for (const auto& method : stats.histograms) {
    text->Sample(method->errors, {{"method", method->name}});
  }
  text->Begin("trainyard_call_duration_seconds", "histogram",
              "Time from a call's arrival to its answer.");
  for (const auto& method : stats.histograms) {
    std::uint64_t calls = 0;
    // The last bucket includes all longer calls.
    for (std::size_t i = 0; i + 1 < method->buckets.size(); ++i) {
      calls += method->buckets[i];
      text->Sample(calls, {{"method", method->name}, {"le", Seconds(std::uint64_t{1} << i)}},
                   "_bucket");
    }
    if (!method->buckets.empty()) calls += method->buckets.back();
    // Not `count`, which was read before the buckets, so that later calls are missing in it.
    text->Sample(calls, {{"method", method->name}, {"le", "+Inf"}}, "_bucket");
    text->Sample(Seconds(method->sum_us), {{"method", method->name}}, "_sum");
    text->Sample(calls, {{"method", method->name}}, "_count");
  }
}

void AddCounters(const msg::StatsReplyT& stats, Samples* text) {
  for (const auto& counter : stats.counters) {
    const std::string help =
        counter->help.empty() ? absl::StrCat("\"", counter->name, "\" of Stats.") : counter->help;
    text->One(NameOf(counter->name) + (counter->gauge ? "" : "_total"),
              counter->gauge ? "gauge" : "counter", help, counter->value);
  }
}

}  // namespace

void AddStats(const msg::StatsReplyT& stats, PrometheusPage* page) {
  Samples samples(stats.service, page);
  AddProcess(stats, &samples);
  AddPools(stats, &samples);
  AddCalls(stats, &samples);
  AddCounters(stats, &samples);
}

std::string PrometheusText(const msg::StatsReplyT& stats) {
  PrometheusPage page;
  AddStats(stats, &page);
  return page.Take();
}

}  // namespace bus
