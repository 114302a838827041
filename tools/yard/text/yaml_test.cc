#include "tools/yard/text/yaml.h"

#include <algorithm>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = YamlNode::Kind;

YamlNode Parsed(std::string_view text) {
  auto node = ParseYaml(text, "f");
  EXPECT_TRUE(node.ok()) << node.status();
  return node.ok() ? *std::move(node) : YamlNode();
}

std::string Error(std::string_view text) {
  const auto node = ParseYaml(text, "f");
  EXPECT_TRUE(absl::IsInvalidArgument(node.status())) << node.status();
  return std::string(node.status().message());
}

std::string Place(const YamlNode& node) { return absl::StrCat(node.line, ":", node.column); }

TEST(YamlTest, YamlAndJsonGiveTheSameTree) {
  for (const char* text :
       {"a: 1\nb:\n  - x\n  - \"2\"\nc: {}\n", R"({"a": 1, "b": ["x", "2"], "c": {}})",
        "{\n\t\"a\":1,\n\t\"b\":[\"x\",\"2\"],\n\t\"c\":{}\n}"}) {
    const YamlNode root = Parsed(text);
    ASSERT_EQ(root.kind, Kind::kMap);
    ASSERT_EQ(root.items.size(), 3U);
    EXPECT_EQ(root.Find("a")->text, "1");
    EXPECT_EQ(root.Find("b")->items[1].text, "2");
    EXPECT_EQ(root.Find("c")->kind, Kind::kMap);
    EXPECT_EQ(root.Find("d"), nullptr);
  }
}

TEST(YamlTest, KnowsNumbersFromQuotedTexts) {
  const YamlNode root = Parsed("[3, \"3\", '3', true, ~, null, \"null\"]");
  EXPECT_FALSE(root.items[0].quoted);
  EXPECT_TRUE(root.items[1].quoted);
  EXPECT_TRUE(root.items[2].quoted);
  EXPECT_FALSE(root.items[3].quoted);
  EXPECT_EQ(root.items[4].kind, Kind::kNull);
  EXPECT_EQ(root.items[5].kind, Kind::kNull);
  EXPECT_EQ(root.items[6].kind, Kind::kText);
  EXPECT_TRUE(Parsed("a: |\n  3\n").items[0].quoted);
}

TEST(YamlTest, KeepsTheOrderOfKeys) {
  const YamlNode root = Parsed("worker: 1\nchief: 1\nps: 1\n");
  EXPECT_EQ(root.keys[0].text, "worker");
  EXPECT_EQ(root.keys[1].text, "chief");
  EXPECT_EQ(root.keys[2].text, "ps");
}

TEST(YamlTest, PlacesCountCharactersFromOne) {
  const YamlNode root =
      Parsed("\xEF\xBB\xBF# first\nh\xC3\xA9llo: [\"\xE2\x82\xAC\", b]\nx:\ny: 1\r\nz: 2\n");
  EXPECT_EQ(Place(root.keys[0]), "2:1");
  EXPECT_EQ(Place(root.items[0]), "2:8");
  EXPECT_EQ(Place(root.items[0].items[0]), "2:9");
  EXPECT_EQ(Place(root.items[0].items[1]), "2:14");
  EXPECT_EQ(Place(root.items[1]), "3:1") << "of a missing value: its key's";
  EXPECT_EQ(Place(root.items[2]), "4:4");
  EXPECT_EQ(Place(root.items[3]), "5:4");
}

TEST(YamlTest, WhatIsMalformedHasItsPlace) {
  EXPECT_THAT(Error("a: 1\nb: c: d\n"), StartsWith("f:2:5: neither valid YAML nor JSON: "));
  EXPECT_THAT(Error("a: [1, 2\n"), StartsWith("f:"));
  EXPECT_THAT(Error("{\"a\": \"\\ud83d\"}"), HasSubstr("f:1:"));
  EXPECT_THAT(Error("a: 'x"), StartsWith("f:1:"));
}

TEST(YamlTest, AKeyIsThereOnce) {
  EXPECT_EQ(Error("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n"),
            "f:5:3: \"c\" a second time; it is on line 3 already");
  EXPECT_THAT(Error("{\"a\": 1, \"a\": 1}"), HasSubstr("f:1:10: \"a\" a second time"));
  EXPECT_EQ(Parsed("a: {b: 1}\nc: {b: 1}\n").items.size(), 2U);
}

TEST(YamlTest, AKeyIsAText) {
  EXPECT_EQ(Error("? [a]\n: b\n"), "f:1:3: a key must be a text");
  EXPECT_EQ(Error("~: b\n"), "f:1:1: a key must be a text");
  EXPECT_EQ(Error("{a: 1} b: 2\n").substr(0, 2), "f:");
}

TEST(YamlTest, AnchorsAliasesAndTagsAreRefused) {
  EXPECT_THAT(Error("a: &x [1]\nb: *x\n"), StartsWith("f:1:4: anchors (&) and aliases (*)"));
  EXPECT_THAT(Error("a: *x\n"), StartsWith("f:1:4: "));
  EXPECT_EQ(Error("a: 1\nb: !!str 3\n"), "f:2:4: tags are not supported");
  EXPECT_EQ(Error("a: !x {b: 1}\n"), "f:1:4: tags are not supported");
}

