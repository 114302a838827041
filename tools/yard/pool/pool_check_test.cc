#include "tools/yard/pool/pool_check.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

std::vector<msg::NodeT> NodesIn(const std::vector<std::string>& pools) {
  std::vector<msg::NodeT> nodes;
  for (const std::string& pool : pools) nodes.emplace_back().pool = pool;
  return nodes;
}

std::string Why(const std::string& pool, const std::vector<std::string>& pools) {
  const absl::Status status = CheckPool(pool, NodesIn(pools));
  EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
  return std::string(status.message());
}

TEST(PoolCheckTest, APoolWithANodeIsOne) { EXPECT_EQ(Why("lab", {"big", "lab", "lab"}), ""); }

TEST(PoolCheckTest, TheNearestPoolIsNamedAndAllOthers) {
  EXPECT_EQ(Why("lba", {"lab", "big", "lab"}),
            "there is no pool lba; did you mean lab? The pools are big, lab; next: --at lab, or "
            "yard pool lba --hosts HOST,HOST");
  EXPECT_EQ(Why("other", {"lab"}),
            "there is no pool other; the pools are lab; next: --at lab, or yard pool other --hosts "
            "HOST,HOST");
}

TEST(PoolCheckTest, WithoutAnyPoolTheFirstStepIsNamed) {
  EXPECT_EQ(Why("lab", {}),
            "there is no pool lab, nor any other; next: yard pool lab --hosts HOST,HOST");
}

}  // namespace
}  // namespace yard
