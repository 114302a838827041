#include "tools/yard/configuration/settings_file.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/configuration/settings.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kEverything[] = R"(logdir: runs
trainer: /opt/trainer
slots: 4
resources:
  gpu: [0, 1]
  disk: [nvme0]
  slots: 8
keep_trials: 500
min_free: 5%
keep_jobs: 20
keep_jobs_for: 2d
page: off
metrics_port: 9464
gate_port: 7720
gate_address: 0.0.0.0
notify: [notify-send, "a b"]
alerts: ["loss>10", "grad>=100"]
disk_floor: 2GiB
log_level: debug
log_file_mb: 64
log_files: 2
services:
  datamanager:
    cache_mb: 512
    reload_interval: 1s
    log_level: error
  web:
    port: 7711
    address: ["127.0.0.1", "::1"]
engine: slurm
slurm: {partition: gpu, time: 8h, exclude: [n1, "n[2-3]"], sbatch: [--a, --b=1]}
)";

SettingsFile Good(const std::string& text) {
  auto file = ParseSettings(text, "/etc/yard.yaml", "/etc");
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *file : SettingsFile();
}

std::vector<std::string> Errors(const std::string& text) {
  const auto file = ParseSettings(text, "yard.yaml", "/etc");
  EXPECT_FALSE(file.ok()) << text;
  EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << file.status();
  return absl::StrSplit(file.status().message(), '\n');
}

TEST(SettingsFileTest, EveryKeyIsASetting) {
  const SettingsFile file = Good(kEverything);
  EXPECT_THAT(
      SettingsOf(file.wanted),
      UnorderedElementsAre(
          Pair("logdir", "/etc/runs"), Pair("trainer", "/opt/trainer"), Pair("slots", "4"),
          Pair("resources", "gpu=0,1 disk=nvme0, slots=8"), Pair("keep_trials", "500"),
          Pair("min_free", "5%"), Pair("keep_jobs", "20"), Pair("keep_jobs_for", "172800s"),
          Pair("page", "off"), Pair("metrics_port", "9464"), Pair("notify", "notify-send 'a b'"),
          Pair("alerts", "loss>10,grad>=100"), Pair("disk_floor", "2GiB"),
          // One service overrides the level of all.
          Pair("services.registry.log_level", "debug"),
          Pair("services.launcher.log_level", "debug"),
          Pair("services.datamanager.log_level", "error"),
          Pair("services.trainer.log_level", "debug"), Pair("services.web.log_level", "debug"),
          Pair("services.gate.log_level", "debug"), Pair("gate_port", "7720"),
          Pair("gate_address", "0.0.0.0"), Pair("log_file_mb", "64"), Pair("log_files", "2"),
          Pair("services.datamanager.cache_mb", "512"),
          Pair("services.datamanager.reload_interval", "1s"), Pair("services.web.port", "7711"),
          Pair("services.web.address", "127.0.0.1,::1")));
  // This file has every key of the reference.
  for (const SettingKey& key : SettingKeys()) {
    EXPECT_THAT(absl::StrCat("\n", kEverything),
                HasSubstr(absl::StrCat("\n", std::string(key.name), ":")));
  }
}

TEST(SettingsFileTest, WhereJobsRunIsForVerbs) {
  const SettingsFile file = Good(kEverything);
  EXPECT_EQ(file.engine.engine, "slurm");
  EXPECT_THAT(file.engine.slurm, ElementsAre(Pair("exclude", "n1,n[2-3]"), Pair("partition", "gpu"),
                                             Pair("sbatch", "--a --b=1"), Pair("time", "8h")));
  EXPECT_THAT(Errors("engine: slrum\nslurm: {partitoin: gpu, time: 30}"),
              ElementsAre(HasSubstr("yard.yaml:1:9: engine: expected local, pool or slurm"),
                          HasSubstr("yard.yaml:2:9: slurm: partitoin: there is no such key"),
                          HasSubstr("yard.yaml:2:25: slurm: time: expected a time like 8h")));
}

