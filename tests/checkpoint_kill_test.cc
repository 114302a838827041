// kill -9 of the program itself, of its shim, of the launcher and of the trainer at every point of
// saving a checkpoint. A shell script saves; what it has kept is whole, and it goes on from there.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;

constexpr int kSteps = 5;
constexpr const char* kPoints[] = {"begun", "written", "sent", "saved"};

// kill.sh VICTIM POINT MARK RUNTIME: the first time it comes to POINT in step 3 it kills, and goes
// on if it can.
constexpr char kScript[] = R"sh(
victim=$1 point=$2 mark=$3 runtime=$4 n=0
[ -n "$YARD_CHECKPOINT" ] && n=$(cat "$YARD_CHECKPOINT/n")
ask() { printf '%s\n' "$1" >&3; read -r reply <&3 || exit 9; }
at() {
  [ "$n" = 3 ] && [ "$1" = "$point" ] && [ ! -e "$mark" ] || return 0
  : > "$mark"
  case $victim in
    program) kill -9 $$ ;;
    shim) kill -9 $PPID ;;
    *) read -r pid < "$runtime/$victim.ready" && kill -9 "$pid" ;;
  esac
}
while [ "$n" -lt 5 ]; do
  n=$((n + 1))
  ask "{\"t\":\"report\",\"m\":{\"n\":$n}}"
  ask "{\"t\":\"ckpt_begin\",\"step\":$n}"
  at begun
  directory=${reply#*\"path\":\"}
  directory=${directory%%\"*}
  echo "$n" > "$directory/n" || exit 8
  at written
  printf '{"t":"ckpt_end","path":"%s"}\n' "$directory" >&3
  at sent
  read -r reply <&3 || exit 9
  case $reply in *checkpoint_00000$n*) ;; *) exit 7 ;; esac
  at saved
done
)sh";

std::vector<int> Reported(const std::string& run_directory) {
  std::vector<int> values;
  std::ifstream file(run_directory + "/result.json");
  for (std::string line; std::getline(file, line);) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    values.push_back(object.is_object() ? object.value("n", -1) : -1);
  }
  return values;
}

class CheckpointKillTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_EQ(yard_.Run({"up", "--logdir", yard_.logdir()}).exit_code, 0);
    std::ofstream(yard_.directory() + "/kill.sh") << kScript;
  }
  // The values of `n` that the run has reported, once it is done.
  std::vector<int> Run(const std::string& victim, const std::string& point) {
    const std::string mark = yard_.directory() + "/hit-" + point;
    const CommandResult started = yard_.Run(
        {"run", "--detach", "--name", point, "--max_restarts", "2", "--keep_checkpoints=-1", "--",
         "/bin/sh", "kill.sh", victim, point, mark, yard_.runtime_directory()});
    EXPECT_EQ(started.exit_code, 0) << started.err;
    EXPECT_TRUE(Yard::Eventually([&] { return std::filesystem::exists(mark); })) << point;
    // `yard status` starts a launcher that is gone.
    EXPECT_TRUE(Yard::Eventually([&] {
      if (victim == "launcher") (void)yard_.Run({"status"});
      return yard_.Run({"wait", point}).exit_code == 0;
    })) << yard_.Run({"show", point}).out;
    return Reported(yard_.logdir() + "/" + point);
  }
  void ExpectCheckpoints(const std::string& run) {
    int directories = 0;
    for (const auto& entry : std::filesystem::directory_iterator(yard_.logdir() + "/" + run)) {
      directories += entry.is_directory() ? 1 : 0;
    }
    EXPECT_EQ(directories, kSteps) << "nothing temporary is left of " << run;
    for (int step = 1; step <= kSteps; ++step) {
      std::ifstream file(absl::StrFormat("%s/%s/checkpoint_%06d/n", yard_.logdir(), run, step));
      int content = 0;
      EXPECT_TRUE(file >> content) << run << " " << step;
      EXPECT_EQ(content, step);
    }
  }

  Yard yard_;
};

TEST_P(CheckpointKillTest, EveryPointOfSaving) {
  const std::string victim = GetParam();
  const bool ends_attempt = victim == "program" || victim == "shim";
  const auto once = ElementsAre(1, 2, 3, 4, 5);
  const auto step_again = ElementsAre(1, 2, 3, 3, 4, 5);
  for (const std::string point : kPoints) {
    SCOPED_TRACE(absl::StrCat(victim, " at ", point));
    const std::vector<int> reported = Run(victim, point);
    // The third checkpoint counts from its answer on; before, the second is the newest.
    if (!ends_attempt || point == "saved") {
      EXPECT_THAT(reported, once);
    } else if (point == "sent") {
      EXPECT_THAT(reported, AnyOf(once, step_again)) << "nobody was told either way";
    } else {
      EXPECT_THAT(reported, step_again);
    }
    ExpectCheckpoints(point);
  }
}

INSTANTIATE_TEST_SUITE_P(Victims, CheckpointKillTest,
                         testing::Values("program", "shim", "launcher", "trainer"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tests
