#include "bus/call/stored_table.h"

#include <gtest/gtest.h>

#include <string>

#include "bus/schema/launcher_generated.h"

namespace bus {
namespace {

std::string Stored(const char* identifier = nullptr) {
  msg::FailureT failure;
  failure.reason = "exit code 1";
  failure.last_lines = {"one", "two"};
  return EncodeStored<msg::Failure>(failure, identifier);
}

TEST(StoredTableTest, ComesBackWhereverItsBytesAre) {
  for (std::size_t shift = 0; shift < 8; ++shift) {
    const std::string bytes = std::string(shift, 'x') + Stored();
    const auto back = DecodeStored<msg::Failure>(std::string_view(bytes).substr(shift));
    ASSERT_NE(back, nullptr) << shift;
    EXPECT_EQ(back->reason, "exit code 1");
    EXPECT_EQ(back->last_lines.size(), 2u);
  }
}

TEST(StoredTableTest, WhatIsCutOffIsNone) {
  const std::string bytes = Stored();
  for (std::size_t size = 0; size + 4 < bytes.size(); ++size) {
    EXPECT_EQ(DecodeStored<msg::Failure>(std::string_view(bytes).substr(0, size)), nullptr) << size;
  }
}

TEST(StoredTableTest, WhatHasAnotherIdentifierIsNone) {
  EXPECT_NE(DecodeStored<msg::Failure>(Stored("YFLR"), "YFLR"), nullptr);
  EXPECT_EQ(DecodeStored<msg::Failure>(Stored("YFLR"), "YJOB"), nullptr);
  EXPECT_EQ(DecodeStored<msg::Failure>(Stored(), "YJOB"), nullptr);
}

}  // namespace
}  // namespace bus
