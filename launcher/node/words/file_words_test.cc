#include "launcher/node/words/file_words.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "launcher/wire/record.h"

namespace launcher {
namespace {

const std::string kHash(64, 'a');

FilePart Part() {
  return {.attempt = "j-1.worker-0.1",
          .kind = FilePart::Kind::kTree,
          .transfer = 7,
          .path = "checkpoint_tmp123abc/w",
          .size = 10,
          .sha256 = kHash,
          .like = "checkpoint_000001/w",
          .offset = 3,
          .bytes = std::string("\0\n7bytes", 7)};
}

TEST(FileWordsTest, ComeAsTheyWereSent) {
  EXPECT_EQ(FilePart::Decode(Part().Encode()), Part());
  const FilePart end{
      .attempt = "a", .kind = FilePart::Kind::kEnd, .transfer = 1, .path = "d", .count = 12};
  EXPECT_EQ(FilePart::Decode(end.Encode()), end);
  const FileAnswer answer{.attempt = "a",
                          .kind = FileAnswer::Kind::kFailed,
                          .transfer = 1,
                          .path = "d/e",
                          .offset = 9,
                          .is_whole = true,
                          .error = "why"};
  EXPECT_EQ(FileAnswer::Decode(answer.Encode()), answer);
  const FileList list{
      .directories = {"a", "a/b"},
      .files = {{.path = "a/c", .size = 0, .sha256 = kHash},
                {.path = "a/b/d", .size = std::uint64_t{1} << 39, .sha256 = kHash}}};
  EXPECT_EQ(FileList::Decode(list.Encode()), list);
  const FileListAnswer list_answer{
      .attempt = "a", .checkpoint = "c", .sha256 = kHash, .bytes = 5, .error = ""};
  EXPECT_EQ(FileListAnswer::Decode(list_answer.Encode()), list_answer);
}

TEST(FileWordsTest, PathsLeadNowhereElse) {
  for (const std::string path : {"a", "a/b.c", "a/..b", "...", "a b"}) EXPECT_TRUE(IsRunPath(path));
  const std::vector<std::string> bad = {"",
                                        "/",
                                        "/a",
                                        "a/",
                                        "a//b",
                                        ".",
                                        "..",
                                        "a/..",
                                        "../a",
                                        "a/./b",
                                        "a/../../etc/passwd",
                                        std::string("a\0b", 3),
                                        std::string(4097, 'a')};
  for (const std::string& path : bad) {
    EXPECT_FALSE(IsRunPath(path)) << path;
    FilePart part = Part();
    part.path = path;
    EXPECT_FALSE(FilePart::Decode(part.Encode())) << path;
    part = Part();
    part.like = path;
    EXPECT_EQ(FilePart::Decode(part.Encode()).has_value(), path.empty()) << path;
    const FileList list{.files = {{.path = path, .size = 1, .sha256 = kHash}}};
    EXPECT_FALSE(FileList::Decode(list.Encode())) << path;
    EXPECT_FALSE(FileList::Decode(FileList{.directories = {path}}.Encode())) << path;
  }
  std::string deep = "a";
  for (int i = 1; i < kMaxRunPathDepth; ++i) deep += "/a";
  EXPECT_TRUE(IsRunPath(deep));
  EXPECT_FALSE(IsRunPath(deep + "/a"));
}

TEST(FileWordsTest, WhatIsWrongIsRefused) {
  const auto refuses = [](auto change) {
    FilePart part = Part();
    change(part);
    return !FilePart::Decode(part.Encode());
  };
  EXPECT_TRUE(refuses([](FilePart& part) { part.attempt = "../x"; }));
  EXPECT_TRUE(refuses([](FilePart& part) { part.sha256 = "abc"; }));
  EXPECT_TRUE(refuses([](FilePart& part) { part.size = kMaxFileBytes + 1; }));
  EXPECT_TRUE(refuses([](FilePart& part) { part.size = ~std::uint64_t{0}; }));
  // The part ends after the end of the file.
  EXPECT_TRUE(refuses([](FilePart& part) { part.offset = 4; }));
  // The part begins after the end of the file.
  EXPECT_TRUE(refuses([](FilePart& part) { part.offset = 11; }));
  EXPECT_TRUE(refuses([](FilePart& part) {
    part.size = kMaxFileBytes;
    part.bytes.assign(kMaxFilePiece + 1, 'x');
  }));
  const std::string whole = Part().Encode();
  // (A truncated record may lack its last fields; those that it has are unchanged.)
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const auto cut = FilePart::Decode(whole.substr(0, i));
    if (!cut) continue;
    EXPECT_EQ(cut->path, Part().path);
    EXPECT_EQ(cut->sha256, Part().sha256);
    EXPECT_EQ(cut->bytes, "");
  }
  Record record("file_list");
  record.Add("path", "a");
  record.Add("size", "-1");
  record.Add("sha256", kHash);
  EXPECT_FALSE(FileList::Decode(record.Encode()));
  record.Add("path", "b");  // Without a size.
  EXPECT_FALSE(FileList::Decode(record.Encode()));
  EXPECT_FALSE(FileListAnswer::Decode(FileListAnswer{.attempt = "a", .sha256 = "x"}.Encode()));
  EXPECT_FALSE(FileListAnswer::Decode(
      FileListAnswer{.attempt = "a", .sha256 = kHash, .bytes = kMaxFileList + 1}.Encode()));
}

}  // namespace
}  // namespace launcher
