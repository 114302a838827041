#include "trainer/trial_names.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace trainer {
namespace {

std::string Found(std::string_view name) {
  TrialNameSearch search(name);
  search.LookAt(false, 1, "t-abcde", "first");
  search.LookAt(true, 2, "t-abxyz", "second");
  search.LookAt(false, 3, "t-qqqqq", "second");
  search.LookAt(false, 4, "t-rrrrr", "first");
  search.LookAt(true, 5, "t-sssss", "t-qq");
  const auto found = search.Found();
  return found.ok() ? *found : found.status().ToString();
}

TEST(TrialNamesTest, FindTheTrialThatIsMeant) {
  const struct {
    const char *name, *found;
  } kCases[] = {
      {"second", "t-abxyz"},  // The live one, though another is newer.
      {"first", "t-rrrrr"},   // The newest.
      {"t-abc", "t-abcde"},
      {"t-abcde", "t-abcde"},
      {"t-qq", "t-sssss"},  // A name is more than a prefix.
      {"t-ab", "FAILED_PRECONDITION: t-ab is ambiguous: t-abcde (first), t-abxyz (second)"},
      {"third", "NOT_FOUND: no trial is called third"},
      {"", "NOT_FOUND: no trial is called "},
  };
  for (const auto& [name, found] : kCases) EXPECT_EQ(Found(name), found) << name;
}

}  // namespace
}  // namespace trainer
