#include "eventlog/tensor_view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using namespace std::string_view_literals;
using testing::Bytes;
using testing::Double;
using testing::DoubleBytes;
using testing::Float;
using testing::FloatBytes;
using testing::Number;
using testing::Varint;

std::string Shape(const std::vector<std::int64_t>& dimensions) {
  std::string dims;
  for (const std::int64_t size : dimensions) {
    dims += Bytes(2, Number(1, static_cast<std::uint64_t>(size)));
  }
  return Bytes(2, dims);
}

TensorView Opened(const std::string& bytes) {
  auto view = TensorView::OfTensorFlow(bytes);
  EXPECT_TRUE(view.ok()) << view.status();
  return view.ok() ? *view : TensorView();
}

std::vector<double> NumbersOf(const TensorView& view, std::uint64_t first = 0,
                              std::uint64_t limit = 1000) {
  std::vector<double> numbers;
  view.AppendNumbers(first, limit, &numbers);
  return numbers;
}

std::vector<double> NumbersOf(const std::string& bytes) { return NumbersOf(Opened(bytes)); }

TEST(TensorViewTest, ContentIsReadInRowMajorOrder) {
  std::string content;
  for (int i = 0; i < 6; ++i) content += DoubleBytes(i);
  const std::string bytes = Number(1, 2) + Shape({2, 3}) + Bytes(4, content);
  const TensorView view = Opened(bytes);
  EXPECT_EQ(view.type(), NumberType::kFloat64);
  EXPECT_EQ(view.shape(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(view.size(), 6u);
  EXPECT_EQ(NumbersOf(view), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(NumbersOf(view, 2, 2), (std::vector<double>{2, 3}));
  EXPECT_EQ(NumbersOf(view, 5, 100), (std::vector<double>{5}));
  EXPECT_TRUE(NumbersOf(view, 6, 1).empty());
  EXPECT_TRUE(NumbersOf(view, 0, 0).empty());
  std::string copy;
  view.AppendBytes(0, 6, &copy);
  EXPECT_EQ(copy, content);
}

struct ListRow {
  int dtype;
  std::string list;  // The numbers 1 and 2: packed, and not packed.
  std::string unpacked;
};

TEST(TensorViewTest, EveryTypeIsReadFromItsListPackedOrNot) {
  const std::string varints = Varint(1) + Varint(2);
  const ListRow rows[] = {
      {1, Bytes(5, FloatBytes(1) + FloatBytes(2)), Float(5, 1) + Float(5, 2)},
      {2, Bytes(6, DoubleBytes(1) + DoubleBytes(2)), Double(6, 1) + Double(6, 2)},
      {3, Bytes(7, varints), Number(7, 1) + Number(7, 2)},
      {4, Bytes(7, varints), Number(7, 1) + Number(7, 2)},
      {5, Bytes(7, varints), Number(7, 1) + Number(7, 2)},
      {6, Bytes(7, varints), Number(7, 1) + Number(7, 2)},
      {9, Bytes(10, varints), Number(10, 1) + Number(10, 2)},
      {14, Bytes(13, Varint(0x3F80) + Varint(0x4000)), Number(13, 0x3F80) + Number(13, 0x4000)},
      {17, Bytes(7, varints), Number(7, 1) + Number(7, 2)},
      {19, Bytes(13, Varint(0x3C00) + Varint(0x4000)), Number(13, 0x3C00) + Number(13, 0x4000)},
      {22, Bytes(16, varints), Number(16, 1) + Number(16, 2)},
      {23, Bytes(17, varints), Number(17, 1) + Number(17, 2)},
      {25, Bytes(18, "\x38\x40"), Bytes(18, "\x38\x40")},
      {29, Bytes(7, varints), Number(7, 1) + Number(7, 2)},
      {101, Bytes(5, FloatBytes(1) + FloatBytes(2)), Float(5, 1) + Float(5, 2)},
  };
  const std::vector<double> expected = {1, 2};
  for (const ListRow& row : rows) {
    const std::string type = Number(1, static_cast<std::uint64_t>(row.dtype));
    EXPECT_EQ(NumbersOf(type + Shape({2}) + row.list), expected) << row.dtype;
    EXPECT_EQ(NumbersOf(type + Shape({2}) + row.unpacked), expected) << row.dtype;
  }
}

TEST(TensorViewTest, AListMayComeInPieces) {
  const std::string bytes = Number(7, 1) + Number(1, 3) + Bytes(7, Varint(2) + Varint(3)) +
                            Bytes(7, "") + Number(7, 4) + Shape({4});
  EXPECT_EQ(NumbersOf(bytes), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(NumbersOf(Opened(bytes), 2, 1), (std::vector<double>{3}));
}

TEST(TensorViewTest, OneElementFillsTheShape) {
  const std::string bytes = Number(1, 1) + Shape({2, 2}) + Float(5, 0.5F);
  EXPECT_EQ(NumbersOf(bytes), (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(NumbersOf(Opened(bytes), 3, 9), (std::vector<double>{0.5}));
}

TEST(TensorViewTest, AShortListGoesOnWithItsLastElement) {
  const std::string bytes = Number(1, 3) + Shape({5}) + Number(7, 7) + Number(7, 8);
  EXPECT_EQ(NumbersOf(bytes), (std::vector<double>{7, 8, 8, 8, 8}));
  EXPECT_EQ(NumbersOf(Opened(bytes), 1, 2), (std::vector<double>{8, 8}));
  EXPECT_EQ(NumbersOf(Opened(bytes), 4, 2), (std::vector<double>{8}));
}

TEST(TensorViewTest, SingleElementsAreReadInOnePass) {
  const std::string list =
      Number(1, 3) + Shape({6}) + Bytes(7, Varint(10) + Varint(11)) + Number(7, 12);
  const std::string content =
      Number(1, 4) + Shape({6}) + Bytes(4, std::string_view("\x0a\x0b\x0c\x0c\x0c\x0c"));
  const std::uint64_t rows[][4] = {{0, 1, 2, 3}, {1, 1, 4, 5}, {2, 5, 6, 7}, {0, 2, 4, 100}};
  const std::vector<double> expected[] = {
      {10, 11, 12, 12}, {11, 11, 12, 12}, {12, 12}, {10, 12, 12}};
  for (const std::string& bytes : {list, content}) {
    for (int i = 0; i < 4; ++i) {
      std::vector<double> numbers;
      Opened(bytes).AppendNumbersAt(rows[i], &numbers);
      EXPECT_EQ(numbers, expected[i]) << i;
    }
  }
  const std::string complex =
      Number(1, 8) + Shape({3}) + Float(9, 1) + Float(9, 2) + Float(9, 3) + Float(9, 4);
  const std::uint64_t both[] = {0, 2};
  std::vector<double> numbers;
  Opened(complex).AppendNumbersAt(both, &numbers);
  EXPECT_EQ(numbers, (std::vector<double>{1, 2, 3, 4}));
  TensorView().AppendNumbersAt(both, &numbers);
  EXPECT_EQ(numbers.size(), 4u);
}

TEST(TensorViewTest, AComplexElementIsTwoNumbers) {
  const std::string list = Float(9, 1) + Float(9, 2) + Float(9, 3) + Float(9, 4);
  const std::string bytes = Number(1, 8) + Shape({3}) + list;
  EXPECT_EQ(NumbersOf(bytes), (std::vector<double>{1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(NumbersOf(Opened(bytes), 1, 1), (std::vector<double>{3, 4}));
  EXPECT_EQ(NumbersOf(Opened(bytes), 2, 1), (std::vector<double>{3, 4}));
  const std::string content = DoubleBytes(5) + DoubleBytes(6);
  EXPECT_EQ(NumbersOf(Number(1, 18) + Bytes(4, content)), (std::vector<double>{5, 6}));
}

TEST(TensorViewTest, A64BitIntegerIsExactInItsBytes) {
  const std::uint64_t number = (std::uint64_t{1} << 53) + 1;
  const std::string bytes = Number(1, 9) + Number(10, number);
  std::string copy;
  Opened(bytes).AppendBytes(0, 1, &copy);
  EXPECT_EQ(copy, testing::LittleEndianBytes(number));
}

TEST(TensorViewTest, SomeElementsAreExactInTheirBytesToo) {
  const std::uint64_t number = (std::uint64_t{1} << 53) + 1;
  const std::string one = testing::LittleEndianBytes(number);
  const std::string two = testing::LittleEndianBytes(number + 2);
  const std::string shape = Number(1, 9) + Shape({4});
  const std::string rows[] = {
      shape + Number(10, 0) + Number(10, number) + Number(10, number + 2),
      shape + Bytes(4, testing::LittleEndianBytes(std::uint64_t{0}) + one + two + two),
  };
  for (const std::string& bytes : rows) {
    std::string copy;
    Opened(bytes).AppendBytesAt(std::vector<std::uint64_t>{1, 3, 4}, &copy);
    EXPECT_EQ(copy, one + two);
  }
}

TEST(TensorViewTest, StringsAreViews) {
  const std::string bytes =
      Number(1, 7) + Shape({3}) + Bytes(8, "a\0b"sv) + Bytes(8, "") + Bytes(8, "c");
  const TensorView view = Opened(bytes);
  EXPECT_TRUE(view.IsText());
  std::vector<std::string_view> strings;
  view.AppendStrings(0, 10, &strings);
  EXPECT_EQ(strings, (std::vector<std::string_view>{"a\0b"sv, "", "c"}));
  EXPECT_GE(strings[0].data(), bytes.data());
  EXPECT_LE(strings[0].data(), bytes.data() + bytes.size());
  strings.clear();
  view.AppendStrings(1, 1, &strings);
  EXPECT_EQ(strings, (std::vector<std::string_view>{""}));
  EXPECT_TRUE(NumbersOf(view).empty());
  const std::string filled = Number(1, 7) + Shape({2}) + Bytes(8, "x");
  strings.clear();
  Opened(filled).AppendStrings(0, 10, &strings);
  EXPECT_EQ(strings, (std::vector<std::string_view>{"x", "x"}));
}

TEST(TensorViewTest, NothingAtAllIsAnEmptyFloatTensor) {
  const TensorView view;
  EXPECT_EQ(view.shape(), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(view.type(), NumberType::kFloat32);
  EXPECT_TRUE(NumbersOf(view).empty());
  EXPECT_EQ(Opened(Number(1, 1) + Shape({0, 3})).size(), 0u);
}

TEST(TensorViewTest, StatisticsLeaveOutWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::string list = Float(5, 2) + Float(5, NAN) + Float(5, -4) + Float(5, infinity) +
                           Float(5, -infinity) + Float(5, 5);
  const auto all = Opened(Number(1, 1) + Shape({8}) + list).GetStatistics();
  EXPECT_EQ(all.finite, 5u);  // The last one also stands for the two that are missing.
  EXPECT_EQ(all.nan, 1u);
  EXPECT_EQ(all.positive_infinite, 1u);
  EXPECT_EQ(all.negative_infinite, 1u);
  EXPECT_EQ(all.min, -4);
  EXPECT_EQ(all.max, 5);
  EXPECT_EQ(all.mean, (2 - 4 + 5 + 5 + 5) / 5.0);
  const auto nothing = Opened(Number(1, 1) + Float(5, NAN)).GetStatistics();
  EXPECT_EQ(nothing.finite, 0u);
  EXPECT_EQ(nothing.nan, 1u);
  EXPECT_EQ(nothing.max, 0);
}

TEST(TensorViewTest, AHugeShapeOfOneElementCostsNothing) {
  const std::string bytes = Number(1, 1) + Shape({1 << 15, 1 << 15}) + Float(5, 3);
  const TensorView view = Opened(bytes);
  EXPECT_EQ(view.size(), std::uint64_t{1} << 30);
  EXPECT_EQ(view.GetStatistics().finite, std::uint64_t{1} << 30);
  EXPECT_EQ(NumbersOf(view, (1 << 30) - 1, 5), (std::vector<double>{3}));
}

TEST(TensorViewTest, WhatIsNoTensorIsRefused) {
  std::string deep;
  for (int i = 0; i < 255; ++i) deep += Bytes(2, Number(1, 1));
  const std::string rows[] = {
      Number(1, 1),                                               // no elements
      Number(1, 1) + Shape({2}) + Bytes(4, FloatBytes(1)),        // too few bytes
      Number(1, 1) + Bytes(4, "abc"),                             // a part of an element
      Number(1, 1) + Shape({1}) + Float(5, 1) + Float(5, 2),      // too many elements
      Number(1, 1) + Shape({-1}) + Float(5, 1),                   // unknown size
      Number(1, 1) + Bytes(2, Number(3, 1)) + Float(5, 1),        // unknown rank
      Number(1, 1) + Shape({1 << 15, 1 << 15, 2}) + Float(5, 1),  // 2^31 elements
      Number(1, 1) + Shape({std::int64_t{1} << 62, 8}) + Float(5, 1),
      Number(1, 1) + Bytes(2, deep) + Float(5, 1),  // 255 dimensions
      Number(1, 8) + Float(9, 1),                   // half a complex number
      Number(1, 20) + Bytes(14, "a resource"),
      Number(1, 21),
      Float(5, 1),                     // no type
      Number(1, 1) + Bytes(5, "abc"),  // packed, cut off
      Number(1, 3) + Bytes(7, "\xff"),
      Number(1, 3) + Double(7, 1),  // wrong wire type
      Bytes(1, "type"),
      Number(1, 7) + Number(8, 1),
      std::string(20, '\xff'),
  };
  for (const std::string& bytes : rows) {
    EXPECT_EQ(TensorView::OfTensorFlow(bytes).status().code(), absl::StatusCode::kInvalidArgument)
        << &bytes - rows;
  }
}

TEST(TensorViewTest, MindSporesTensorsAreFloatsWhateverTheirType) {
  for (const int type : {1, 2, 4, 5, 9, 10, 11, 12}) {
    const std::string bytes = Number(1, 2) + Number(1, 1) +
                              Number(2, static_cast<std::uint64_t>(type)) +
                              Bytes(3, FloatBytes(1.5F) + FloatBytes(-2));
    const auto view = TensorView::OfMindSpore(bytes);
    ASSERT_TRUE(view.ok()) << type << view.status();
    EXPECT_EQ(view->shape(), (std::vector<std::int64_t>{2, 1}));
    EXPECT_EQ(NumbersOf(*view), (std::vector<double>{1.5, -2})) << type;
  }
}

TEST(TensorViewTest, MindSporesOwnFieldsComeFirst) {
  struct Row {
    int type;
    std::string field;
    std::vector<double> numbers;
  };
  const Row rows[] = {
      {5, Bytes(5, Varint(1) + Varint(~std::uint64_t{0})), {1, -1}},
      {9, Bytes(7, Varint(1) + Varint(2)), {1, 2}},
      {4, Bytes(4, Varint(1) + Varint(~std::uint64_t{0})), {1, -1}},
      {12, Bytes(6, DoubleBytes(0.1) + DoubleBytes(2)), {0.1, 2}},
      {11, Bytes(8, FloatBytes(1) + FloatBytes(2)), {1, 2}},
      {6, Bytes(8, "\x01\xff"), {1, 255}},
  };
  for (const Row& row : rows) {
    const std::string bytes =
        Bytes(1, Varint(2)) + Number(2, static_cast<std::uint64_t>(row.type)) + row.field;
    const auto view = TensorView::OfMindSpore(bytes);
    ASSERT_TRUE(view.ok()) << row.type << view.status();
    EXPECT_EQ(NumbersOf(*view), row.numbers) << row.type;
  }
}

TEST(TensorViewTest, WhatIsNoTensorOfMindSporeIsRefused) {
  const std::string rows[] = {
      Number(1, 2) + Number(2, 11) + Bytes(8, FloatBytes(1)),
      Number(1, 2) + Number(2, 11),
      Number(2, 0) + Bytes(8, "1234"),
      Number(2, 13) + Bytes(3, FloatBytes(1)),
      Number(1, ~std::uint64_t{0}) + Number(2, 11) + Bytes(3, FloatBytes(1)),
      Bytes(2, "type"),
  };
  for (const std::string& bytes : rows) {
    EXPECT_EQ(TensorView::OfMindSpore(bytes).status().code(), absl::StatusCode::kInvalidArgument)
        << &bytes - rows;
  }
}

}  // namespace
}  // namespace eventlog
