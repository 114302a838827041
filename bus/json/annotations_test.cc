#include "bus/json/annotations.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/file/file.h"

namespace bus {
namespace {

Annotations Said() {
  return {.labels = {"base", "slow"}, .note = "first\nsecond", .display_name = "The base"};
}

msg::AnnotateRequestT Change(std::vector<std::string> add, std::vector<std::string> remove = {}) {
  msg::AnnotateRequestT request;
  request.add_labels = std::move(add);
  request.remove_labels = std::move(remove);
  return request;
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

std::string NewDirectory(const std::string& name) {
  const std::string directory = testing::TempDir() + "/" + name;
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  return directory;
}

TEST(AnnotationsTest, LabelsAreAddedAndRemovedAndTheRestStays) {
  const auto after = Annotated(Said(), Change({"best", "base"}, {"slow", "never there"}));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->labels, (std::vector<std::string>{"base", "best"}));
  EXPECT_EQ(after->note, "first\nsecond");
  EXPECT_EQ(after->display_name, "The base");
}

TEST(AnnotationsTest, TheSameChangeAgainChangesNothing) {
  const msg::AnnotateRequestT change = Change({"best"}, {"slow"});
  const auto once = Annotated(Said(), change);
  ASSERT_TRUE(once.ok());
  EXPECT_EQ(*Annotated(*once, change), *once);
}

TEST(AnnotationsTest, ATextIsReplacedOnlyIfItIsSet) {
  msg::AnnotateRequestT change;
  change.note = "not set";
  change.set_display_name = true;
  const auto after = Annotated(Said(), change);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->note, "first\nsecond");
  EXPECT_EQ(after->display_name, "");
}

TEST(AnnotationsTest, ALabelIsNotAddedAndRemovedAtOnce) {
  const auto after = Annotated(Said(), Change({"x"}, {"x"}));
  EXPECT_EQ(after.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MessageOf(after.status()), "label \"x\" is to be added and removed at once");
}

TEST(AnnotationsTest, WhatIsTooLongOrDrivesATerminalIsRefused) {
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= Annotations::kMaxLabels; ++i) many.push_back(std::to_string(i));
  for (const auto& labels : std::vector<std::vector<std::string>>{
           many, {""}, {std::string(257, 'a')}, {"a\nb"}, {"\x1b[31m"}, {"\xff"}, {"a", "a"}}) {
    EXPECT_EQ(CheckLabels(labels).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(CheckLabels({std::string(256, 'a'), "m\xc3\xa4rz", "a b,c=\"d\""}).ok());
  for (const std::string& note : {std::string(4097, 'a'), std::string("\x1b]0;title\x07"),
                                  std::string("\xc3"), std::string("a\0b", 3)}) {
    EXPECT_EQ(CheckAnnotations({.note = note}).code(), absl::StatusCode::kInvalidArgument) << note;
  }
  EXPECT_TRUE(CheckAnnotations({.note = std::string(4096, 'a')}).ok());
  EXPECT_TRUE(CheckAnnotations({.note = "two\n\tlines"}).ok());
  for (const std::string& name : {std::string(257, 'a'), std::string("two\nlines"),
                                  std::string("turned \xe2\x80\xae around")}) {
    const absl::Status status = CheckAnnotations({.display_name = name});
    EXPECT_NE(MessageOf(status).find("the display name of a run is refused"), std::string::npos);
  }
}

TEST(AnnotationsTest, AFileIsReadAsItWasWritten) {
  const std::string directory = NewDirectory("written");
  EXPECT_EQ(ReadAnnotations(directory).status().code(), absl::StatusCode::kNotFound);
  const Annotations said = {.labels = {"m\xc3\xa4rz", "\"quoted\"\\", "<b>"},
                            .note = "one\n\ttwo \xd7\x90",
                            .display_name = "Run \xf0\x9f\x9a\x82"};
  ASSERT_TRUE(WriteAnnotations(directory, said).ok());
  const auto read = ReadAnnotations(directory);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, said);
  // So is the largest possible file, whatever the escapes in it.
  Annotations large = {.note = std::string(4096, '\t'), .display_name = std::string(256, '"')};
  for (char c = 0; c < 64; ++c)
    large.labels.push_back(std::string(255, '"') + static_cast<char>('0' + c));
  ASSERT_TRUE(CheckAnnotations(large).ok()) << CheckAnnotations(large);
  ASSERT_TRUE(WriteAnnotations(directory, large).ok());
  EXPECT_EQ(*ReadAnnotations(directory), large);
}

TEST(AnnotationsTest, AHostileFileIsRefusedAndNamed) {
  for (const std::string_view text :
       {"", "[]", "null", "{", "{\"labels\": \"base\"}", "{\"labels\": [1]}", "{\"note\": 1}",
        "{\"note\": \"\\u001b[2J\"}", "{\"display_name\": [\"a\"]}", "{\"labels\": [\"a\\nb\"]}"}) {
    const auto parsed = ParseAnnotations(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(MessageOf(ParseAnnotations("{\"note\": 1}").status()),
            "annotations.json: \"note\" is not a text");
  // Deep nesting must not crash the parser.
  EXPECT_FALSE(ParseAnnotations(std::string(100'000, '[')).ok());
  const auto other = ParseAnnotations("{\"labels\": [\"a\"], \"color\": {\"of\": \"the future\"}}");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(other->labels, std::vector<std::string>{"a"});
}

TEST(AnnotationsTest, ADirectoryInWhichNothingCanBeWrittenIsNamed) {
  const std::string directory = NewDirectory("taken");
  std::filesystem::create_directories(directory + "/annotations.json/something");
  const absl::Status status = WriteAnnotations(directory, Said());
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(MessageOf(status).find(directory + "/annotations.json"), std::string::npos) << status;
  EXPECT_EQ(WriteAnnotations(directory + "/missing", Said()).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace bus
