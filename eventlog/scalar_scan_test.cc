#include "eventlog/scalar_scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eventlog/event.h"
#include "eventlog/file_faults.h"
#include "eventlog/record.h"
#include "eventlog/record_scan.h"
#include "eventlog/tag_table.h"

namespace eventlog {
namespace {

std::string Framed(std::string_view payload) {
  std::string record;
  AppendRecord(payload, &record);
  return record;
}
std::string Row(std::int64_t step, std::vector<Scalar> scalars, double wall_time = 1) {
  return RenderScalars(wall_time, step, scalars);
}
// Returns an event of 9 bytes of wall time and a summary of one value.
std::string OneValue(const std::string& value, const std::string& before = "") {
  std::string payload = std::string("\x09\0\0\0\0\0\0\xF0\x3F", 9) + before + "\x2A";
  payload += static_cast<char>(value.size() + 2);
  payload += '\x0A';
  payload += static_cast<char>(value.size());
  return Framed(payload + value);
}

struct Point {
  TagTable::Id tag;
  std::int64_t step;
  double value;
  friend bool operator==(const Point&, const Point&) = default;
};

class ScalarScanTest : public testing::Test {
 protected:
  template <typename OnEvent>
  void Read(std::string_view file, OnEvent on_event) {
    RecordPosition position;
    scan_.Read({file, file.size()}, {}, &position, &faults_, on_event);
    EXPECT_EQ(position.offset, file.size());
  }
  std::vector<Point> Points(std::string_view file) {
    std::vector<Point> points;
    Read(file, [&](const ScannedEvent& scanned) {
      const auto& values = scanned.event().values;
      ASSERT_EQ(values.size(), scanned.tags().size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].scalar.has_value()) {
          points.push_back({scanned.tags()[i], scanned.event().step, *values[i].scalar});
        }
      }
    });
    return points;
  }

  TagTable tags_;
  ScalarScan scan_{&tags_};
  FileFaults faults_;
};

TEST_F(ScalarScanTest, GivesEveryScalarWithTheNumberOfItsTag) {
  const auto points =
      Points(RenderFileHeader(1) + Row(0, {{"loss", 3}, {"lr", 0.5}}) + Row(1, {{"loss", 2}}) +
             Row(-7, {{"loss", 1}}) + Row(2, {{"accuracy", 0.25}, {"loss", 0}}));
  EXPECT_EQ(points, (std::vector<Point>{
                        {0, 0, 3}, {1, 0, 0.5}, {0, 1, 2}, {0, -7, 1}, {2, 2, 0.25}, {0, 2, 0}}));
  EXPECT_EQ(tags_.name(0), "loss");
  EXPECT_EQ(tags_.name(2), "accuracy");
  EXPECT_EQ(scan_.events(), 5u);
  EXPECT_TRUE(faults_.empty());
}

TEST_F(ScalarScanTest, TellsWhereInTheFileEverythingIs) {
  const std::string image = OneValue(
      "\x0A\x01i\x22\x06\x22\x04"
      "data");
  const std::string file = RenderFileHeader(1) + image + Row(1, {{"loss", 1}}) + image;
  std::vector<std::uint64_t> records, images;
  Read(file, [&](const ScannedEvent& scanned) {
    records.push_back(scanned.record_offset());
    for (const SummaryValue& value : scanned.event().values) {
      EXPECT_EQ(std::string_view(file).substr(scanned.OffsetOf(value.tag), value.tag.size()),
                value.tag);
      if (value.kind == ValueKind::kImage) images.push_back(scanned.OffsetOf(value.bytes));
    }
  });
  const std::uint64_t first = 40, second = file.size() - image.size();
  EXPECT_EQ(records, (std::vector<std::uint64_t>{0, first, first + image.size(), second}));
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(file.substr(images[0], 6),
            "\x22\x04"
            "data");
  EXPECT_EQ(images[1] - images[0], second - first);
}

TEST_F(ScalarScanTest, EachFaultIsCountedAndCostsNoMoreThanItself) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::string value =
      "\x0A\x01"
      "a\x15" +
      std::string(4, '\0');
  struct Case {
    std::string name, record;
    std::size_t events, points;
    std::vector<std::pair<FaultKind, std::uint64_t>> faults;
  };
  const Case cases[] = {
      {"nothing wrong", Row(1, {{"x", 1}}), 1, 1, {}},
      {"an empty payload", Framed(""), 1, 0, {{FaultKind::kEmptyPayload, 1}}},
      {"no event", Framed("\x09not eight"), 0, 0, {{FaultKind::kNotAnEvent, 1}}},
      {"a wall time that is NaN", Row(1, {{"x", 1}}, nan), 1, 1, {{FaultKind::kBadWallTime, 1}}},
      {"an infinite one", Row(1, {{"x", 1}}, -infinity), 1, 1, {{FaultKind::kBadWallTime, 1}}},
      {"an unknown field", OneValue(value, "\x78\x01"), 1, 1, {{FaultKind::kUnknownField, 1}}},
      {"one in a value", OneValue(value + "\x78\x01"), 1, 1, {{FaultKind::kUnknownField, 1}}},
      {"a field of the first versions", OneValue(value + "\x3A\x01n"), 1, 1, {}},
      {"a long tag",
       Row(1, {{std::string(TagTable::kMaxTagBytes + 1, 'x'), 1}, {"x", 1}}),
       1,
       2,
       {{FaultKind::kTagTooLong, 1}}},
  };
  for (const Case& c : cases) {
    faults_ = {};
    const std::uint64_t before = scan_.events();
    const std::string good = Row(5, {{"loss", 5}});
    const auto points = Points(good + c.record + good);
    EXPECT_EQ(scan_.events() - before, c.events + 2) << c.name;
    EXPECT_EQ(points.size(), c.points + 2) << c.name;
    std::vector<std::pair<FaultKind, std::uint64_t>> faults;
    for (const Fault& fault : faults_.all()) {
      faults.emplace_back(fault.kind, fault.count);
      EXPECT_EQ(fault.first_offset, good.size()) << c.name;
    }
    EXPECT_EQ(faults, c.faults) << c.name;
  }
}

TEST_F(ScalarScanTest, ALargeEventComesWhole) {
  std::vector<Scalar> scalars(20'000, Scalar{"x", 1});
  EXPECT_EQ(Points(Row(1, scalars) + Row(2, {{"x", 2}})).size(), 20'001u);
}

}  // namespace
}  // namespace eventlog
