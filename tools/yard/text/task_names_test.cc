#include "tools/yard/text/task_names.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(TaskNamesTest, RowsOfThreeAndMoreAreRanges) {
  const struct {
    std::vector<std::string> tasks;
    std::string names;
  } kCases[] = {
      {{}, ""},
      {{"j-abcde/worker-0"}, "worker-0"},
      {{"j-abcde/worker-1", "j-abcde/worker-0"}, "worker-0,1"},
      {{"worker-2", "worker-0", "worker-1"}, "worker-0..2"},
      {{"worker-0", "worker-2", "worker-3"}, "worker-0,2,3"},
      {{"w-0", "w-1", "w-2", "w-4", "w-6", "w-7", "w-8", "w-8"}, "w-0..2,4,6..8"},
      {{"w-9", "w-10", "w-11"}, "w-9..11"},
      {{"worker-0", "chief-0", "ps-0", "ps-1", "ps-2"}, "chief-0, ps-0..2, worker-0"},
      {{"data-reader-1", "data-reader-0"}, "data-reader-0,1"},
      {{"odd", "w-x"}, "odd, w-x"},
  };
  for (const auto& [tasks, names] : kCases) EXPECT_EQ(TaskNames(tasks), names);
}

TEST(TaskNamesTest, ATasksNameIsWhatIsBehindTheJob) {
  EXPECT_EQ(TaskName("j-abcde/worker-0"), "worker-0");
  EXPECT_EQ(TaskName("worker-0"), "worker-0");
}

}  // namespace
}  // namespace yard
