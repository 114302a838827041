#include "trainer/trial/attach_request.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AttachRequestTest, ReadsEveryMember) {
  const auto request = RequestOf(
      {.nonce = "n1",
       .pid = 17,
       .request = R"({"name":"first","config":{"lr":0.5},"labels":["base"],"note":"by hand",
                      "display_name":"First","argv":["python3","train.py"],
                      "working_directory":"/tmp","umask":63,"provenance":{"git":"abc"}})"});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->name, "first");
  EXPECT_EQ(request->config, R"({"lr":0.5})");
  EXPECT_THAT(request->argv, ElementsAre("python3", "train.py"));
  EXPECT_EQ(request->working_directory, "/tmp");
  EXPECT_THAT(request->options->labels, ElementsAre("base"));
  EXPECT_EQ(request->options->note, "by hand");
  EXPECT_EQ(request->options->display_name, "First");
  EXPECT_EQ(request->options->provenance, R"({"git":"abc"})");
  EXPECT_EQ(request->options->caller->umask, 63u);
  EXPECT_EQ(request->options->attached_pid, 17u);
}

TEST(AttachRequestTest, NoMemberIsNeeded) {
  const auto request =
      RequestOf({.nonce = "n1", .pid = 17, .request = R"({"name":null,"unknown":1})"});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->name, "");
  EXPECT_THAT(request->argv, ElementsAre("process 17"));
  EXPECT_EQ(request->working_directory, "/");
  EXPECT_EQ(request->options->caller, nullptr);
}

TEST(AttachRequestTest, AMemberOfAnotherKindIsNamed) {
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name":1})", "name is not a string"},
           {R"({"argv":"prog"})", "argv is not an array"},
           {R"({"argv":["prog",1]})", "argv is not an array of strings"},
           {R"({"config":[]})", "config is not an object"},
           {R"({"umask":0.5})", "umask is not an integer"},
           {R"({"note":[],"name":1})", "name is not a string"}}) {
    const auto request = RequestOf({.nonce = "n1", .pid = 17, .request = text});
    EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << text;
    EXPECT_THAT(request.status().message(), HasSubstr(said));
  }
}

TEST(FreeNameTest, IsTheFirstNumberThatIsFree) {
  std::set<std::string> taken = {"first", "first-2"};
  const auto is_free = [&](const std::string& name) { return taken.count(name) == 0; };
  EXPECT_EQ(FreeName("other", is_free), "other");
  EXPECT_EQ(FreeName("first", is_free), "first-3");
  EXPECT_EQ(FreeName("", [](const std::string&) { return false; }), "");
  EXPECT_EQ(FreeName("first", [](const std::string&) { return false; }), "first");
}

}  // namespace
}  // namespace trainer
