#include "trainer/table/trial_news.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/report/result_row.h"
#include "trainer/testing/table_fixture.h"
#include "trainer/trial/trial.h"

namespace trainer {
namespace {

using msg::TrialState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kReport[] = R"({"t":"report","m":{"loss":1}})";

class TrialNewsTest : public TableFixture {
 protected:
  // Records "row 1" or "state" for each call of an observer.
  void Observe(const std::string& id) {
    On([&] {
      observer_ = news_->Observe(id, [this](const ResultRow* row) {
        heard_.push_back(row == nullptr ? "state" : absl::StrCat("row ", row->row));
      });
    });
  }

  std::uint64_t observer_ = 0;
  std::vector<std::string> heard_;
};

TEST_F(TrialNewsTest, RowsAreInTheFilesWhenTheyAreTold) {
  const Trial& trial = Add("t-1", TrialState::Running);
  Observe("t-1");
  Say(trial, 1, {kReport, kReport});
  EXPECT_THAT(heard_, ElementsAre("row 1", "row 2"));
  EXPECT_THAT(runtime::ReadFile(directory_ + "/t-1/result.json", 1 << 20).value_or(""),
              HasSubstr("loss"));
  ASSERT_EQ(events_.size(), 1u) << "both rows are in it";
  EXPECT_EQ(events_.back().trial->id, "t-1");
}

TEST_F(TrialNewsTest, AChangeOfStateComesBehindTheRowsBeforeIt) {
  Trial& trial = Add("t-1", TrialState::Running);
  Observe("t-1");
  Say(trial, 1, {kReport});
  clock_.Advance(absl::Seconds(5));
  On([&] { news_->Announce(trial); });
  EXPECT_THAT(heard_, ElementsAre("row 1", "state"));
  EXPECT_EQ(trial.changed_us, absl::ToUnixMicros(clock_.Now()));
}

TEST_F(TrialNewsTest, AnObserverHearsOfItsTrialUntilItIsForgotten) {
  Trial& trial = Add("t-1", TrialState::Running);
  Trial& other = Add("t-2", TrialState::Running);
  Observe("t-1");
  On([&] { news_->Announce(other); });
  EXPECT_TRUE(heard_.empty());
  On([&] {
    news_->Forget(observer_);
    news_->Announce(trial);
  });
  EXPECT_TRUE(heard_.empty());
  EXPECT_EQ(events_.size(), 2u);
}

}  // namespace
}  // namespace trainer
