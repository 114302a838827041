#include "datamanager/find/profiler_directory.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace datamanager {
namespace {

TEST(ProfilerDirectoryTest, IsKnownByTheBeginningOfItsName) {
  for (const char* name : {"profiler", "profiler-20200602", "profiler_0"}) {
    EXPECT_TRUE(MayBeProfilerDirectory(name)) << name;
  }
  for (const char* name : {"", "my_profiler", "Profiler", "profile", "plugins"}) {
    EXPECT_FALSE(MayBeProfilerDirectory(name)) << name;
  }
}

struct Row {
  std::vector<std::string> files;
  std::string type;  // Empty: no type.
};

TEST(ProfilerDirectoryTest, EachRowOfTheTableHolds) {
  const Row rows[] = {
      {{}, ""},
      {{"ascend_timeline_display_0.json"}, "ascend"},
      {{"timeline_display_12.json"}, "ascend"},
      {{"output_op_compute_time_3.txt"}, "ascend"},
      {{"gpu_op_detail_info_0.csv"}, "gpu"},
      {{"gpu_activity_data_1.csv"}, "gpu"},
      {{"gpu_op_type_info_1.csv"}, "gpu"},
      {{"cpu_op_detail_info_0.csv"}, "cpu"},
      {{"cpu_op_type_info_0.csv"}, "cpu"},
      {{"cpu_op_type_info_0"}, "cpu"},
      {{"cpu_op_type_info_0.csv", "gpu_op_type_info_0.csv"}, "gpu"},
      {{"gpu_op_type_info_0.csv", "output_op_compute_time_0.txt", "cpu_op_type_info_0.csv"},
       "ascend"},
      {{"profiler_info_0.json", "gpu_op_type_info_0.csv"}, "gpu"},
      {{"profiler_info_0.json"}, ""},
      {{"step_trace_raw_0_detail_time.csv"}, ""},
      {{"gpu_op_type_info.csv"}, ""},
      {{"gpu_op_type_info_x.csv"}, ""},
      {{"gpu_op_type_info_.csv"}, ""},
      {{"gpu_op_type_info_0a.csv"}, ""},
      {{"my_gpu_op_type_info_0.csv"}, ""},
      {{"_0", "0", "_", "", "readme.txt"}, ""},
  };
  for (const Row& row : rows) {
    const auto type = FindProfiler(row.files);
    EXPECT_EQ(type.has_value() ? std::string(ProfilerTypeName(*type)) : "", row.type)
        << (row.files.empty() ? "no files" : row.files.front());
  }
}

TEST(ProfilerDirectoryTest, ASessionOfTensorBoardsPluginIsKnownByItsPlace) {
  for (const char* path : {"plugins/profile/a", "/logs/run/plugins/profile/2021_07_25_10_36_13"}) {
    EXPECT_TRUE(IsProfilerSession(path)) << path;
  }
  for (const char* path : {"", "/", "profile/a", "/plugins/profile", "/myplugins/profile/a",
                           "/plugins/profile/a/b", "/plugins/profiles/a"}) {
    EXPECT_FALSE(IsProfilerSession(path)) << path;
  }
  EXPECT_EQ(ProfilerTypeName(ProfilerType::kTensorBoard), "tensorboard");
}

}  // namespace
}  // namespace datamanager
