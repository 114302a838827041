#include "bus/access/key_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bus/access/access_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"

namespace bus {
namespace {

using ::testing::HasSubstr;

class KeyFolderTest : public ::testing::Test {
 protected:
  KeyFolderTest() {
    char name[] = "/tmp/keys-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  ~KeyFolderTest() override { std::filesystem::remove_all(directory_); }

  static unsigned ModeOf(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(stat(path.c_str(), &about), 0) << path;
    return about.st_mode & 07777;
  }
  static AllowedKey Key(const std::string& name, Role role = Role::kRead) {
    return {.name = name, .public_key = MakeCurvePair()->public_key, .role = role};
  }

  std::string directory_;
};

TEST_F(KeyFolderTest, TheServersKeyIsMadeOnceAndForItsOwnerAlone) {
  const KeyFolder folder(directory_ + "/state");
  EXPECT_EQ(folder.ServerKey().status().code(), absl::StatusCode::kNotFound);
  const auto made = folder.MakeServerKey();
  ASSERT_EQ(made.status(), absl::OkStatus());
  const auto again = folder.MakeServerKey();
  ASSERT_EQ(again.status(), absl::OkStatus());
  EXPECT_EQ(again->secret_key, made->secret_key);
  EXPECT_TRUE(IsCurveKey(made->public_key) && IsCurveKey(made->secret_key));
  EXPECT_EQ(ModeOf(folder.directory()), 0700u);
  EXPECT_EQ(ModeOf(folder.AllowedDirectory()), 0700u);
  EXPECT_EQ(ModeOf(folder.ServerKeyPath()), 0600u);
}

TEST_F(KeyFolderTest, ADamagedServerKeyIsSaidAndNotReplaced) {
  const KeyFolder folder(directory_);
  ASSERT_EQ(folder.MakeServerKey().status(), absl::OkStatus());
  std::ofstream(folder.ServerKeyPath()) << "{}";
  EXPECT_EQ(folder.ServerKey().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(folder.MakeServerKey().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(KeyFolderTest, KeysAreAllowedChangedListedAndRemoved) {
  const KeyFolder folder(directory_);
  ASSERT_EQ(folder.MakeServerKey().status(), absl::OkStatus());
  EXPECT_TRUE(folder.Allowed()->empty());
  const AllowedKey bob = Key("bob", Role::kAdmin);
  EXPECT_EQ(folder.Allow(bob), absl::OkStatus());
  EXPECT_EQ(folder.Allow(Key("alice")), absl::OkStatus());
  auto keys = *folder.Allowed();
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].name, "alice");
  EXPECT_EQ(keys[1].role, Role::kAdmin);
  EXPECT_EQ(ModeOf(folder.AllowedDirectory() + "/bob"), 0600u);
  EXPECT_EQ(folder.SetRole("bob", Role::kPublish), absl::OkStatus());
  keys = *folder.Allowed();
  EXPECT_EQ(keys[1].role, Role::kPublish);
  EXPECT_EQ(keys[1].public_key, bob.public_key);
  EXPECT_EQ(folder.Remove("bob"), absl::OkStatus());
  EXPECT_EQ(folder.Allowed()->size(), 1u);
  const absl::Status gone = folder.Remove("bob");
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gone.message()), HasSubstr("there are alice"));
}

TEST_F(KeyFolderTest, NeitherANameNorAKeyIsAllowedTwice) {
  const KeyFolder folder(directory_);
  ASSERT_EQ(folder.MakeServerKey().status(), absl::OkStatus());
  const AllowedKey alice = Key("alice");
  ASSERT_EQ(folder.Allow(alice), absl::OkStatus());
  EXPECT_EQ(folder.Allow(Key("alice", Role::kAdmin)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(folder.Allow({.name = "eve", .public_key = alice.public_key}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(folder.Allowed()->size(), 1u);
}

TEST_F(KeyFolderTest, NamesAndKeysOfAnotherFormAreRefused) {
  const KeyFolder folder(directory_);
  ASSERT_EQ(folder.MakeServerKey().status(), absl::OkStatus());
  for (const std::string name :
       {"", ".", "..", ".hidden", "a/b", "../a", "a b", "a\n", "-a", "a.tmp", "\xc3\xa4"}) {
    EXPECT_EQ(folder.Allow(Key(name)).code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(folder.Remove(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(folder.Allow(Key(std::string(65, 'a'))).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(folder.Allow(Key(std::string(64, 'a'))), absl::OkStatus());
  for (const std::string& key : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                 std::string(64, 'A'), std::string(64, 'g')}) {
    EXPECT_EQ(folder.Allow({.name = "eve", .public_key = key}).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(KeyFolderTest, AnAccessFileIsReadAsItWasWritten) {
  const std::string path = directory_ + "/alice.key";
  const CurvePair own = *MakeCurvePair(), server = *MakeCurvePair();
  const AccessFile access{.address = "tcp://host.example:7711",
                          .name = "alice",
                          .role = "read",
                          .keys = {.own = own, .server_key = server.public_key}};
  ASSERT_EQ(WriteAccessFile(path, access), absl::OkStatus());
  EXPECT_EQ(ModeOf(path), 0600u);
  const auto read = ReadAccessFile(path);
  ASSERT_EQ(read.status(), absl::OkStatus());
  EXPECT_EQ(read->address, access.address);
  EXPECT_EQ(read->name, "alice");
  EXPECT_EQ(read->keys.own.secret_key, own.secret_key);
  EXPECT_EQ(read->keys.server_key, server.public_key);
  EXPECT_EQ(WriteAccessFile(path, access).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(KeyFolderTest, AnAccessFileOfAnotherFormIsRefused) {
  const std::string path = directory_ + "/alice.key";
  EXPECT_EQ(ReadAccessFile(path).status().code(), absl::StatusCode::kNotFound);
  const std::string key(64, 'a');
  const std::string keys = "\"server_key\": \"" + key + "\", \"public_key\": \"" + key +
                           "\", \"secret_key\": \"" + key + "\"";
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"),
        std::string("{\"gate\": \"tcp://h:1\"}"), "{\"gate\": \"ipc:///tmp/x\", " + keys + "}",
        "{\"gate\": \"tcp://h\", " + keys + "}", "{\"gate\": \"tcp://h:0\", " + keys + "}",
        "{\"gate\": \"tcp://h:70000\", " + keys + "}"}) {
    ASSERT_EQ(runtime::WriteFileAtomically(path, text, runtime::FileMode::Exactly(0600)),
              absl::OkStatus());
    EXPECT_EQ(ReadAccessFile(path).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  ASSERT_EQ(runtime::WriteFileAtomically(path, "{\"gate\": \"tcp://h:1\", " + keys + "}",
                                         runtime::FileMode::Exactly(0600)),
            absl::OkStatus());
  EXPECT_EQ(ReadAccessFile(path).status(), absl::OkStatus());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const absl::Status open = ReadAccessFile(path).status();
  EXPECT_EQ(open.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(open.message()), HasSubstr("chmod 600"));
}

TEST_F(KeyFolderTest, AKeyOfANodeHasANonceAndNoRole) {
  const KeyFolder folder(directory_);
  ASSERT_EQ(folder.MakeServerKey().status(), absl::OkStatus());
  AllowedKey key = Key("gpu-1");
  key.nonce = std::string(32, 'a');
  ASSERT_EQ(folder.Allow(key), absl::OkStatus());
  const auto keys = folder.Allowed();
  ASSERT_EQ(keys.status(), absl::OkStatus());
  ASSERT_EQ(keys->size(), 1u);
  EXPECT_TRUE(keys->front().is_of_node());
  EXPECT_EQ(keys->front().nonce, key.nonce);
  EXPECT_EQ(folder.SetRole("gpu-1", Role::kAdmin).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(folder.Allow(key).message(), HasSubstr("allowed already (node)"));
  key.name = "Gpu_2";
  EXPECT_THAT(folder.Allow(key).message(), HasSubstr("no node can be called"));
  key.name = "gpu-2";
  key.nonce = "short";
  EXPECT_THAT(folder.Allow(key).message(), HasSubstr("nonce"));
}

TEST_F(KeyFolderTest, AKeyOfANodeWithoutItsNonceIsNoKey) {
  const KeyFolder folder(directory_);
  ASSERT_EQ(folder.MakeServerKey().status(), absl::OkStatus());
  AllowedKey key = Key("gpu-1");
  key.nonce = std::string(32, 'a');
  ASSERT_EQ(folder.Allow(key), absl::OkStatus());
  std::ofstream(folder.AllowedDirectory() + "/gpu-1")
      << R"({"public_key": ")" << key.public_key << R"(", "role": "node"})";
  std::vector<std::string> bad;
  EXPECT_TRUE(folder.Allowed(&bad)->empty());
  EXPECT_THAT(bad, testing::ElementsAre(HasSubstr("is no key")));
}

}  // namespace
}  // namespace bus
