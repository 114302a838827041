#ifndef LAUNCHER_TESTING_INIT_H_
#define LAUNCHER_TESTING_INIT_H_

namespace launcher::testing {

// Must be the first statement of a main() that does not call Main() (main.h):
// `launcher::testing::Init();`. In a child it never returns. Without it every run is refused, since
// its children would run the whole test.
void Init();
bool IsInitialized();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_INIT_H_
