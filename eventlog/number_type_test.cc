#include "eventlog/number_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace eventlog {
namespace {

// The expected values are those of ml_dtypes (testing/write_small_floats.py).
TEST(NumberTypeTest, EveryByteOfASmallTypeIsItsNumber) {
  std::map<std::string, NumberType> by_name;
  for (int dtype = 1; dtype < 40; ++dtype) {
    const NumberType type = NumberTypeOfTensorFlow(dtype);
    by_name[std::string(NameOf(type))] = type;
  }
  std::ifstream golden("eventlog/testing/golden/small_floats.txt");
  std::string name, value;
  int byte = 0, rows = 0;
  while (golden >> name >> byte >> value) {
    ASSERT_EQ(by_name.count(name), 1u) << name;
    const double expected = std::strtod(value.c_str(), nullptr);
    const double number = NumberOf(by_name[name], static_cast<std::uint64_t>(byte));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(number)) << name << " " << byte;
    } else {
      EXPECT_EQ(number, expected) << name << " " << byte;
      EXPECT_EQ(std::signbit(number), std::signbit(expected)) << name << " " << byte;
    }
    ++rows;
  }
  EXPECT_EQ(rows, 1336);
}

TEST(NumberTypeTest, AReferenceIsWhatItRefersTo) {
  for (int dtype = 1; dtype < 34; ++dtype) {
    EXPECT_EQ(NumberTypeOfTensorFlow(100 + dtype), NumberTypeOfTensorFlow(dtype)) << dtype;
  }
  EXPECT_EQ(NumberTypeOfTensorFlow(101), NumberType::kFloat32);
}

TEST(NumberTypeTest, AQuantisedIntegerIsItsInteger) {
  EXPECT_EQ(NumberTypeOfTensorFlow(11), NumberType::kInt8);
  EXPECT_EQ(NumberTypeOfTensorFlow(12), NumberType::kUint8);
  EXPECT_EQ(NumberTypeOfTensorFlow(13), NumberType::kInt32);
  EXPECT_EQ(NumberTypeOfTensorFlow(15), NumberType::kInt16);
  EXPECT_EQ(NumberTypeOfTensorFlow(16), NumberType::kUint16);
}

TEST(NumberTypeTest, WhatNobodyKnowsIsUnknown) {
  for (const int dtype :
       {-2147483647 - 1, -1, 0, 20, 21, 34, 99, 100, 120, 134, 1000, 2147483647}) {
    EXPECT_EQ(NumberTypeOfTensorFlow(dtype), NumberType::kUnknown) << dtype;
  }
  for (const int type : {-1, 0, 14, 16, 34, 42, 1000}) {
    EXPECT_EQ(NumberTypeOfMindSpore(type), NumberType::kUnknown) << type;
  }
}

TEST(NumberTypeTest, TheTwoFormatsNumberTheTypesDifferently) {
  EXPECT_EQ(NumberTypeOfMindSpore(1), NumberType::kBool);
  EXPECT_EQ(NumberTypeOfTensorFlow(1), NumberType::kFloat32);
  EXPECT_EQ(NumberTypeOfMindSpore(11), NumberType::kFloat32);
  EXPECT_EQ(NumberTypeOfMindSpore(12), NumberType::kFloat64);
  EXPECT_EQ(NumberTypeOfMindSpore(5), NumberType::kInt64);
  EXPECT_EQ(NumberTypeOfMindSpore(10), NumberType::kFloat16);
}

TEST(NumberTypeTest, EachTypeHasItsNumberAndTheWidthOfItsElements) {
  for (int dtype = 1; dtype < 34; ++dtype) {
    const NumberType type = NumberTypeOfTensorFlow(dtype);
    const bool quantised = dtype >= 11 && dtype <= 16 && dtype != 14;
    if (type == NumberType::kUnknown || quantised) continue;
    EXPECT_EQ(TensorFlowNumber(type), dtype);
    EXPECT_NE(TensorFlowListField(type), 0u) << dtype;
    if (type == NumberType::kString) continue;
    EXPECT_GT(BytesOfComponent(type), 0u) << dtype;
    EXPECT_EQ(ComponentsOf(type), IsComplex(type) ? 2 : 1) << dtype;
  }
  EXPECT_EQ(BytesOfComponent(NumberType::kComplex128), 8u);
  EXPECT_EQ(ComponentsOf(NumberType::kString), 0);
}

}  // namespace
}  // namespace eventlog
