#include "registry/tool/tool_environment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace registry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ToolEnvironmentTest, DropsTheStateOfBazelAndPython) {
  EXPECT_THAT(
      ToolEnvironment({"BUILD_WORKING_DIRECTORY=/b", "BUILD_WORKSPACE_DIRECTORY=/b",
                       "JAVA_RUNFILES=/r", "PYTHONHOME=/p", "PYTHONPATH=/p", "PYTHONSAFEPATH=1",
                       "PYTHONSTARTUP=/p", "PYTHONUSERBASE=/p", "PYTHON_RUNFILES=/r", "RUNFILES=/r",
                       "RUNFILES_DIR=/r", "RUNFILES_MANIFEST_FILE=/r", "RUNFILES_MANIFEST_ONLY=1",
                       "RUNFILES_REPO_MAPPING=/r", "TEST_BINARY=t", "TEST_SRCDIR=/r",
                       "TEST_WORKSPACE=w"}),
      IsEmpty());
}

TEST(ToolEnvironmentTest, KeepsTheRestInItsOrder) {
  EXPECT_THAT(ToolEnvironment({"TMPDIR=/tmp", "PYTHONPATH=", "PATH=/bin", "TEST_TMPDIR=/t",
                               "PYTHONPATHS=/p", "XPYTHONPATH=/p", "pythonpath=/p", "PYTHONPATH",
                               "A=PYTHONPATH=/p", ""}),
              ElementsAre("TMPDIR=/tmp", "PATH=/bin", "TEST_TMPDIR=/t", "PYTHONPATHS=/p",
                          "XPYTHONPATH=/p", "pythonpath=/p", "A=PYTHONPATH=/p", ""));
}

}  // namespace
}  // namespace registry
