#include "runtime/process/metrics_port.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace runtime {
namespace {

using Flags = std::map<std::string, std::vector<std::string>>;

TEST(MetricsPortTest, ThePortsOfAnEarlierVersionBecomeOne) {
  Flags flags = {{"registry", {"log_level=debug", "metrics_port=9464"}},
                 {"launcher", {"metrics_port=9465"}},
                 {"trainer", {"log_level=debug", "metrics_port=9467", "keep_trials=3"}},
                 {"web", {"log_level=debug", "metrics_port=9468", "page=off"}}};
  LeaveOneMetricsPort(&flags);
  EXPECT_EQ(flags, (Flags{{"registry", {"log_level=debug"}},
                          {"trainer", {"log_level=debug", "keep_trials=3"}},
                          {"web", {"log_level=debug", "metrics_port=9464", "page=off"}}}));
}

TEST(MetricsPortTest, WhatIsOfThisVersionStays) {
  for (const Flags& told : {Flags{}, Flags{{"web", {"metrics_port=1"}}},
                            Flags{{"registry", {"log_level=debug"}}, {"web", {"page=off"}}}}) {
    Flags flags = told;
    LeaveOneMetricsPort(&flags);
    EXPECT_EQ(flags, told);
  }
  Flags old = {{"registry", {"metrics_port=7"}}};
  LeaveOneMetricsPort(&old);
  EXPECT_EQ(old, (Flags{{"web", {"metrics_port=7"}}}));
}

}  // namespace
}  // namespace runtime
