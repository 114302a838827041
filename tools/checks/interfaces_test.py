"""Classes with pure virtual functions that have one implementation, or two."""

import unittest

from bazel.python import xml_runner
from tools.checks import interfaces

INTERFACE = """
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int Now() const = 0;  // class Comment : public Clock {
};
"""
REAL = "class RealClock final : public runtime::Clock {\n  int Now() const override { return 1; }\n};\n"
FAKE = "class FakeClock : public Clock, private Other<int, int> {};\n"


class InterfacesTest(unittest.TestCase):
    def names(self, **texts):
        return sorted(interfaces.lonely(texts))

    def test_an_interface_needs_two_implementations(self):
        self.assertEqual(self.names(header=INTERFACE), ["Clock"])
        self.assertEqual(self.names(header=INTERFACE, real=REAL), ["Clock"])
        self.assertEqual(self.names(header=INTERFACE, real=REAL, fake=FAKE), [])

    def test_the_same_name_in_two_files_is_two_implementations(self):
        self.assertEqual(self.names(header=INTERFACE, one=REAL, two=REAL), [])

    def test_a_plain_class_is_no_interface(self):
        self.assertEqual(self.names(text="class A {\n  virtual void F();\n  int x_ = 0;\n};\n"), [])

    def test_a_class_inside_another_one_is_found_alone(self):
        inner = "class Link {\n  struct Attendant {\n    virtual void Told() = 0;\n  };\n  int size_ = 0;\n};\n"
        self.assertEqual(self.names(text=inner), ["Attendant"])
        self.assertEqual(self.names(text=inner, a="class A : public Link::Attendant {};",
                                    b="struct B final : Link::Attendant {};"), [])

    def test_a_template_is_a_base_by_its_name(self):
        text = "template <class T>\nclass Sink {\n  virtual void Put(T) = 0;\n};\n"
        self.assertEqual(self.names(text=text, a="class A : public Sink<std::pair<int, std::vector<int>>> {};",
                                    b="class B : public Sink<int>, public Other {};"), [])

    def test_each_lonely_interface_has_a_reason_and_each_reason_an_interface(self):
        texts = {"clock.h": INTERFACE}
        [missing] = interfaces.complaints(texts, "# Names and reasons.\n")
        self.assertIn("clock.h: Clock has pure virtual functions", missing)
        self.assertEqual(len(interfaces.complaints(texts, "Clock\n")), 1)
        self.assertEqual(interfaces.complaints(texts, "Clock it turns a dependency round\n"), [])
        [unused] = interfaces.complaints({"plain.h": "class A {};"}, "Clock a reason\n")
        self.assertIn("remove the line", unused)


if __name__ == "__main__":
    xml_runner.main()
