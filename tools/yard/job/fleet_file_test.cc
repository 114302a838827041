#include "tools/yard/job/fleet_file.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> Names(const std::string& text) {
  const auto fleet = ParseFleet(text, "/f/fleet.yaml", "/f");
  EXPECT_TRUE(fleet.ok()) << fleet.status();
  std::vector<std::string> names;
  if (!fleet.ok()) return names;
  for (const FleetJob& job : fleet->jobs) names.push_back(job.name);
  return names;
}

std::string Applied(const std::string& text) {
  const auto fleet = ParseFleet(text, "/f/fleet.yaml", "/f");
  EXPECT_TRUE(fleet.ok()) << fleet.status();
  return fleet.ok() ? fleet->jobs[0].applied : "";
}

std::vector<std::string> Errors(const std::string& text) {
  const auto fleet = ParseFleet(text, "fleet.yaml", "/f");
  EXPECT_TRUE(absl::IsInvalidArgument(fleet.status())) << fleet.status();
  return absl::StrSplit(fleet.status().message(), '\n');
}

TEST(FleetFileTest, JobsAreSeparatedByLines) {
  EXPECT_THAT(Names("name: a\ncommand: [x]\n---\nname: b\ncommand: [x]\n"), ElementsAre("a", "b"));
  EXPECT_THAT(Names("---\n# the first\nname: a\ncommand: [x]\n--- # the second\nname: b\n"
                    "command: [x]\n---\n"),
              ElementsAre("a", "b"));
  EXPECT_THAT(Names("--- {name: a, command: [x]}\n--- {name: b, command: [x]}"),
              ElementsAre("a", "b"));
}

TEST(FleetFileTest, AJobStartsBehindThoseThatItWaitsFor) {
  EXPECT_THAT(Names("{name: c, command: [x], after: {b: ready}}\n---\n"
                    "{name: b, command: [x], after: {a: started, elsewhere: completed}}\n---\n"
                    "{name: a, command: [x]}\n---\n{name: d, command: [x]}\n"),
              ElementsAre("a", "b", "c", "d"));
}

TEST(FleetFileTest, PlacesAreThoseOfTheFile) {
  EXPECT_THAT(Errors("name: a\ncommand: [x]\n---\nname: b\ncommand: [x]\nmax_restarts: many\n"
                     "---\ncommand: [x]\n---\n# again\nname: a\ncommand: [x]\n"),
              ElementsAre(StartsWith("fleet.yaml:6:15: max_restarts: expected a whole number"),
                          "fleet.yaml:8:1: the job has no `name`, by which it is kept",
                          "fleet.yaml:11:1: name: a is the job of line 1 already"));
}

TEST(FleetFileTest, JobsThatWaitForEachOtherAreNamed) {
  EXPECT_THAT(Errors("{name: a, command: [x], after: {b: ready}}\n---\n"
                     "{name: b, command: [x], after: {a: ready}}\n"),
              ElementsAre("fleet.yaml:1:1: after: these jobs wait for each other, and none would "
                          "start: a, b"));
}

TEST(FleetFileTest, HostileFilesAreRefusedInWords) {
  EXPECT_THAT(Errors(""), ElementsAre("fleet.yaml:1:1: the file has no job"));
  EXPECT_THAT(Errors("---\n---\n# nothing\n"), ElementsAre("fleet.yaml:1:1: the file has no job"));
  EXPECT_THAT(Errors(std::string(2 << 20, '\n')), ElementsAre(HasSubstr("larger than 1 MiB")));
  EXPECT_THAT(Errors("[a]\n---\n\x1b[2J\n"),
              ElementsAre(StartsWith("fleet.yaml:1:1: "), StartsWith("fleet.yaml:3:1: ")));
  EXPECT_THAT(Errors("name: a\ncommand: [x]\ndaemon: true\nautostart: true\n"),
              ElementsAre(HasSubstr("a job with `daemon` ends with its launcher")));
  EXPECT_THAT(Errors("name: a\ncommand: [x]\nengine: slurm\n"),
              ElementsAre(HasSubstr("next: yard pool NAME --engine slurm, and at: NAME")));
  std::string many;
  for (int i = 0; i < 300; ++i) absl::StrAppend(&many, "---\n{name: j", i, ", command: [x]}\n");
  EXPECT_THAT(Errors(many), ElementsAre(HasSubstr("more than 200 jobs")));
}

TEST(FleetFileTest, WhatMeansTheSameIsTheSame) {
  const std::string text = "name: a\ncommand: [x, '1']\nenvironment: {A: 1, B: 2}\n";
  EXPECT_EQ(Applied(text), Applied("# said otherwise\nenvironment: {B: 2, A: '1'}\n"
                                   "command: [x, 1]\nname: a\ncwd: .\n"));
  for (const char* const other :
       {"name: a\ncommand: [x, '2']\nenvironment: {A: 1, B: 2}\n",
        "name: a\ncommand: [x, '1']\nenvironment: {A: 1, B: 3}\n",
        "name: a\ncommand: [x, '1']\nenvironment: {A: 1, B: 2}\nautostart: true\n",
        "name: a\ncommand: [x, '1']\nenvironment: {A: 1, B: 2}\nliveness: {tcp: 80}\n",
        "name: a\ncommand: [x, '1']\nenvironment: {A: 1, B: 2}\nafter: {b: ready}\n",
        "name: a\ncommand: [x, '1']\nenvironment: {A: 1, B: 2}\nrestart_delay: 1s\n"}) {
    EXPECT_NE(Applied(text), Applied(other)) << other;
  }
  EXPECT_NE(Applied("name: a\ncommand: [x]\ntasks: {chief: 1, worker: 1}\n"),
            Applied("name: a\ncommand: [x]\ntasks: {worker: 1, chief: 1}\n"));
}

TEST(FleetFileTest, AJobRunsWhereItsFileIs) {
  EXPECT_THAT(Applied("name: a\ncommand: [x]\n"), HasSubstr(R"("cwd":"/f")"));
  EXPECT_THAT(Applied("name: a\ncommand: [x]\ncwd: code\n"), HasSubstr(R"("cwd":"/f/code")"));
}

TEST(FleetFileTest, StandardInputKeepsNothing) {
  EXPECT_TRUE(absl::IsInvalidArgument(ReadFleet("-", "/").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadFleet("none.yaml", "/tmp").status()));
}

}  // namespace
}  // namespace yard