TEST(SettingsFileTest, ASettingHasThePlaceWhereItStands) {
  const SettingsFile file = Good(kEverything);
  EXPECT_EQ(file.places.at("slots"), "3:8");
  EXPECT_EQ(file.places.at("services.datamanager.cache_mb"), "24:15");
  EXPECT_EQ(file.wanted.origins.at("slots"), "/etc/yard.yaml:3");
  EXPECT_EQ(file.wanted.origins.at("services.web.port"), "/etc/yard.yaml:28");
  EXPECT_EQ(file.wanted.file, "/etc/yard.yaml");
}

TEST(SettingsFileTest, AFileMayAskForNothing) {
  for (const char* text : {"", "# slots: 4\n", "{}", "services:\n  web: {}\n"}) {
    EXPECT_THAT(SettingsOf(Good(text).wanted), IsEmpty()) << text;
  }
}

TEST(SettingsFileTest, JsonIsReadTheSame) {
  EXPECT_EQ(Good(R"({"slots": 4, "page": "on"})").wanted.slots, 4);
}

TEST(SettingsFileTest, EverythingThatIsWrongIsToldWithItsPlace) {
  EXPECT_THAT(
      Errors("slots: many\nresorces: {gpu: [0]}\nmetrics_port: 65536\n"
             "services:\n  datamanger: {cache_mb: 1}\n  web: [port]\n"),
      ElementsAre("yard.yaml:1:8: slots: expected a whole number from 1 to 10000, not \"many\"",
                  "yard.yaml:2:1: unknown key \"resorces\"; do you mean \"resources\"?",
                  StartsWith("yard.yaml:3:15: metrics_port: expected a whole number"),
                  StartsWith("yard.yaml:5:3: services: there is no service \"datamanger\""),
                  StartsWith("yard.yaml:6:8: services.web: expected a map of flags")));
}

TEST(SettingsFileTest, AKeyStandsInOnePlaceOnly) {
  const std::string below = "services:\n  ";
  EXPECT_THAT(Errors(below + "trainer: {slots: 4}"),
              ElementsAre(EndsWith("write `slots:` at the top of the file")));
  EXPECT_THAT(Errors(below + "trainer: {keep_trials: 4}"),
              ElementsAre(HasSubstr("write `keep_trials:` at the top")));
  EXPECT_THAT(Errors(below + "web: {logdir: /a}"), ElementsAre(HasSubstr("write `logdir:`")));
  EXPECT_THAT(Errors(below + "web: {listen: 'tcp://0.0.0.0:1'}"),
              ElementsAre(HasSubstr("the yard itself decides")));
  EXPECT_THAT(Errors("slots: 1\nslots: 2\n"), ElementsAre(HasSubstr("slots")));
}

TEST(SettingsFileTest, ResourcesAreCheckedAsThoseOfTheFlag) {
  const auto wrong = [](const std::string& value) { return Errors("resources: {" + value + "}"); };
  EXPECT_THAT(wrong("gpu: 2"), ElementsAre(HasSubstr("the numbers of the GPUs in a list: [0, 1]")));
  EXPECT_THAT(wrong("gpu: [0-1]"), ElementsAre(HasSubstr("one by one")));
  EXPECT_THAT(wrong("gpu: [0, 0]"), ElementsAre(HasSubstr("0 is there twice")));
  EXPECT_THAT(wrong("gpu: []"), ElementsAre(HasSubstr("at least one")));
  EXPECT_THAT(wrong("gpu: ['0,1']"), ElementsAre(HasSubstr("without a comma")));
  EXPECT_THAT(wrong("gpu: ['0;slots=99']"), ElementsAre(HasSubstr("not a word")));
  EXPECT_THAT(wrong("slots: 0"), ElementsAre(HasSubstr("from 1 to")));
  EXPECT_THAT(wrong("'a b': 1"), ElementsAre(HasSubstr("yard.yaml:1:13: resources.a b: ")));
}

