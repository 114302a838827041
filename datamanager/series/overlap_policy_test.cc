#include "datamanager/series/overlap_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "datamanager/series/columns.h"
#include "datamanager/series/scalar_summary.h"

namespace datamanager {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr Overlap kAll[] = {Overlap::kRaw,           Overlap::kLastWrite,     Overlap::kTensorBoard,
                            Overlap::kTensorBoardV1, Overlap::kTensorBoardV2, Overlap::kRustServer,
                            Overlap::kMindInsight};

struct Event {
  enum Kind { kPoint, kVersion, kStart } kind = kPoint;
  std::int64_t step = 0;
  int tag = 0;
  std::uint32_t age = 0;
  double version = 0;
};

Event At(std::int64_t step, int tag = 0, std::uint32_t age = 0) {
  return {.kind = Event::kPoint, .step = step, .tag = tag, .age = age};
}
Event Version(double version) { return {.kind = Event::kVersion, .version = version}; }
Event Start(std::int64_t step) { return {.kind = Event::kStart, .step = step}; }

// The other readers' algorithms in few lines: they drop points when an event arrives. Returns the
// places of each tag's remaining points in the order of steps.
std::map<int, std::vector<std::uint64_t>> AsTheyDo(const std::vector<Event>& events,
                                                   Overlap policy) {
  struct Kept {
    std::int64_t step;
    std::uint32_t age;
    std::uint64_t place;
  };
  std::map<int, std::vector<Kept>> tags;
  std::map<int, std::uint64_t> counts;
  const bool v1 = policy == Overlap::kTensorBoardV1;
  const bool v2 = policy == Overlap::kTensorBoardV2;
  double version = v2 ? 2 : 0;
  std::int64_t recent = -1;
  bool started = false;
  for (const Event& event : events) {
    if (event.kind == Event::kVersion && !v1 && !v2) version = event.version;
    const auto drop = [&](std::vector<Kept>& kept, auto condition) {
      std::erase_if(kept, condition);
    };
    const auto not_before = [&](const Kept& kept) { return kept.step >= event.step; };
    const bool tensorboard = v1 || v2 || policy == Overlap::kTensorBoard;
    if (event.kind == Event::kStart && tensorboard && version >= 2) {
      if (started) {
        for (auto& [tag, kept] : tags) drop(kept, not_before);
      }
      started = true;
    }
    if (event.kind != Event::kPoint) continue;
    std::vector<Kept>& kept = tags[event.tag];
    if (tensorboard && version < 2 && event.step < recent) drop(kept, not_before);
    recent = event.step;
    if (policy == Overlap::kLastWrite) {
      drop(kept, [&](const Kept& k) { return k.step == event.step; });
    }
    if (policy == Overlap::kRustServer) drop(kept, not_before);
    if (policy == Overlap::kMindInsight) {
      drop(kept, [&](const Kept& k) {
        return k.step == event.step || (k.step > event.step && k.age < event.age);
      });
    }
    const auto behind =
        std::find_if(kept.begin(), kept.end(), [&](const Kept& k) { return k.step > event.step; });
    kept.insert(behind, Kept{event.step, event.age, counts[event.tag]++});
  }
  std::map<int, std::vector<std::uint64_t>> places;
  for (const auto& [tag, kept] : tags) {
    for (const Kept& k : kept) places[tag].push_back(k.place);
  }
  return places;
}

struct Series {
  std::vector<std::int64_t> steps;
  ScalarSummary summary;
  SeriesMarks marks;
};

class ReadRun {
 public:
  void Read(const Event& event) {
    if (event.kind == Event::kVersion) log_.FileVersion(event.version);
    if (event.kind == Event::kStart) log_.SessionStart(event.step);
    if (event.kind != Event::kPoint) return;
    log_.Summary(event.step);
    Series& series = tags_[event.tag];
    log_.Note(series.summary, event.step, event.age, &series.marks);
    series.summary.Add({event.step, 0, 0});
    series.steps.push_back(event.step);
  }
  std::map<int, std::vector<std::uint64_t>> Kept(Overlap policy) {
    std::map<int, std::vector<std::uint64_t>> places;
    for (auto& [tag, series] : tags_) {
      log_.CatchUp(series.summary, &series.marks);
      auto kept = KeptPoints(series.steps, series.marks.purges(), series.marks.parts(), policy);
      if (!kept.empty()) places[tag] = std::move(kept);
    }
    return places;
  }
  Series& tag(int number) { return tags_[number]; }
  PurgeLog& log() { return log_; }