TEST(YamlTest, ABombOfAliasesIsRefusedAtItsFirstLine) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string last = absl::StrCat("*", std::string(1, static_cast<char>(c - 1)), ", ");
    absl::StrAppend(&bomb, std::string(1, c), ": &", std::string(1, c), " [");
    for (int i = 0; i < 9; ++i) bomb += last;
    bomb += "]\n";
  }
  EXPECT_THAT(Error(bomb), StartsWith("f:1:4: "));
}

TEST(YamlTest, TheFileHoldsOneDocument) {
  EXPECT_THAT(Error("a: 1\n---\nb: 2\n"), StartsWith("f:2:1: the end of the file was expected"));
  EXPECT_EQ(Error(""), "f:1:1: the file is empty");
  EXPECT_EQ(Error("# nothing\n"), "f:1:1: the file is empty");
  EXPECT_EQ(Parsed("---\na: 1\n...\n").items.size(), 1U);
}

TEST(YamlTest, WhatIsNotTextIsRefusedWithItsPlace) {
  EXPECT_EQ(Error("a: \xFF\n"), "f:1:4: not UTF-8 text");
  EXPECT_EQ(Error("a: \xED\xA0\x80\n"), "f:1:4: not UTF-8 text") << "half a surrogate pair";
  EXPECT_EQ(Error("\xFF\xFE"
                  "a\0"),
            "f:1:1: not UTF-8 text")
      << "UTF-16";
  EXPECT_THAT(Error(std::string_view("a: 1\nb: \0", 9)), StartsWith("f:2:4: a control character"));
  EXPECT_THAT(Error("a: x\x04y\n"), StartsWith("f:1:5: a control character"));
  EXPECT_THAT(Error("\x7f"
                    "ELF\x02"),
              StartsWith("f:1:5: a control character"));
  EXPECT_THAT(Error("a: \"\\0\"\n"), StartsWith("f:1:4: a NUL character"));
  EXPECT_EQ(Parsed("a: \"\\e[0m\"\n").items[0].text, "\x1b[0m");
}

TEST(YamlTest, SizeDepthAndCountHaveLimits) {
  const std::string spaces(kMaxYamlBytes - 4, ' ');
  EXPECT_TRUE(ParseYaml("a: 1" + spaces, "f").ok());
  EXPECT_EQ(Error("a: 1 " + spaces), "f: larger than 1 MiB");
  EXPECT_TRUE(ParseYaml(std::string(16, '[') + std::string(16, ']'), "f").ok());
  EXPECT_EQ(Error(std::string(17, '[') + std::string(17, ']')), "f:1:17: more than 16 levels");
  std::string many = "[";
  for (int i = 0; i < 100'000; ++i) many += "1,";
  EXPECT_THAT(Error(many + "]"), HasSubstr("more than 100000 values"));
}

TEST(YamlTest, NamesOfFilesCannotDriveTheTerminal) {
  EXPECT_EQ(ParseYaml("", "a\x1b[2J").status().message(), "a\\x1B[2J:1:1: the file is empty");
}

// Some of these inputs have crashed other parsers, or kept them busy for minutes.
TEST(YamlTest, LongRunsOfOneThingEndSoonAndWithoutACrash) {
  for (const char* unit :
       {"[",      "{",      "- ",  "? ",  "a: ",  "\"",    "'",   "|\n",     "#",
        "&a ",    "!",      "*a ", ": ",  "{a: ", "---\n", "%",   "[[],",    "{?",
        "\"a\":", "[\"\":", "a\n", ">\n", "\t",   "\r\n",  "{a,", "- - a\n", "\\"}) {
    std::string text;
    while (text.size() < kMaxYamlBytes / 8) text += unit;
    (void)ParseYaml(text, "f");
  }
}

TEST(YamlTest, ChangesAnywhereGiveATreeOrAPlace) {
  const std::string seed =
      "name: first\ncommand: [python3, \"train.py\", '--lr', 0.1]\nenvironment: {A: b, C: "
      "\"d\\n\"}\n"
      "tasks:\n  chief: 1\n  worker:\n    count: 3\n    start_after: {ps: ready}\n  ps: [a:1, "
      "b:2]\n"
      "text: |\n  one\n  two\n? key\n: value\n# end\n";
  const std::string pieces[] = {"&a",      "*a",    "!!str",       "[",    "]",
                                "{",       "}",     ": ",          "\n",   "\t",
                                "\"",      "'",     "|",           ">",    "- ",
                                "? ",      "---\n", "%YAML 1.2\n", "\xFF", std::string(1, '\0'),
                                "\xC3",    "#",     ",",           "~",    "<<: ",
                                "\\u0000", "\r"};
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int good = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seed;
    for (std::size_t change = 0; change <= below(4) && !text.empty(); ++change) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text.insert(at, pieces[below(std::size(pieces))]);
          break;
        case 1:
          text.erase(at, 1 + below(8));
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        default:
          text.resize(at + 1);
      }
    }
    const auto node = ParseYaml(text, "f");
    if (node.ok()) {
      ++good;
    } else {
      ASSERT_TRUE(absl::IsInvalidArgument(node.status()));
      ASSERT_THAT(std::string(node.status().message()), StartsWith("f:")) << text;
    }
  }
  EXPECT_GT(good, 500);
  EXPECT_LT(good, 19'500);
}

}  // namespace
}  // namespace yard
