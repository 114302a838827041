#include "datamanager/run_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eventlog/event.h"

namespace datamanager {
namespace {

using ::testing::HasSubstr;

constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();

class RunCatalogTest : public testing::Test {
 protected:
  RunCatalogTest() {
    char name[] = "/tmp/cata-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~RunCatalogTest() override { std::filesystem::remove_all(root_); }

  void Report(const std::string& run, std::int64_t step, double value) {
    const eventlog::Scalar scalar{"loss", value};
    std::filesystem::create_directories(root_ + "/" + run);
    std::ofstream(root_ + "/" + run + "/x.tfevents.1", std::ios::binary | std::ios::app)
        << eventlog::RenderScalars(1, step, {&scalar, 1});
  }
  RunCatalog::Options Options(std::size_t budget = 1 << 20) {
    return {.root = root_,
            .byte_budget = budget,
            .on_points = [this](const auto& run, const auto&, auto, const auto& points) {
              announced_[run] += static_cast<int>(points.size());
            }};
  }

  std::string root_;
  std::map<std::string, int> announced_;
};

TEST_F(RunCatalogTest, ListsRunsNewestFirst) {
  Report("old", 1, 1);
  Report("new", 5, 1);
  std::filesystem::last_write_time(
      root_ + "/old/x.tfevents.1",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  RunCatalog catalog(Options());
  catalog.Scan();
  const auto runs = catalog.Runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].name, "new");
  EXPECT_EQ(runs[0].last_step, 5);
  EXPECT_EQ(runs[0].points, 1u);
  EXPECT_EQ(runs[0].tags, 1u);
}

TEST_F(RunCatalogTest, ANameMayBeAPrefixThatIsUnique) {
  Report("digits-1", 1, 1);
  Report("digits-2", 1, 1);
  Report("other", 1, 1);
  RunCatalog catalog(Options());
  catalog.Scan();
  EXPECT_EQ(catalog.FindRun("oth")->name, "other");
  const auto two = catalog.FindRun("digits").status();
  EXPECT_EQ(two.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(two.message()), HasSubstr("digits-1, digits-2"));
  EXPECT_EQ(catalog.FindRun("nope").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(catalog.FindRun("").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RunCatalogTest, GivesPointsOrColumns) {
  for (int step = 0; step < 100; ++step) Report("r", step, step == 50 ? 9 : 1);
  RunCatalog catalog(Options());
  catalog.Scan();
  EXPECT_EQ(catalog.Scalars("r", "loss", 0, kLowest, kHighest)->points.size(), 100u);
  EXPECT_EQ(catalog.Scalars("r", "loss", 0, 10, 19)->points.size(), 10u);
  const auto reduced = catalog.Scalars("r", "loss", 10, kLowest, kHighest);
  EXPECT_EQ(reduced->columns.size(), 10u);
  EXPECT_EQ(reduced->total_points, 100u);
  double highest = 0;
  for (const Column& column : reduced->columns) highest = std::max(highest, column.max);
  EXPECT_EQ(highest, 9);
  const auto missing = catalog.Scalars("r", "acc", 0, kLowest, kHighest).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("loss"));
}

TEST_F(RunCatalogTest, AnnouncesOnlyWhatComesAfterTheFirstScan) {
  Report("r", 1, 1);
  RunCatalog catalog(Options());
  catalog.Scan();
  EXPECT_TRUE(announced_.empty());
  Report("r", 2, 1);
  Report("fresh", 1, 1);
  EXPECT_TRUE(catalog.Refresh(root_ + "/r"));
  EXPECT_FALSE(catalog.Refresh(root_ + "/fresh"));
  catalog.Scan();
  EXPECT_EQ(announced_, (std::map<std::string, int>{{"r", 1}, {"fresh", 1}}));
}

TEST_F(RunCatalogTest, ADroppedRunIsReadAgainWhenItIsAskedFor) {
  for (int run = 0; run < 4; ++run) {
    for (int step = 0; step < 100; ++step) Report(absl::StrCat("r", run), step, step);
  }
  RunCatalog catalog(Options(2 * 200 * sizeof(Point)));
  catalog.Scan();
  EXPECT_GT(catalog.GetStats().dropped, 0u);
  EXPECT_LE(catalog.GetStats().bytes, 2 * 200 * sizeof(Point));
  for (int run = 0; run < 4; ++run) {
    const std::string name = absl::StrCat("r", run);
    EXPECT_EQ(catalog.FindRun(name)->points, 100u);
    EXPECT_EQ(catalog.Scalars(name, "loss", 0, kLowest, kHighest)->points.size(), 100u) << name;
    EXPECT_EQ(catalog.Tags(name)->front().summary.max, 99) << name;
  }
  EXPECT_LE(catalog.GetStats().bytes, 2 * 200 * sizeof(Point));
}

TEST_F(RunCatalogTest, ARunThatIsGoneIsForgottenAndAMissingRootIsEmpty) {
  Report("r", 1, 1);
  RunCatalog catalog(Options());
  catalog.Scan();
  std::filesystem::remove_all(root_ + "/r");
  catalog.Scan();
  EXPECT_TRUE(catalog.Runs().empty());
  std::filesystem::remove_all(root_);
  EXPECT_EQ(catalog.Scan(), std::vector<std::string>{root_});
}

}  // namespace
}  // namespace datamanager