 private:
  PurgeLog log_;
  std::map<int, Series> tags_;
};

std::vector<std::int64_t> KeptSteps(const std::vector<Event>& events, Overlap policy) {
  ReadRun run;
  for (const Event& event : events) run.Read(event);
  std::vector<std::int64_t> steps;
  const std::vector<std::uint64_t> places = run.Kept(policy)[0];
  for (const std::uint64_t place : places) steps.push_back(run.tag(0).steps[place]);
  return steps;
}

std::vector<Event> Resumed(bool start_at_first, bool start_at_second, double version) {
  std::vector<Event> events{Version(version)};
  if (start_at_first) events.push_back(Start(0));
  for (int step = 0; step < 10; ++step) events.push_back(At(step, 0, 1));
  events.push_back(Version(version));
  if (start_at_second) events.push_back(Start(5));
  for (int step = 5; step < 13; ++step) events.push_back(At(step, 0, 2));
  return events;
}

TEST(OverlapPolicyTest, AResumedRun) {
  struct Row {
    const char* name;
    bool first, second;
    double version;
    Overlap policy;
    std::size_t points;
  };
  const Row rows[] = {
      {"raw", true, true, 2, Overlap::kRaw, 18},
      {"last write", false, false, 2, Overlap::kLastWrite, 13},
      {"TensorBoard ignores the first start", false, true, 2, Overlap::kTensorBoard, 18},
      {"TensorBoard, two starts", true, true, 2, Overlap::kTensorBoard, 13},
      {"TensorBoard, no start", false, false, 2, Overlap::kTensorBoard, 18},
      {"old files need no start", false, false, 1, Overlap::kTensorBoard, 13},
      {"old files ignore starts", true, true, 1, Overlap::kTensorBoard, 13},
      {"no version is an old one", false, false, -1, Overlap::kTensorBoard, 13},
      {"V1 whatever the version", false, false, 2, Overlap::kTensorBoardV1, 13},
      {"V2 whatever the version", true, true, 1, Overlap::kTensorBoardV2, 13},
      {"V2 without starts", false, false, 1, Overlap::kTensorBoardV2, 18},
      {"the Rust server", false, false, 2, Overlap::kRustServer, 13},
      {"MindInsight", false, false, 2, Overlap::kMindInsight, 13},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(KeptSteps(Resumed(row.first, row.second, row.version), row.policy).size(), row.points)
        << row.name;
  }
}

TEST(OverlapPolicyTest, WhereTheyDiffer) {
  struct Row {
    const char* name;
    std::vector<Event> events;
    Overlap policy;
    std::vector<std::int64_t> steps;
  };
  const std::vector<Event> always_zero{At(0), At(0), At(0)};
  const std::vector<Event> one_late{At(1), At(2), At(3), At(1)};
  const std::vector<Event> cut{Version(2), Start(0), At(1), At(2), At(3), Start(2)};
  const std::vector<Event> other_tag_ahead{At(4), At(9, 1), At(5)};
  const std::vector<Event> highest{At(kLow), At(kHigh), At(kHigh - 1), At(kHigh)};
  const Row rows[] = {
      {"a tag always at step 0 keeps one point there", always_zero, Overlap::kRustServer, {0}},
      {"and all here", always_zero, Overlap::kTensorBoard, {0, 0, 0}},
      {"a late point drops all after it there", one_late, Overlap::kRustServer, {1}},
      {"and its own step only", one_late, Overlap::kLastWrite, {1, 2, 3}},
      {"larger steps of the same file stay", one_late, Overlap::kMindInsight, {1, 2, 3}},
      {"a restart purges before a new point comes", cut, Overlap::kTensorBoard, {1}},
      {"what another tag has reached purges nothing",
       other_tag_ahead,
       Overlap::kTensorBoard,
       {4, 5}},
      {"the ends of the range", highest, Overlap::kTensorBoardV1, {kLow, kHigh - 1, kHigh}},
      {"the ends of the range there", highest, Overlap::kRustServer, {kLow, kHigh - 1, kHigh}},
      {"nothing", {}, Overlap::kTensorBoard, {}},
  };
  for (const Row& row : rows) EXPECT_EQ(KeptSteps(row.events, row.policy), row.steps) << row.name;
}

TEST(OverlapPolicyTest, AnyEventsAsTheReadersThemselvesDo) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    ReadRun run;
    std::vector<Event> events;
    const int length = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < length; ++i) {
      Event event = At(static_cast<std::int64_t>(random() % 12), static_cast<int>(random() % 3),
                       random() % 3);
      const auto kind = random() % 12;
      if (kind == 0) event = Start(event.step);
      if (kind == 1) event = Version(static_cast<double>(random() % 4) - 1);
      events.push_back(event);
      run.Read(event);
      // Queries in between change nothing.
      if (random() % 8 == 0) run.Kept(Overlap::kTensorBoard);
    }
    for (const Overlap policy : kAll) {
      auto want = AsTheyDo(events, policy);
      std::erase_if(want, [](const auto& tag) { return tag.second.empty(); });
      ASSERT_EQ(run.Kept(policy), want)
          << "round " << round << " policy " << static_cast<int>(policy);
    }
  }
}

