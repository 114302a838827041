#include "eventlog/tensor_slice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "eventlog/tensor_view.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace eventlog {
namespace {

using testing::Bytes;
using testing::Number;
using Shape = std::vector<std::int64_t>;

// Returns a tensor of that shape in which each element is its own index.
std::string Counting(const Shape& shape) {
  std::string dims, list;
  std::int64_t size = 1;
  for (const std::int64_t dimension : shape) {
    dims += Bytes(2, Number(1, static_cast<std::uint64_t>(dimension)));
    size *= dimension;
  }
  for (std::int64_t i = 0; i < size; ++i) list += testing::Varint(static_cast<std::uint64_t>(i));
  return Number(1, 3) + Bytes(2, dims) + Bytes(7, list);
}

struct Row {
  const char* slice;
  Shape shape;
  std::vector<double> numbers;
};

TEST(TensorSliceTest, ASliceIsCutAsNumPyCutsIt) {
  // numpy.arange(24).reshape(2, 3, 4)
  const Shape shape = {2, 3, 4};
  const std::string bytes = Counting(shape);
  const auto tensor = TensorView::OfTensorFlow(bytes);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  const Row rows[] = {
      {"[1, 2, 3]", {}, {23}},
      {"1,2,3", {}, {23}},
      {" [ -1 , -1 , -1 ] ", {}, {23}},
      {"[0, 0]", {4}, {0, 1, 2, 3}},
      {"[0, :, 1:3]", {3, 2}, {1, 2, 5, 6, 9, 10}},
      {"[:, 1, 0]", {2}, {4, 16}},
      {"[..., 0]", {2, 3}, {0, 4, 8, 12, 16, 20}},
      {"[1, ..., 0]", {3}, {12, 16, 20}},
      {"[0, 0, ..., 0]", {}, {0}},
      {"[1, 0, ::2]", {2}, {12, 14}},
      {"[1, 0, 1::2]", {2}, {13, 15}},
      {"[1, 0, :-1]", {3}, {12, 13, 14}},
      {"[1, 0, -2:]", {2}, {14, 15}},
      {"[1, 0, -100:100]", {4}, {12, 13, 14, 15}},
      {"[1, 0, ::100]", {1}, {12}},
      {"[1, 0, 3:1]", {0}, {}},
      {"[1, 0, 9:]", {0}, {}},
      {"[0, 0, 9223372036854775807:]", {0}, {}},
      {"[0, 0, -9223372036854775808::9223372036854775807]", {1}, {0}},
      {"[1, 1:]", {2, 4}, {16, 17, 18, 19, 20, 21, 22, 23}},
  };
  for (const Row& row : rows) {
    const auto slice = ParseTensorSlice(row.slice, shape);
    ASSERT_TRUE(slice.ok()) << slice.status();
    EXPECT_EQ(slice->shape, row.shape) << row.slice;
    EXPECT_EQ(slice->size, row.numbers.size()) << row.slice;
    std::vector<double> numbers;
    AppendSlice(*tensor, *slice, 1000, &numbers);
    EXPECT_EQ(numbers, row.numbers) << row.slice;
  }
  for (const char* all : {"", "[]", "...", "[:, :, :]", ":"}) {
    const auto slice = ParseTensorSlice(all, shape);
    ASSERT_TRUE(slice.ok()) << slice.status();
    EXPECT_EQ(slice->shape, shape) << all;
    EXPECT_EQ(slice->size, 24u);
  }
}

TEST(TensorSliceTest, TheLimitCutsIt) {
  const std::string bytes = Counting({2, 3});
  const auto tensor = TensorView::OfTensorFlow(bytes);
  ASSERT_TRUE(tensor.ok());
  const auto slice = ParseTensorSlice("[:, 1:]", {2, 3});
  std::vector<double> numbers;
  AppendSlice(*tensor, *slice, 3, &numbers);
  EXPECT_EQ(numbers, (std::vector<double>{1, 2, 4}));
  // A slice that was parsed for another tensor yields no numbers.
  AppendSlice(TensorView(), *slice, 3, &numbers);
  EXPECT_EQ(numbers.size(), 3u);
}

TEST(TensorSliceTest, ASingleNumberHasOneSlice) {
  const std::string bytes = Number(1, 3) + Number(7, 5);
  const auto tensor = TensorView::OfTensorFlow(bytes);
  ASSERT_TRUE(tensor.ok());
  const auto slice = ParseTensorSlice("...", {});
  ASSERT_TRUE(slice.ok());
  std::vector<double> numbers;
  AppendSlice(*tensor, *slice, 3, &numbers);
  EXPECT_EQ(numbers, (std::vector<double>{5}));
  EXPECT_FALSE(ParseTensorSlice("0", {}).ok());
}

TEST(TensorSliceTest, WhatIsNoSliceIsRefusedByItsItem) {
  struct Bad {
    std::string slice;
    const char* why;
  };
  const Bad rows[] = {
      {"[2]", "\"2\" is outside of a dimension of 2"},
      {"[-3]", "\"-3\" is outside"},
      {"[0, 0, 0]", "names 3 dimensions of 2"},
      {"[0, 0, 0, ...]", "names 3 dimensions"},
      {"[..., ...]", "more than once"},
      {"[x]", "\"x\" is neither"},
      {"[0 0]", "\"0 0\" is neither"},
      {"[,]", "\"\" is neither"},
      {"[1:2:3:4]", "is no range"},
      {"[a:]", "is no range"},
      {"[::-1]", "not positive"},
      {"[::0]", "not positive"},
      {"[::99999999999999999999]", "is no range"},
      {"[0", "one bracket"},
      {"0]", "one bracket"},
      {"[", "one bracket"},
      {"]", "one bracket"},
      {std::string(5000, ' '), "4,096"},
  };
  for (const Bad& row : rows) {
    const auto slice = ParseTensorSlice(row.slice, {2, 3});
    EXPECT_EQ(slice.status().code(), absl::StatusCode::kInvalidArgument) << row.slice;
    EXPECT_NE(slice.status().ToString().find(row.why), std::string::npos) << slice.status();
  }
}

}  // namespace
}  // namespace eventlog
