#include "gate/key_book.h"

#include <fstream>
#include <string>

#include "bus/access/key_folder.h"
#include "bus/fixtures/test_yard.h"
#include "gtest/gtest.h"

namespace gate {
namespace {

using bus::Role;

class KeyBookTest : public ::testing::Test {
 protected:
  KeyBookTest() { EXPECT_EQ(folder_.MakeServerKey().status(), absl::OkStatus()); }

  std::string Allow(const std::string& name, Role role = Role::kRead) {
    const auto pair = bus::MakeCurvePair();
    EXPECT_EQ(folder_.Allow({.name = name, .public_key = pair->public_key, .role = role}),
              absl::OkStatus());
    return pair->public_key;
  }

  bus::TestYard yard_;
  bus::KeyFolder folder_{yard_.locations().state_directory};
  KeyBook book_{folder_, runtime::Clock::Real()};
};

TEST_F(KeyBookTest, TakesWhatTheFolderSays) {
  book_.Read();
  EXPECT_EQ(book_.version(), 0u);
  const std::string alice = Allow("alice", Role::kControl);
  EXPECT_FALSE(book_.Find(alice).has_value());
  book_.Read();
  EXPECT_EQ(book_.version(), 1u);
  EXPECT_EQ(book_.Find(alice)->name, "alice");
  EXPECT_EQ(book_.Find(alice)->role, Role::kControl);
  book_.Read();
  EXPECT_EQ(book_.version(), 1u);
  EXPECT_EQ(folder_.SetRole("alice", Role::kRead), absl::OkStatus());
  book_.Read();
  EXPECT_EQ(book_.version(), 2u);
  EXPECT_EQ(book_.Find(alice)->role, Role::kRead);
  EXPECT_EQ(folder_.Remove("alice"), absl::OkStatus());
  book_.Read();
  EXPECT_EQ(book_.version(), 3u);
  EXPECT_FALSE(book_.Find(alice).has_value());
}

TEST_F(KeyBookTest, AKeyThatWasAllowedAMomentAgoIsLetIn) {
  book_.Read();
  const std::string alice = Allow("alice");
  EXPECT_TRUE(book_.LetIn(alice, "10.0.0.1"));
  EXPECT_EQ(book_.refused(), 0u);
  EXPECT_EQ(book_.version(), 1u);
  // A removed key is no longer let in.
  EXPECT_EQ(folder_.Remove("alice"), absl::OkStatus());
  EXPECT_FALSE(book_.LetIn(alice, "10.0.0.1"));
  EXPECT_EQ(book_.version(), 2u);
}

TEST_F(KeyBookTest, CountsWhoIsRefused) {
  const std::string alice = Allow("alice");
  book_.Read();
  EXPECT_TRUE(book_.LetIn(alice, "10.0.0.1"));
  EXPECT_FALSE(book_.LetIn(std::string(64, '0'), "10.0.0.1"));
  EXPECT_FALSE(book_.LetIn(std::string(64, '0'), "10.0.0.1"));
  EXPECT_FALSE(book_.LetIn("", "10.0.0.1"));
  EXPECT_EQ(book_.refused(), 3u);
}

TEST_F(KeyBookTest, AFileThatIsNoKeyAllowsNobodyAndHarmsNoOther) {
  const std::string alice = Allow("alice");
  for (const char* text : {"", "{", "[]", "{\"public_key\": 3, \"role\": \"admin\"}",
                           "{\"public_key\": \"\", \"role\": \"admin\"}"}) {
    std::ofstream(folder_.AllowedDirectory() + "/mallory") << text;
    book_.Read();
    EXPECT_EQ(book_.size(), 1u) << text;
    EXPECT_FALSE(book_.Find("").has_value());
  }
  // A file that is being written holds the whole key, but under a temporary name.
  std::ofstream(folder_.AllowedDirectory() + "/bob.0123.tmp")
      << "{\"public_key\": \"" << std::string(64, 'a') << "\", \"role\": \"admin\"}";
  book_.Read();
  EXPECT_FALSE(book_.Find(std::string(64, 'a')).has_value());
  EXPECT_TRUE(book_.Find(alice).has_value());
}

}  // namespace
}  // namespace gate
