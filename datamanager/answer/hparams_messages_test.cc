#include "datamanager/answer/hparams_messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bus/schema/datamanager_generated.h"
#include "datamanager/query/run_facts.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

using eventlog::testing::Bytes;
using eventlog::testing::Double;
using eventlog::testing::Number;

std::string Joined(const std::vector<std::unique_ptr<msg::KeyValueT>>& pairs) {
  std::string text;
  for (const auto& pair : pairs) text += pair->key + "=" + pair->value + ";";
  return text;
}

// Returns a session_start_info with one hyperparameter, rate 0.5.
std::string Start() {
  const std::string entry = Bytes(1, Bytes(1, "rate") + Bytes(2, Double(2, 0.5)));
  return Bytes(3, entry + Bytes(2, "uri") + Bytes(3, "url") + Bytes(4, "group") + Double(5, 2.5));
}
const std::vector<ConfigFacts>& Config() {
  static const std::vector<ConfigFacts> config = {
      {.name = "depth", .text = "3", .number = 3.0},
      {.name = "list", .text = "[1]", .number = {}},
      {.name = "name", .text = "a\"b", .number = {}, .is_text = true},
      {.name = "text", .text = "true", .number = {}, .is_text = true},
  };
  return config;
}
// The plugin's parameters: `rate` of Start(), and `depth`, a name that the configuration has too.
const std::vector<ConfigFacts>& Plugin() {
  static const std::vector<ConfigFacts> plugin = {
      {.name = "depth", .text = "4", .number = 4.0},
      {.name = "rate", .text = "0.5", .number = 0.5},
  };
  return plugin;
}

TEST(HParamsMessagesTest, ThePluginAddsToWhatTheRunWasStartedWith) {
  const std::string start = Start();
  const std::string end = Bytes(4, Number(1, 2) + Double(2, 99));
  const std::string experiment = Bytes(2, Bytes(6, "mnist"));
  const msg::RunHParamsT message = HParamsMessage({.experiment = experiment,
                                                   .session_start = start,
                                                   .session_end = end,
                                                   .config = Config(),
                                                   .plugin = Plugin(),
                                                   .group = "trial group",
                                                   .tags = {}});
  EXPECT_EQ(message.source, "trial");
  EXPECT_EQ(Joined(message.hparams), R"(depth=3;list=[1];name="a\"b";rate=0.5;text="true";)");
  EXPECT_EQ(message.group, "group");
  EXPECT_EQ(message.model_uri, "uri");
  EXPECT_EQ(message.monitor_url, "url");
  EXPECT_EQ(message.start_us, 2'500'000);
  EXPECT_EQ(message.status, "failure");
  EXPECT_EQ(message.end_us, 99'000'000);
  EXPECT_EQ(std::string(message.experiment.begin(), message.experiment.end()), experiment);
}

TEST(HParamsMessagesTest, TheSourceIsTheFirstThatHasAny) {
  // A session_end_info alone contains no parameters.
  const std::string end = Bytes(4, Number(1, 1));
  HParamsSources sources = {.experiment = {},
                            .session_start = {},
                            .session_end = end,
                            .config = Config(),
                            .plugin = {},
                            .group = "trial group",
                            .tags = {}};
  const msg::RunHParamsT trial = HParamsMessage(sources);
  EXPECT_EQ(trial.source, "trial");
  EXPECT_EQ(Joined(trial.hparams), R"(depth=3;list=[1];name="a\"b";text="true";)");
  EXPECT_EQ(trial.group, "trial group");
  EXPECT_EQ(trial.status, "success");
  sources.of_lineage = true;
  EXPECT_EQ(HParamsMessage(sources).source, "lineage");
  sources.config = {};
  sources.plugin = Plugin();
  EXPECT_EQ(HParamsMessage(sources).source, "hparams");
  EXPECT_EQ(Joined(HParamsMessage(sources).hparams), "depth=4;rate=0.5;");
  const msg::RunHParamsT nothing = HParamsMessage({});
  EXPECT_EQ(nothing.source, "");
  EXPECT_EQ(nothing.status, "");
  EXPECT_TRUE(nothing.hparams.empty());
}

TEST(HParamsMessagesTest, WhatCannotBeReadCountsAsNone) {
  for (const std::string& bad : {std::string(20, '\xff'), Bytes(4, Number(1, 1))}) {
    const msg::RunHParamsT message = HParamsMessage({.experiment = {},
                                                     .session_start = bad,
                                                     .session_end = {},
                                                     .config = Config(),
                                                     .plugin = {},
                                                     .group = {},
                                                     .tags = {}});
    EXPECT_EQ(message.source, "trial");
  }
  // A time that no clock can represent.
  const std::string never = Bytes(3, Double(5, INFINITY));
  HParamsSources sources;
  sources.session_start = never;
  EXPECT_EQ(HParamsMessage(sources).start_us, 0);
}

TEST(HParamsMessagesTest, TheLastValueOfEachScalarIsAMetric) {
  std::vector<TagFacts> tags = {
      {.name = "bad", .plugin = "scalars", .scalar = true, .last = NAN},
      {.name = "image", .plugin = "images"},
      {.name = "loss", .plugin = "scalars", .scalar = true, .last = 0.1},
      {.name = "sys/cpu_percent", .plugin = "scalars", .scalar = true, .last = 50},
      {.name = "up", .plugin = "scalars", .scalar = true, .last = -INFINITY},
  };
  HParamsSources sources;
  sources.tags = tags;
  EXPECT_EQ(Joined(HParamsMessage(sources).metrics), R"(bad="NaN";loss=0.1;up="-Infinity";)");
  tags.assign(kMaxMetrics + 5, tags[2]);
  sources.tags = tags;
  EXPECT_EQ(HParamsMessage(sources).metrics.size(), kMaxMetrics);
}

}  // namespace
}  // namespace datamanager
