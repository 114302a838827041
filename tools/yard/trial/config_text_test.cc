#include "tools/yard/trial/config_text.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

class ConfigTextTest : public testing::Test {
 protected:
  ConfigTextTest() {
    char name[] = "/tmp/ct-XXXXXX";
    directory_ = mkdtemp(name);
    EXPECT_TRUE(runtime::WriteFileAtomically(directory_ + "/cfg.json", "{\"lr\":1}\n", 0600).ok());
    EXPECT_TRUE(runtime::WriteFileAtomically(directory_ + "/bad.json", "[1]", 0600).ok());
  }
  ~ConfigTextTest() override { std::filesystem::remove_all(directory_); }

  std::string Text(const std::string& typed) {
    const auto text = ConfigText(typed, directory_);
    return text.ok() ? *text : "ERR " + std::string(text.status().message());
  }

  std::string directory_;
};

TEST_F(ConfigTextTest, IsWhatWasTypedOrWhatIsInTheFile) {
  EXPECT_EQ(Text(""), "");
  EXPECT_EQ(Text(" {\"a\":1}"), " {\"a\":1}");
  EXPECT_EQ(Text("{"), "{") << "who reads it says what is wrong";
  for (const std::string typed : {"cfg.json", "@cfg.json", "./cfg.json"}) {
    EXPECT_EQ(Text(typed), "{\"lr\":1}\n") << typed;
  }
  EXPECT_EQ(Text("@" + directory_ + "/cfg.json"), "{\"lr\":1}\n");
}

TEST_F(ConfigTextTest, SaysWhatIsWrong) {
  EXPECT_THAT(Text("cfg.jsn"), HasSubstr("--config cfg.jsn: neither a JSON object"));
  EXPECT_THAT(Text("[1]"), HasSubstr("neither a JSON object"));
  EXPECT_THAT(Text("bad.json"), HasSubstr("--config bad.json: expected a JSON object"));
}

}  // namespace
}  // namespace yard
