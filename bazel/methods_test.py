"""Tests of bazel/methods.py."""

import unittest

from bazel import methods
from bazel.python import xml_runner


def render(body, service="Thing"):
    return methods.render("bus/schema/x.fbs", "rpc_service %s { %s }" % (service, body))


class MethodsTest(unittest.TestCase):

    def test_a_method_carries_its_role_and_idempotency(self):
        header = render('/// Says "hello; there".\nDo(A):B (role: "control", idempotency: "stored");')
        self.assertIn("bus::Role::kControl", header)
        self.assertIn("bus::Idempotency::kStored", header)
        self.assertIn("msg::Body::A", header)
        self.assertIn("absl::Milliseconds(5000)", header)
        self.assertIn('"thing"', header)

    def test_a_method_without_a_role_does_not_compile(self):
        with self.assertRaisesRegex(methods.SchemaError, "Thing.Do needs role"):
            render('Do(A):B (idempotency: "safe");')

    def test_a_method_without_idempotency_does_not_compile(self):
        with self.assertRaisesRegex(methods.SchemaError, "Thing.Do needs idempotency"):
            render('Do(A):B (role: "read");')
        with self.assertRaisesRegex(methods.SchemaError, "needs role"):
            render("Do(A):B;")

    def test_an_unknown_role_is_named(self):
        with self.assertRaisesRegex(methods.SchemaError, "'owner'"):
            render('Do(A):B (role: "owner", idempotency: "safe");')

    def test_a_deadline_of_zero_is_none(self):
        header = render('Do(A):B (role: "read", idempotency: "safe", deadline_ms: "0", streaming);')
        self.assertIn("absl::InfiniteDuration()", header)
        self.assertIn("true, false", header)

    def test_the_methods_of_every_service_have_no_service(self):
        header = render('Do(A):B (role: "read", idempotency: "safe");', service="Common")
        self.assertIn('"",       "Do"', header)

    def test_what_cannot_be_read_is_an_error(self):
        with self.assertRaisesRegex(methods.SchemaError, "cannot read every method"):
            render('Do(A):B (role: "read", idempotency: "safe"); Undo A B;')
        with self.assertRaisesRegex(methods.SchemaError, "no rpc_service"):
            methods.render("x.fbs", "table A {}")

    def test_the_vectors_of_answers_are_found(self):
        header = methods.render_vectors({"a.fbs": """
            table A { x:[int]; }
            /// Has [no] vectors:[really].
            table One { n:int; s:string; }
            rpc_service Thing {
              Do(A):Many (role: "read", idempotency: "safe");
              Ask(A):One (role: "read", idempotency: "safe");
              Follow(A):Stream (role: "read", idempotency: "safe", streaming);
            }""", "b.fbs": "table Many { n:int; names : [string]; bytes:[ubyte]; } table Stream { x:[int]; }"})
        self.assertIn("case msg::Body::Many:\n      visit(&msg::ManyT::names);\n"
                      "      visit(&msg::ManyT::bytes);\n      return;\n", header)
        for other in ("Body::A:", "Body::One:", "Body::Stream:"):
            self.assertNotIn(other, header)

    def test_an_answer_that_is_no_table_is_an_error(self):
        with self.assertRaisesRegex(methods.SchemaError, "Thing.Do: no table B"):
            methods.render_vectors(
                {"a.fbs": 'rpc_service Thing { Do(A):B (role: "read", idempotency: "safe"); }'})


if __name__ == "__main__":
    xml_runner.main()
