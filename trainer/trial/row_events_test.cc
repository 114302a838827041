#include "trainer/trial/row_events.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the rows of each event, as "first-last", for rows whose metrics have these sizes in
// bytes.
std::vector<std::string> EventsOf(const std::vector<std::size_t>& bytes) {
  std::vector<ResultRow> rows;
  for (const std::size_t size : bytes) {
    rows.push_back(
        {.row = static_cast<std::int64_t>(rows.size()) + 7, .metrics = std::string(size, 'm')});
  }
  msg::TrialT trial;
  trial.id = "t-x";
  std::vector<std::string> spans;
  std::uint64_t next = 7;
  for (const auto& event : RowEvents(trial, rows)) {
    EXPECT_EQ(event.trial->id, "t-x");
    EXPECT_EQ(event.row->row, next++);
    EXPECT_EQ(event.row->metrics.size(), bytes[event.row->row - 7]);
    for (const auto& row : event.more_rows) {
      EXPECT_EQ(row->row, next++);
      EXPECT_EQ(row->metrics.size(), bytes[row->row - 7]);
    }
    spans.push_back(absl::StrCat(event.row->row, "-", next - 1));
  }
  EXPECT_EQ(next, rows.size() + 7) << "each row is in one of them";
  return spans;
}

TEST(RowEventsTest, RowsThatComeTogetherShareAnEvent) {
  EXPECT_THAT(EventsOf({}), IsEmpty());
  EXPECT_THAT(EventsOf({20}), ElementsAre("7-7"));
  EXPECT_THAT(EventsOf({20, 20, 20}), ElementsAre("7-9"));
}

TEST(RowEventsTest, AnEventIsNoLargerThanItsLargestRowNeeds) {
  constexpr std::size_t kHalf = 32 << 10;
  EXPECT_THAT(EventsOf({kHalf, kHalf, 1}), ElementsAre("7-8", "9-9"));
  EXPECT_THAT(EventsOf({1, kHalf, kHalf, 1}), ElementsAre("7-8", "9-10"));
  EXPECT_THAT(EventsOf({1, 1 << 20, 1, 1}), ElementsAre("7-7", "8-8", "9-10"));
}

}  // namespace
}  // namespace trainer