TEST(SettingsFileTest, AValueIsOneFlagAndNoMore) {
  EXPECT_THAT(Errors("services: {web: {hosts: \"a\\nb\"}}"), ElementsAre(HasSubstr("one line")));
  EXPECT_THAT(Errors("services: {web: {'port=1 --page': 1}}"),
              ElementsAre(HasSubstr("lower-case")));
  EXPECT_THAT(Errors("services: {web: {'-x': 1}}"), ElementsAre(HasSubstr("lower-case")));
  EXPECT_THAT(Errors("services: {web: {port: {a: 1}}}"), ElementsAre(HasSubstr("expected a text")));
  EXPECT_THAT(Errors("notify: []"), ElementsAre(HasSubstr("a program first")));
  EXPECT_THAT(Errors("notify: ['']"), ElementsAre(HasSubstr("a program first")));
  EXPECT_THAT(Errors("notify: {comand: a}"), ElementsAre(HasSubstr("do you mean \"command\"?")));
  EXPECT_THAT(
      Good("notify: {command: 'mail me', kinds: [trial_failed]}").wanted.flags.at("launcher"),
      ElementsAre("notify=mail me", "notify_kinds=trial_failed"));
}

TEST(SettingsFileTest, HostileTextIsRefusedInWords) {
  for (const std::string& text :
       std::vector<std::string>{"[]",
                                "slots",
                                "- slots: 4",
                                "slots: &a 4\npage: *a\n",
                                "slots: !!int 4\n",
                                "{",
                                "slots: 4\n---\nslots: 5\n",
                                "\xff\xfe",
                                std::string("slots: 4\0", 9),
                                "? [a]\n: 1\n",
                                "logdir: ~/runs",
                                "logdir: ''",
                                "keep_jobs_for: -1s",
                                "keep_jobs_for: 9999999d",
                                "slots: 99999999999999999999",
                                "slots: 0x10",
                                "slots: '4'",
                                "page: maybe",
                                std::string(2 << 20, '#'),
                                "a: " + std::string(40, '[') + std::string(40, ']'),
                                "\x1b[2J: 1"}) {
    for (const std::string& error : Errors(text)) {
      EXPECT_THAT(error, StartsWith("yard.yaml")) << text.substr(0, 60);
      EXPECT_EQ(error.find('\x1b'), std::string::npos);
    }
  }
}

TEST(SettingsFileTest, TheStandardFileIsWhereTheEnvironmentSays) {
  EXPECT_EQ(StandardSettingsPath({"HOME=/h"}), "/h/.config/trainyard/yard.yaml");
  EXPECT_EQ(StandardSettingsPath({"HOME=/h", "XDG_CONFIG_HOME=/c"}), "/c/trainyard/yard.yaml");
  EXPECT_EQ(StandardSettingsPath({"HOME=/h", "XDG_CONFIG_HOME=relative"}),
            "/h/.config/trainyard/yard.yaml");
  EXPECT_EQ(StandardSettingsPath({}), "");
}

class FindSettingsTest : public ::testing::Test {
 protected:
  FindSettingsTest() {
    char name[] = "/tmp/settings-XXXXXX";
    directory_ = mkdtemp(name);
    context_.working_directory = directory_;
    context_.environment = {"XDG_CONFIG_HOME=" + directory_ + "/config"};
  }
  ~FindSettingsTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = std::filesystem::path(directory_) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }

  std::string directory_;
  Context context_;
};

TEST_F(FindSettingsTest, TheNamedFileIsReadElseTheStandardOne) {
  auto found = FindSettings(context_, "");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  Write("config/trainyard/yard.yaml", "slots: 1");
  Write("mine/yard.yaml", "slots: 2\nlogdir: runs");
  found = FindSettings(context_, "");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->wanted.slots, 1);
  found = FindSettings(context_, "mine/yard.yaml");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->wanted.slots, 2);
  EXPECT_EQ((*found)->wanted.logdir, directory_ + "/mine/runs");
  EXPECT_EQ((*found)->path, directory_ + "/mine/yard.yaml");
  EXPECT_TRUE(absl::IsNotFound(FindSettings(context_, "none.yaml").status()));
}

TEST_F(FindSettingsTest, ATrainerThatIsNoProgramIsToldWithItsPlace) {
  Write("yard.yaml", "slots: 1\ntrainer: nothing\n");
  const auto file = ReadSettings(context_, "yard.yaml");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(CheckSettings(context_, *file).message(),
            absl::StrCat(directory_, "/yard.yaml:2:10: trainer: there is no program ", directory_,
                         "/nothing"));
}

}  // namespace
}  // namespace yard
