"""The compiler's table of primitives, and the methods, stubs and texts of hone.te that are made of it."""

import ast
import os
import re
import textwrap
import unittest

import hone
from hone import te


class Rows(unittest.TestCase):
    """The compiler's table of primitives, and what is made of it."""

    def setUp(self):
        self.rows = hone._te.primitives()

    def test_every_row_is_a_method_and_every_primitive_has_a_row(self):
        methods = {n for n in dir(te.Schedule) if not n.startswith("_")} - {"loops", "loop", "steps", "record", "apply"}
        self.assertEqual(sorted(row["name"] for row in self.rows), sorted(methods))

    def test_methods_take_the_rows_parameters(self):
        x = te.placeholder((4, 3), name="x")
        s = te.Schedule(te.compute((4, 3), lambda i, j: x[i, j], name="y"))
        for row in self.rows:
            names = [name for name, _ in row["parameters"]]
            with self.subTest(row["name"]), self.assertRaises(TypeError) as raised:
                getattr(s, row["name"])(nothing=0)
            takes = "none by name" if names[0].startswith("*") else ", ".join(names)
            self.assertEqual(str(raised.exception), f"{row['name']}: there is no argument 'nothing'; it takes {takes}")

    def test_stubs_take_the_rows_parameters(self):
        with open(os.path.join(os.path.dirname(hone.__file__), "_te.pyi"), encoding="utf-8") as f:
            classes = {n.name: n for n in ast.parse(f.read()).body if isinstance(n, ast.ClassDef)}
        stubs = {f.name: f.args for f in classes["Schedule"].body if isinstance(f, ast.FunctionDef)}
        for row in self.rows:
            stub = stubs[row["name"]]
            names = [a.arg for a in stub.args[1:]] + (["*" + stub.vararg.arg] if stub.vararg else [])
            self.assertEqual([name for name, _ in row["parameters"]], names, row["name"])
            defaults = [name for name, otherwise in row["parameters"] if otherwise is not None]
            self.assertEqual(defaults, names[len(names) - len(stub.defaults):], row["name"])

    def test_texts_are_the_rows(self):
        for row in self.rows:
            name, rewrite = row["name"], textwrap.indent(row["rewrite"], "    ")
            signature, rest = getattr(te.Schedule, name).__doc__.split("\n", 1)
            self.assertEqual(rest, f"\n::\n\n{rewrite}\n\n{row['text']}")
            said, _, returned = signature.partition(" -> ")
            self.assertEqual(returned, row["returns"])
            self.assertEqual(re.sub(r"=\d+", "", said), f"{name}({', '.join(n for n, _ in row['parameters'])})")
            self.assertIn(f"{name}(", te.Schedule.__doc__)

    def test_a_default_is_said_where_it_is_a_value(self):
        self.assertIn("parts=2", te.Schedule.double_buffer.__doc__)
        self.assertNotIn("value=", te.Schedule.annotate.__doc__)  # annotate(key, value) has none


if __name__ == "__main__":
    unittest.main()
