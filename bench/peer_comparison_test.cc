#include "bench/peer_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bench {
namespace {

using ::testing::HasSubstr;
using Kind = PeerComparison::Limit::Kind;

// Returns one of the values in each round.
PeerComparison::Measure Values(std::vector<double> values) {
  return [values = std::move(values), next = std::size_t{0}]() mutable -> absl::StatusOr<double> {
    return values.at(next++);
  };
}

TEST(PeerComparisonTest, ALineHasMediansAndWhatItsLimitIsOfAtBest) {
  struct Row {
    PeerComparison::Limit limit;
    double best;
    bool holds;
  };
  const Row rows[] = {
      {{Kind::kNone, 0}, 0, true},
      {{Kind::kValueAtLeast, 20}, 50, true},
      {{Kind::kValueAtLeast, 21}, 50, false},
      {{Kind::kValueAtMost, 20}, 10, true},
      {{Kind::kValueAtMost, 19}, 10, false},
      {{Kind::kRatioAtLeast, 4}, 50 / 12.5, true},
      {{Kind::kRatioAtLeast, 4.5}, 50 / 12.5, false},
      {{Kind::kRatioAtMost, 4}, 10.0 / 2, true},
      {{Kind::kRatioAtMost, 3}, 10.0 / 2, false},
      {{Kind::kAbovePeerAtMost, 10}, 10.0 - 2, true},
      {{Kind::kAbovePeerAtMost, 9}, 10.0 - 2, false},
  };
  PeerComparison comparison;
  // The ratios of the rounds are 5, 2 and 4.
  comparison.Add("ours", Values({10, 20, 50}));
  comparison.Add("peer", Values({2, 10, 12.5}));
  for (const Row& row : rows) comparison.Compare("it", "s", "ours", "peer", row.limit);
  const auto lines = comparison.Run(3);
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), std::size(rows));
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const PeerComparison::Line& line = (*lines)[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(line.ours, 20);
    EXPECT_EQ(line.peer, 10);
    EXPECT_EQ(line.ratio, 4);
    EXPECT_EQ(line.best, rows[i].best);
    EXPECT_EQ(line.holds(), rows[i].holds);
  }
}

TEST(PeerComparisonTest, APeerThatIsMissingIsSaid) {
  PeerComparison comparison;
  comparison.Add("ours", Values({3}));
  comparison.Add("peer", [] { return absl::NotFoundError("not installed: apt-get install it"); });
  comparison.Compare("it", "s", "ours", "peer", {Kind::kRatioAtLeast, 2});
  const auto lines = comparison.Run(1);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_EQ(lines->at(0).ours, 3);
  EXPECT_THAT(AsTable(*lines), HasSubstr("apt-get install it"));
  EXPECT_THAT(AsJson(*lines, 1), HasSubstr("apt-get install it"));
}

TEST(PeerComparisonTest, AnErrorEndsItAndNamesTheMeasurement) {
  PeerComparison comparison;
  comparison.Add("ours", [] { return absl::DataLossError("one too few"); });
  comparison.Compare("it", "s", "ours", "", {});
  EXPECT_EQ(comparison.Run(1).status().message(), "ours: one too few");
}

TEST(PeerComparisonTest, OneMeasurementAloneIsALineOfItsOwn) {
  PeerComparison comparison;
  comparison.Add("this", Values({1}));
  comparison.Add("that", Values({2}));
  comparison.Compare("it", "s", "this", "that", {Kind::kRatioAtLeast, 2});
  const auto lines = comparison.Run(1, "at");
  ASSERT_TRUE(lines.ok()) << lines.status();
  ASSERT_EQ(lines->size(), 1u);
  EXPECT_EQ(lines->at(0).what, "that");
  EXPECT_EQ(lines->at(0).ours, 2);
}

}  // namespace
}  // namespace bench
