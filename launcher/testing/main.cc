#include "launcher/testing/main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/testing/init.h"
#include "launcher/testing/multi_process_pool_runner.h"

namespace launcher::testing {
namespace {

class PoolsEnd : public ::testing::Environment {
 public:
  void TearDown() override { MultiProcessPoolRunner::ShutDownAll(); }
};

}  // namespace

int Main(int argc, char** argv) {
  Init();
  ::testing::InitGoogleMock(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new PoolsEnd);  // GoogleTest deletes it.
  return RUN_ALL_TESTS();
}

}  // namespace launcher::testing
