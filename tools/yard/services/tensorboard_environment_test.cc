#include "tools/yard/services/tensorboard_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TensorBoardEnvironmentTest, NamesOurServer) {
  EXPECT_THAT(TensorBoardEnvironment({"A=b"}, "/x/server"),
              ElementsAre("A=b", "TENSORBOARD_DATA_SERVER_BINARY=/x/server"));
  // TensorBoard treats an empty value as unset.
  EXPECT_THAT(TensorBoardEnvironment({"TENSORBOARD_DATA_SERVER_BINARY="}, "/x/server"),
              ElementsAre("TENSORBOARD_DATA_SERVER_BINARY=/x/server"));
  EXPECT_THAT(TensorBoardEnvironment({}, ""), IsEmpty());
}

TEST(TensorBoardEnvironmentTest, TheCallersServerWins) {
  EXPECT_THAT(TensorBoardEnvironment({"TENSORBOARD_DATA_SERVER_BINARY=/theirs"}, "/x/server"),
              ElementsAre("TENSORBOARD_DATA_SERVER_BINARY=/theirs"));
}

TEST(TensorBoardEnvironmentTest, ReachesLocalhostWithoutTheProxy) {
  EXPECT_THAT(TensorBoardEnvironment({"http_proxy=http://p"}, ""),
              ElementsAre("http_proxy=http://p", "no_grpc_proxy=localhost"));
  EXPECT_THAT(TensorBoardEnvironment({"http_proxy=http://p", "no_proxy=a,b"}, ""),
              ElementsAre("http_proxy=http://p", "no_proxy=a,b", "no_grpc_proxy=a,b,localhost"));
  EXPECT_THAT(TensorBoardEnvironment({"grpc_proxy=p", "no_proxy=a", "no_grpc_proxy=c"}, ""),
              ElementsAre("grpc_proxy=p", "no_proxy=a", "no_grpc_proxy=c,localhost"));
}

TEST(TensorBoardEnvironmentTest, SaysWhetherAProxyIsInTheWay) {
  EXPECT_TRUE(ProxyHidesLocalhost({"http_proxy=p"}));
  EXPECT_TRUE(ProxyHidesLocalhost({"http_proxy=p", "no_proxy=localhost", "no_grpc_proxy=a"}));
  EXPECT_FALSE(ProxyHidesLocalhost({"http_proxy=p", "no_proxy=localhost"}));
  EXPECT_FALSE(ProxyHidesLocalhost({"no_proxy=a"}));
}

TEST(TensorBoardEnvironmentTest, LeavesWhatReachesItAlready) {
  EXPECT_THAT(TensorBoardEnvironment({"http_proxy=p", "no_proxy=a, localhost"}, ""),
              ElementsAre("http_proxy=p", "no_proxy=a, localhost"));
  EXPECT_THAT(TensorBoardEnvironment({"http_proxy="}, ""), ElementsAre("http_proxy="));
}

}  // namespace
}  // namespace yard