TEST(OverlapPolicyTest, ASeriesThatOnlyRisesHasNoMarks) {
  ReadRun run;
  run.Read(Version(2));
  for (int i = 0; i < 1000; ++i) {
    if (i % 100 == 0) run.Read(Start(i));
    run.Read(At(i, i % 2));
  }
  run.Kept(Overlap::kTensorBoard);
  EXPECT_EQ(run.tag(0).marks.Bytes(), 0u);
  EXPECT_LE(sizeof(SeriesMarks), 16u);
}

TEST(OverlapPolicyTest, RestartsThatLaterOnesHideAreForgotten) {
  PurgeLog log;
  log.FileVersion(2);
  for (int i = 0; i < 100'000; ++i) log.SessionStart(1000 - i % 1000);
  EXPECT_LE(log.state().all.size(), 2u);
  EXPECT_EQ(log.state().restarts, 99'999u);
}

// Reads one file in two parts, like two threads.
TEST(OverlapPolicyTest, TheSecondPartOfAFileIsJoinedOrFollowedAnew) {
  std::mt19937 random(5);
  int joined = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Event> events{Version(2)};
    std::int64_t step = 0;
    if (random() % 2 == 0) events.push_back(At(step, 0, 1));
    const std::size_t other_file = events.size();
    for (int i = 0; i < 20; ++i) {
      step += static_cast<std::int64_t>(random() % 3);
      if (random() % 40 == 0) step -= 5;
      events.push_back(random() % 30 == 0 ? Start(step) : At(step, 0, 2));
    }
    const std::size_t cut = other_file + random() % (events.size() - other_file);
    ReadRun whole;
    for (const Event& event : events) whole.Read(event);
    ReadRun first, second;
    second.log() = PurgeLog::ForSecondPart();
    for (std::size_t i = 0; i < events.size(); ++i) (i < cut ? first : second).Read(events[i]);
    if (second.tag(0).steps.empty()) continue;
    if (!first.log().Append(second.log())) continue;
    ++joined;
    Series& series = first.tag(0);
    ASSERT_EQ(second.tag(0).marks.Bytes(), 0u);
    first.log().NoteSecondPart(series.summary, 2, &series.marks);
    series.summary.Append(second.tag(0).summary);
    for (const std::int64_t more : second.tag(0).steps) series.steps.push_back(more);
    // The result continues like the whole.
    for (const Event& event : {At(step - 3, 0, 1), Start(step - 4), At(step, 0, 2)}) {
      first.Read(event);
      whole.Read(event);
    }
    EXPECT_EQ(first.log().state(), whole.log().state());
    EXPECT_EQ(series.summary.points, whole.tag(0).summary.points);
    EXPECT_EQ(series.summary.last_step, whole.tag(0).summary.last_step);
    for (const Overlap policy : kAll) ASSERT_EQ(first.Kept(policy), whole.Kept(policy));
  }
  EXPECT_GT(joined, 500);
}

TEST(OverlapPolicyTest, SummariesAreJoined) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Point> points{{5, 1, nan}, {9, 2, 3}, {2, 3, -1}, {7, 4, nan}, {7, 5, 8}};
  for (std::size_t cut = 0; cut <= points.size(); ++cut) {
    ScalarSummary whole, first, second;
    for (std::size_t i = 0; i < points.size(); ++i) {
      whole.Add(points[i]);
      (i < cut ? first : second).Add(points[i]);
    }
    first.Append(second);
    EXPECT_EQ(first.points, 5u);
    EXPECT_EQ(first.first_step, 2);
    EXPECT_EQ(first.last_step, 9);
    EXPECT_EQ(first.first_time, 1);
    EXPECT_EQ(first.last_time, 5);
    EXPECT_EQ(first.last, 3) << "the value of the largest step";
    EXPECT_EQ(first.last_at, 2);
    EXPECT_EQ(whole.last, 3);
    EXPECT_EQ(first.min, -1);
    EXPECT_EQ(first.max, 8);
    EXPECT_EQ(first.not_finite, 2u);
    EXPECT_EQ(whole.not_finite, 2u);
  }
}

