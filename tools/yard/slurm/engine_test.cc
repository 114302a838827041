#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/slurm/engine_choice.h"
#include "tools/yard/slurm/engine_flags.h"

namespace yard {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Error(const EngineWish& wish, const std::string& at) {
  return std::string(ChooseEngine(wish, at, EngineWish{}).status().message());
}

TEST(EngineTest, APoolOfItsOwnAndAPoolThatIsNamedExcludeEachOther) {
  EXPECT_THAT(Error({.engine = "slurm"}, "lab"),
              AllOf(HasSubstr("--engine slurm"), HasSubstr("--at lab")));
  EXPECT_THAT(Error({.engine = "local"}, "lab"),
              AllOf(HasSubstr("--engine local"), HasSubstr("--at lab")));
  EXPECT_THAT(Error({.engine = "pool"}, ""), HasSubstr("--at NAME"));
}

TEST(EngineTest, AKeyOfSlurmForAnotherEngineIsNamed) {
  EXPECT_THAT(Error({.slurm = {{"partition", "gpu"}}}, ""),
              AllOf(HasSubstr("partition"), HasSubstr("local"), HasSubstr("--engine slurm")));
  EXPECT_THAT(Error({.slurm = {{"partition", "gpu"}}}, "lab"), HasSubstr("the engine is pool"));
}

TEST(EngineTest, TheConfigurationCountsWhereNothingElseIsSaid) {
  const EngineWish standard{.engine = "slurm", .slurm = {{"partition", "gpu"}, {"time", "8h"}}};
  const auto none = ChooseEngine({}, "", standard);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->is_slurm);
  EXPECT_EQ(none->slurm, standard.slurm);
  const auto over = ChooseEngine({.slurm = {{"time", "1h"}}}, "", standard);
  ASSERT_TRUE(over.ok());
  EXPECT_EQ(over->slurm.at("time"), "1h");
  EXPECT_EQ(over->slurm.at("partition"), "gpu");
  EXPECT_FALSE(ChooseEngine({.engine = "local"}, "", standard)->is_slurm);
  EXPECT_FALSE(ChooseEngine({}, "lab", standard)->is_slurm);
  // Keys of the configuration alone do not select Slurm.
  EXPECT_FALSE(ChooseEngine({}, "", {.slurm = {{"partition", "gpu"}}})->is_slurm);
}

TEST(EngineTest, DefaultsStandBehindFlags) {
  EngineFlags flags;
  EXPECT_TRUE(flags.SetDefault("engine", {"slurm"}));
  EXPECT_TRUE(flags.SetDefault("slurm", {"nodes=2", "time=8h"}));
  EXPECT_FALSE(flags.SetDefault("other", {"x"}));
  const auto wish = flags.Wish();
  ASSERT_TRUE(wish.ok()) << wish.status();
  EXPECT_EQ(wish->engine, "slurm");
  EXPECT_EQ(wish->slurm.at("nodes"), "2");
  EngineFlags wrong;
  wrong.SetDefault("engine", {"slrum"});
  EXPECT_THAT(std::string(wrong.Wish().status().message()),
              AllOf(HasSubstr("--engine"), HasSubstr("slurm")));
}

}  // namespace
}  // namespace yard
