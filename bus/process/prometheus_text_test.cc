#include "bus/process/prometheus_text.h"

#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using testing::HasSubstr;
using testing::Not;

msg::StatsReplyT Stats() {
  msg::StatsReplyT stats;
  stats.service = "trainer";
  stats.version = "0.1";
  stats.log_level = "info";
  stats.cpu_us = 12'000'345;
  stats.rss_bytes = 4096;
  stats.open_files = 7;
  stats.open_files_limit = 1024;
  stats.started_us = 1'700'000'000'500'000;
  return stats;
}

void AddCounter(msg::StatsReplyT* stats, const std::string& name, bool gauge,
                const std::string& help = "") {
  auto counter = std::make_unique<msg::CounterT>();
  counter->name = name;
  counter->value = 18'446'744'073'709'551'615u;
  counter->gauge = gauge;
  counter->help = help;
  stats->counters.push_back(std::move(counter));
}

TEST(PrometheusTextTest, SaysWhatTheProcessHas) {
  const std::string text = PrometheusText(Stats());
  for (const char* line : {
           "# TYPE process_cpu_seconds_total counter\n"
           "process_cpu_seconds_total{service=\"trainer\"} 12.000345\n",
           "\nprocess_resident_memory_bytes{service=\"trainer\"} 4096\n",
           "\nprocess_open_fds{service=\"trainer\"} 7\n",
           "\nprocess_max_fds{service=\"trainer\"} 1024\n",
           "\nprocess_start_time_seconds{service=\"trainer\"} 1700000000.500000\n",
           "\ntrainyard_info{service=\"trainer\",version=\"0.1\",log_level=\"info\"} 1\n",
           "\ntrainyard_stop_requested{service=\"trainer\"} 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_EQ(text.back(), '\n') << "else the last line is dropped by those who read it";
}

TEST(PrometheusTextTest, ACounterIsATotalAndAGaugeIsNot) {
  msg::StatsReplyT stats = Stats();
  AddCounter(&stats, "bus.calls_refused.not_found", false);
  AddCounter(&stats, "trials", true, "Trials that\nare known: \\o/ \"all\"");
  const std::string text = PrometheusText(stats);
  EXPECT_THAT(text, HasSubstr("# HELP trainyard_bus_calls_refused_not_found_total "
                              "\"bus.calls_refused.not_found\" of Stats.\n"
                              "# TYPE trainyard_bus_calls_refused_not_found_total counter\n"
                              "trainyard_bus_calls_refused_not_found_total{service=\"trainer\"} "
                              "18446744073709551615\n"));
  EXPECT_THAT(text, HasSubstr("# HELP trainyard_trials Trials that\\nare known: \\\\o/ \"all\"\n"
                              "# TYPE trainyard_trials gauge\ntrainyard_trials{"));
}

TEST(PrometheusTextTest, BucketsAreCumulativeAndInSeconds) {
  msg::StatsReplyT stats = Stats();
  auto method = std::make_unique<msg::HistogramT>();
  method->name = "Stats";
  method->count = 9;
  method->errors = 2;
  method->sum_us = 1'234'567;
  method->buckets = {1, 2, 0, 6};
  stats.histograms.push_back(std::move(method));
  const std::string text = PrometheusText(stats);
  const std::string name = "trainyard_call_duration_seconds";
  const std::string labels = "{service=\"trainer\",method=\"Stats\"";
  EXPECT_THAT(text, HasSubstr("# TYPE " + name + " histogram\n" +                    //
                              name + "_bucket" + labels + ",le=\"0.000001\"} 1\n" +  //
                              name + "_bucket" + labels + ",le=\"0.000002\"} 3\n" +  //
                              name + "_bucket" + labels + ",le=\"0.000004\"} 3\n" +  //
                              name + "_bucket" + labels + ",le=\"+Inf\"} 9\n" +      //
                              name + "_sum" + labels + "} 1.234567\n" +              //
                              name + "_count" + labels + "} 9\n"));
  EXPECT_THAT(text, HasSubstr("\ntrainyard_call_errors_total" + labels + "} 2\n"));
}

TEST(PrometheusTextTest, SamplesOfSeveralServicesStandTogether) {
  PrometheusPage page;
  msg::StatsReplyT stats = Stats();
  AddCounter(&stats, "trials", true, "The first help counts.");
  AddStats(stats, &page);
  stats.service = "web";
  stats.counters.front()->help = "Another help.";
  AddStats(stats, &page);
  const std::string text = page.Take();
  EXPECT_THAT(text, HasSubstr("# TYPE process_open_fds gauge\n"
                              "process_open_fds{service=\"trainer\"} 7\n"
                              "process_open_fds{service=\"web\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("The first help counts."));
  EXPECT_THAT(text, Not(HasSubstr("Another help.")));
  EXPECT_EQ(page.Take(), "") << "it begins anew";
}

TEST(PrometheusTextTest, LabelsAreEscaped) {
  msg::StatsReplyT stats = Stats();
  stats.service = "a\"b\\c\nd";
  const std::string text = PrometheusText(stats);
  EXPECT_THAT(text, HasSubstr("process_open_fds{service=\"a\\\"b\\\\c\\nd\"} 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("c\nd")));
}

}  // namespace
}  // namespace bus
