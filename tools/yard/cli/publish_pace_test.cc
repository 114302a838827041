#include "tools/yard/cli/publish_pace.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace yard {
namespace {

constexpr absl::Duration kStart = absl::Seconds(1000);

TEST(PublishPaceTest, AThousandAtOneKilohertzTakeASecond) {
  const PublishPace pace(1000, kStart);
  EXPECT_EQ(pace.TimeOf(0), kStart);
  EXPECT_EQ(absl::ToInt64Microseconds(pace.TimeOf(1000) - kStart + absl::Nanoseconds(500)),
            1'000'000);
  EXPECT_EQ(pace.DueBy(kStart), 2u) << "the first, and the one of a millisecond later";
  EXPECT_EQ(pace.DueBy(kStart + absl::Microseconds(998'500)), 1000u);
}

// If a caller sleeps until an event's time, the event is due then, at any rate.
TEST(PublishPaceTest, AnEventIsDueAtItsTime) {
  for (const double rate : {0.001, 0.3, 1.0, 7.0, 999.9, 1e4, 1e6}) {
    const PublishPace pace(rate, kStart);
    for (std::uint64_t event = 0; event < 100'000; event = event * 3 + 1) {
      EXPECT_GT(pace.DueBy(pace.TimeOf(event)), event) << rate;
      EXPECT_LE(pace.DueBy(pace.TimeOf(event)), event + 2 + static_cast<std::uint64_t>(rate / 1000))
          << rate;
    }
  }
}

TEST(PublishPaceTest, NothingIsDueBeforeTheStart) {
  EXPECT_EQ(PublishPace(10, kStart).DueBy(kStart - absl::Seconds(1)), 0u);
}

TEST(PublishPaceTest, WithoutARateEverythingIsDue) {
  const PublishPace pace(0, kStart);
  EXPECT_EQ(pace.TimeOf(1'000'000), kStart);
  EXPECT_EQ(pace.DueBy(kStart), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace yard
