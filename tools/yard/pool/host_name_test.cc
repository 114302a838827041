#include "tools/yard/pool/host_name.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NodeOf(const std::string& address) {
  const auto host = ParsePoolHost(address);
  return host.ok() ? host->node : std::string(host.status().message());
}

TEST(HostNameTest, ANodeIsNamedAfterItsHost) {
  EXPECT_EQ(NodeOf("gpu1"), "gpu1");
  EXPECT_EQ(NodeOf("ann@GPU1.lab.org"), "gpu1.lab.org");
  EXPECT_EQ(NodeOf("ssh://ann@gpu1:2222"), "gpu1");
  EXPECT_EQ(NodeOf("_my_box_"), "my-box-");
  EXPECT_EQ(NodeOf("fe80::1%eth0"), "fe80--1-eth0");
}

TEST(HostNameTest, WhatSshWouldTakeForAnOptionIsRefused) {
  for (const std::string hostile :
       {"", "-oProxyCommand=touch x", "a b", "a\nb", "\x1b[2J", "ü", "@", "---"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParsePoolHost(hostile).status())) << hostile;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ParsePoolHost(std::string(256, 'a')).status()));
}

TEST(HostNameTest, HostsAreEachOnce) {
  const auto hosts = ParsePoolHosts("a,,b,a");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(*hosts, ElementsAre(PoolHost{"a", "a"}, PoolHost{"b", "b"}));
  EXPECT_THAT(std::string(ParsePoolHosts("ann@a,bob@a").status().message()),
              HasSubstr("ann@a and bob@a would both be node a"));
  EXPECT_TRUE(absl::IsInvalidArgument(ParsePoolHosts(",").status()));
}

TEST(HostNameTest, NamesOfPools) {
  for (const std::string good : {"lab", "lab-2.a", "0"}) {
    EXPECT_TRUE(CheckPoolName(good).ok()) << good;
  }
  for (const std::string bad : {"", "drain", "rm", "resume", "Lab", "a/b", "a b", "-a", ".", "ü"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckPoolName(bad))) << bad;
  }
  EXPECT_FALSE(CheckPoolName(std::string(33, 'a')).ok());
}

}  // namespace
}  // namespace yard
