#include "runtime/text/name_search.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

std::string Found(std::string_view name) {
  NameSearch search(name);
  search.LookAt(false, 1, "t-abcde", "first");
  search.LookAt(true, 2, "t-abxyz", "second");
  search.LookAt(false, 3, "t-qqqqq", "second");
  search.LookAt(false, 4, "t-rrrrr", "first");
  search.LookAt(true, 5, "t-sssss", "t-qq");
  const auto found = search.Found("nothing is called so");
  return found.ok() ? *found : found.status().ToString();
}

TEST(NameSearchTest, FindsWhatIsMeant) {
  const struct {
    const char *name, *found;
  } kCases[] = {
      {"second", "t-abxyz"},  // The live one, although another is newer.
      {"first", "t-rrrrr"},   // The newest.
      {"t-abc", "t-abcde"},
      {"t-abcde", "t-abcde"},
      {"t-qq", "t-sssss"},  // A full name takes precedence over a prefix.
      {"t-ab", "FAILED_PRECONDITION: t-ab is ambiguous: t-abcde (first), t-abxyz (second)"},
      {"third", "NOT_FOUND: nothing is called so"},
      {"", "NOT_FOUND: nothing is called so"},
  };
  for (const auto& [name, found] : kCases) EXPECT_EQ(Found(name), found) << name;
}

TEST(NameSearchTest, AnIdIsItselfThoughAnotherBeginsSoOrIsCalledSo) {
  NameSearch search("j-ab");
  search.LookAt(true, 1, "j-abc", "");
  search.LookAt(true, 2, "j-xyz", "j-ab");
  search.LookAt(false, 3, "j-ab", "");
  EXPECT_EQ(*search.Found(""), "j-ab");
}

TEST(NameSearchTest, TheFirstOneCreatedAtTimeZeroIsFound) {
  NameSearch search("train");
  search.LookAt(false, 0, "j-1", "train");
  EXPECT_EQ(*search.Found(""), "j-1");
}

TEST(NameSearchTest, OneWithoutANameIsShownByItsId) {
  NameSearch search("j-");
  search.LookAt(true, 1, "j-1", "");
  search.LookAt(true, 2, "j-2", "train");
  EXPECT_EQ(search.Found("").status().message(), "j- is ambiguous: j-1, j-2 (train)");
}

TEST(NameSearchTest, OfManyThatCouldBeMeantTheFirstAreNamed) {
  NameSearch search("t-");
  for (int i = 0; i < 10'000; ++i) search.LookAt(false, i, absl::StrCat("t-", i), "run");
  EXPECT_EQ(search.Found("nothing is called so").status(),
            absl::FailedPreconditionError("t- is ambiguous: t-0 (run), t-1 (run), t-2 (run), "
                                          "t-3 (run), t-4 (run) and 9995 more"));
}

}  // namespace
}  // namespace runtime
