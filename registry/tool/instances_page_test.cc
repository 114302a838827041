// Makes the calls that docs/instances.md shows (tools/test --check=pages compares them).

#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "registry/info/cache_key.h"
#include "registry/info/info_directory.h"
#include "registry/info/instance_info.h"
#include "registry/tool/tool_environment.h"

namespace registry {
namespace {

using ::testing::SizeIs;

TEST(InstancesPageTest, ItsCallsDoWhatItsCommentsSay) {
  std::string made = absl::StrCat(::testing::TempDir(), "/page-XXXXXX");
  const std::string working_directory = mkdtemp(made.data());
  const std::vector<std::string> environment = {"TMPDIR=" + working_directory};
  const std::vector<std::string> arguments = {"--port=0"};
  const std::string tool_version = "2.20.0";
  const registry::InfoDirectory directory(
      registry::TemporaryDirectory(environment, working_directory));
  auto key = registry::CacheKey(working_directory, arguments);
  ASSERT_TRUE(key.ok()) << key.status();
  const InstanceInfo info = {.version = tool_version,
                             .start_time = 1548973541,
                             .pid = 77,
                             .port = 6006,
                             .path_prefix = "",
                             .logdir = "runs",
                             .db = "",
                             .cache_key = *key};
  absl::Status written = directory.Write(info, tool_version);
  EXPECT_TRUE(written.ok()) << written;
  auto files = directory.GetAll();
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(*files, SizeIs(1));
  EXPECT_EQ(files->front().info, info);
  auto file = directory.Read("pid-77.info");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->state, files->front().state);
  absl::Status removed = directory.Remove(info.pid);
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_TRUE(absl::IsNotFound(directory.Read("pid-77.info").status()));
  auto child_environment = registry::ToolEnvironment(environment);
  EXPECT_EQ(child_environment, environment);
}

}  // namespace
}  // namespace registry
