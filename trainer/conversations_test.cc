// Programs that are older or newer than the trainer: recorded conversations that must keep working
// (testdata/conversations). Later versions of the protocol may add members to answers, but the
// recorded members stay.
//
//     up LINE      the program sends the line
//     down OBJECT  the answer has these members, and perhaps others
//     none         there must be no answer
//     stop         a user stops the trial
//     reports N    N reports count in the end

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using nlohmann::json;

constexpr char kFolder[] = "trainer/testdata/conversations";

class ConversationTest : public TrialsFixture, public testing::WithParamInterface<std::string> {
 protected:
  ConversationTest() {
    Start();
    msg::RunTrialRequestT request = Request();
    request.config = R"({"lr":0.1})";
    request.stop_grace_ms = 5000;
    id_ = Run(request);
  }

  std::string Say(const std::string& text) { return TrialsFixture::Say("j-1", ++lines_, text); }
  // Checks that `answer` has the members of `wanted`.
  static void ExpectMembers(const std::string& answer, const json& wanted) {
    const json got = json::parse(answer, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(got.is_object()) << answer;
    for (const auto& [name, value] : wanted.items()) {
      ASSERT_TRUE(got.contains(name)) << name << " is missing in " << answer;
      EXPECT_EQ(got[name], value) << name << " in " << answer;
    }
  }

  std::string id_;
  std::int64_t lines_ = 0;
};

TEST_P(ConversationTest, GoesOnAsItWasRecorded) {
  const auto text = runtime::ReadFile(absl::StrCat(kFolder, "/", GetParam()), 1 << 20);
  ASSERT_TRUE(text.ok()) << text.status();
  std::string answer;
  int directives = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(std::string(line));
    ++directives;
    const std::string rest(absl::StripAsciiWhitespace(line.substr(line.find(' ') + 1)));
    if (absl::StartsWith(line, "up ")) {
      answer = Say(rest);
    } else if (absl::StartsWith(line, "down ")) {
      ExpectMembers(answer, json::parse(rest));
    } else if (line == "none") {
      EXPECT_EQ(answer, "");
    } else if (line == "stop") {
      On([&] { ASSERT_TRUE(trials_->Stop(id_, absl::ZeroDuration(), "").ok()); });
    } else if (absl::StartsWith(line, "reports ")) {
      On([&] { EXPECT_EQ(absl::StrCat(trials_->Get(id_)->reports), rest); });
    } else {
      ADD_FAILURE() << "not a line of a conversation";
    }
  }
  EXPECT_GT(directives, 2);
}

// Returns the names of all files in the folder.
std::vector<std::string> Conversations() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Each, ConversationTest, testing::ValuesIn(Conversations()),
                         [](const auto& info) {
                           return info.param.substr(0, info.param.find('.'));
                         });

}  // namespace
}  // namespace trainer
