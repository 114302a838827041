#ifndef LAUNCHER_TESTING_INIT_H_
#define LAUNCHER_TESTING_INIT_H_

namespace launcher::testing {

// The first line of a main() that is not Main()'s (main.h): `launcher::testing::Init();`. In a
// child it never returns. Every run without it is refused: its children would run the whole test.
void Init();
bool IsInitialized();

}  // namespace launcher::testing

#endif  // LAUNCHER_TESTING_INIT_H_
