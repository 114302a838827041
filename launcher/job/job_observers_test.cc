#include "launcher/job/job_observers.h"

#include <gtest/gtest.h>

namespace launcher {
namespace {

TEST(JobObserversTest, TellsThoseOfTheJobAlone) {
  JobObservers observers;
  int a = 0, b = 0;
  observers.Add("a", [&] { ++a; });
  observers.Add("b", [&] { ++b; });
  observers.Notify("a");
  observers.Notify("a");
  observers.Notify("c");
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 0);
}

TEST(JobObserversTest, WhoIsForgottenHearsNoMore) {
  JobObservers observers;
  int told = 0;
  const auto one = observers.Add("a", [&] { ++told; });
  observers.Forget(one);
  observers.Forget(one);
  observers.Forget(77);
  observers.Notify("a");
  EXPECT_EQ(told, 0);
}

TEST(JobObserversTest, AnObserverMayForgetItselfAndOthersWhileItIsTold) {
  JobObservers observers;
  int first = 0, second = 0;
  JobObservers::Id one = 0, two = 0;
  one = observers.Add("a", [&] {
    ++first;
    observers.Forget(one);
    observers.Forget(two);
  });
  two = observers.Add("a", [&] { ++second; });
  observers.Notify("a");
  observers.Notify("a");
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
}

TEST(JobObserversTest, WhoComesWhileOthersAreToldIsToldTheNextTime) {
  JobObservers observers;
  int late = 0;
  JobObservers::Id one = 0;
  one = observers.Add("a", [&] {
    observers.Forget(one);
    observers.Add("a", [&] { ++late; });
  });
  observers.Notify("a");
  EXPECT_EQ(late, 0);
  observers.Notify("a");
  EXPECT_EQ(late, 1);
}

}  // namespace
}  // namespace launcher