TEST(OverlapPolicyTest, TheLastOfAStepIsThatOfTheLatestTimeInWhicheverOrderTheyCome) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Point> points{{1, 7, 10},   {2, 5, 20},  {2, 9, 21},
                            {2, nan, 22}, {2, -3, 23}, {0, 99, 0}};
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.value < b.value; });
  do {
    ScalarSummary summary;
    std::vector<std::int64_t> steps;
    std::vector<double> times;
    for (const Point& point : points) {
      summary.Add(point);
      steps.push_back(point.step);
      times.push_back(point.wall_time);
    }
    ASSERT_EQ(summary.last, 21);
    ASSERT_EQ(summary.last_at, 9);
    ASSERT_EQ(summary.first_time, -3);
    ASSERT_EQ(summary.last_time, 99);
    std::vector<double> kept;
    for (const std::uint64_t place : KeptPoints(steps, {}, {}, Overlap::kLastWrite, times)) {
      kept.push_back(points[place].value);
    }
    ASSERT_EQ(kept, (std::vector<double>{0, 10, 21}));
  } while (std::next_permutation(points.begin(), points.end(),
                                 [](const Point& a, const Point& b) { return a.value < b.value; }));
  ScalarSummary timeless;
  timeless.Add({1, nan, 1});
  timeless.Add({1, nan, 2});
  EXPECT_EQ(timeless.last, 2) << "of equal ones the last in file order";
  timeless.Add({3, 5, 3});
  timeless.Add({4, 7, 4});
  EXPECT_EQ(timeless.first_time, 5) << "whatever was NaN before";
}

TEST(OverlapPolicyTest, GoesOnFromItsState) {
  const std::vector<Event> events = Resumed(true, true, 2);
  for (std::size_t cut = 0; cut <= events.size(); ++cut) {
    ReadRun run;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (i == cut) run.log() = PurgeLog(run.log().state());
      run.Read(events[i]);
    }
    EXPECT_EQ(run.Kept(Overlap::kTensorBoard)[0].size(), 13u) << cut;
  }
}

}  // namespace
}  // namespace datamanager
