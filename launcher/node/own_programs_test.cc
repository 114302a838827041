#include "launcher/node/own_programs.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

TEST(OwnProgramsTest, AllPagesOfThisProgramAreRead) {
  // (More than the loader alone has.)
  EXPECT_GT(LoadOwnProgram(), std::size_t{1} << 20);
}

TEST(OwnProgramsTest, ACopyIsExecuted) {
  const std::string folder = testing::TempDir() + "/own_programs_test";
  std::filesystem::create_directories(folder);
  const auto copy = CopyProgram("/bin/true", folder);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(*copy, folder + "/true");
  EXPECT_EQ(system(copy->c_str()), 0);
  EXPECT_EQ(runtime::ReadFile(*copy, 1 << 26).value(),
            runtime::ReadFile("/bin/true", 1 << 26).value());
}

TEST(OwnProgramsTest, WhatCannotBeCopiedIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(CopyProgram("/no/such", testing::TempDir()).status()));
  EXPECT_FALSE(CopyProgram("/bin/true", "/proc/self").ok());
  // A directory in which programs may not be executable.
  if (std::filesystem::exists("/dev/shm")) {
    const auto copy = CopyProgram("/bin/true", "/dev/shm");
    EXPECT_TRUE(copy.ok() || absl::IsFailedPrecondition(copy.status())) << copy.status();
    std::filesystem::remove("/dev/shm/true");
  }
}

}  // namespace
}  // namespace launcher
