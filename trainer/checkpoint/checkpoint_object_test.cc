#include "trainer/checkpoint/checkpoint_object.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "eventlog/crc32c.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "trainer/checkpoint/checkpoint_directory.h"

namespace trainer {
namespace {

class CheckpointObjectTest : public testing::Test {
 protected:
  CheckpointObjectTest() {
    char name[] = "/tmp/co-XXXXXX";
    root_ = mkdtemp(name);
    const std::string temporary = *MakeTemporaryCheckpoint(root_ + "/a");
    EXPECT_TRUE(runtime::MakeDirectories(temporary + "/sub").ok());
    EXPECT_TRUE(runtime::WriteFileAtomically(temporary + "/sub/w", Weights(), 0644).ok());
    CheckpointMetadata metadata;
    metadata.iteration = 5;
    EXPECT_TRUE(CommitCheckpoint(temporary, "checkpoint_000005", metadata).ok());
    source_ = root_ + "/a/checkpoint_000005";
  }
  ~CheckpointObjectTest() override { std::filesystem::remove_all(root_); }

  static std::string Weights() {
    std::string bytes(300'000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
    return bytes;
  }
  // Checks that a refused object leaves no files, and returns the error code.
  absl::StatusCode Refused(const std::string& object) {
    const auto code = CheckpointFromObject(object, root_ + "/b").status().code();
    EXPECT_TRUE(!std::filesystem::exists(root_ + "/b") || std::filesystem::is_empty(root_ + "/b"));
    EXPECT_FALSE(std::filesystem::exists(root_ + "/evil"));
    return code;
  }
  static std::string Number(std::uint64_t number, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>((number >> (8 * i)) & 0xFF);
    return text;
  }
  static std::string Text(const std::string& text, int bytes = 4) {
    return Number(text.size(), bytes) + text;
  }
  // Returns an object with a valid checksum and a single file.
  static std::string Object(const std::string& name, const std::string& below = "") {
    const std::string body =
        "YARDCKP1" + Text(below) + Number(1, 4) + Text(name) + Text("content", 8);
    return body + Number(eventlog::Crc32c(body), 4);
  }

  std::string root_, source_;
};

TEST_F(CheckpointObjectTest, MovesToAnotherRunAsATemporaryOne) {
  const auto object = CheckpointToObject(source_);
  ASSERT_TRUE(object.ok()) << object.status();
  std::filesystem::remove_all(source_);
  const auto restored = CheckpointFromObject(*object, root_ + "/b");
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_TRUE(IsTemporary(*restored));
  EXPECT_TRUE(VerifyCheckpoint(*restored).ok());
  EXPECT_EQ(ReadMetadata(*restored)->iteration, 5);
  EXPECT_EQ(*runtime::ReadFile(*restored + "/sub/w", 1 << 20), Weights());
  EXPECT_EQ(*CheckpointToObject(*restored), *object) << "and on, the marker left behind";
}

TEST_F(CheckpointObjectTest, ThePathInsideGoesWithIt) {
  const std::string object = *CheckpointToObject(source_ + "/sub/");
  const std::string restored = *CheckpointFromObject(object, root_ + "/b");
  EXPECT_EQ(restored, *FindCheckpointDirectory(restored) + "/sub");
  EXPECT_TRUE(std::filesystem::exists(restored + "/w"));
}

TEST_F(CheckpointObjectTest, ATemporaryOneWithoutAManifestMovesToo) {
  const std::string temporary = *MakeTemporaryCheckpoint(root_ + "/a");
  ASSERT_TRUE(runtime::WriteFileAtomically(temporary + "/f", "x", 0644).ok());
  const std::string restored = *CheckpointFromObject(*CheckpointToObject(temporary), root_ + "/b");
  EXPECT_EQ(*runtime::ReadFile(restored + "/f", 10), "x");
}

TEST_F(CheckpointObjectTest, ALimitHolds) {
  const std::size_t size = CheckpointToObject(source_)->size();
  EXPECT_TRUE(CheckpointToObject(source_, size).ok());
  EXPECT_EQ(CheckpointToObject(source_, size - 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(CheckpointToObject(source_, 10).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(CheckpointObjectTest, ADamagedCheckpointIsNoObject) {
  ASSERT_TRUE(runtime::WriteFileAtomically(source_ + "/sub/w", "x", 0644).ok());
  EXPECT_EQ(CheckpointToObject(source_).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CheckpointToObject(root_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CheckpointObjectTest, DamagedObjectsAreRefused) {
  const std::string object = Object("f");
  ASSERT_TRUE(CheckpointFromObject(object, root_ + "/good").ok());
  for (std::size_t size = 0; size < object.size(); ++size) {
    EXPECT_EQ(Refused(object.substr(0, size)), absl::StatusCode::kDataLoss) << size;
    std::string flipped = object;
    flipped[size] = static_cast<char>(flipped[size] ^ 1);
    EXPECT_EQ(Refused(flipped), absl::StatusCode::kDataLoss) << size;
  }
}

TEST_F(CheckpointObjectTest, NoNamePointsOutOfIt) {
  for (const char* name : {"../evil", "/evil", "a/../../evil", "", ".", "a//b", "a/", "\xFF"}) {
    EXPECT_EQ(Refused(Object(name)), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(Refused(Object(std::string("a\0b", 3))), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refused(Object("f", "../evil")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Refused(Object(".temp_marker")), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Refused(Object("f", "g")), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointObjectTest, SizesThatLieAreRefused) {
  const auto sealed = [](const std::string& body) {
    return body + Number(eventlog::Crc32c(body), 4);
  };
  const std::string head = "YARDCKP1" + Text("");
  EXPECT_EQ(Refused(sealed("YARDCKP1" + Number(~0u, 4))), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Refused(sealed(head + Number(~0u, 4))), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Refused(sealed(head + Number(2, 4) + Text("f") + Text("x", 8))),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(Refused(sealed(head + Number(1, 4) + Text("f") + Number(~0ull, 8))),
            absl::StatusCode::kDataLoss);
  const std::string twice = Text("f") + Text("x", 8);
  EXPECT_EQ(Refused(sealed(head + Number(2, 4) + twice + twice)), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Refused(sealed(head + Number(1, 4) + twice + "more")), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace trainer
