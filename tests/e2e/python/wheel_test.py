"""The wheel, made by pip without a network, in an environment of its own. Labelled package."""

import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path.append(os.path.join(SOURCE, "tests", "deploy"))
import runpaths  # noqa: E402


class Wheel(unittest.TestCase):
    def run_it(self, *command, **options):
        ran = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_is_made_installed_used_and_removed(self):
        with tempfile.TemporaryDirectory(prefix="hone_wheel_") as folder:
            env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            env["HONE_BUILD"] = os.environ["HONE_BUILD"]
            python = os.path.join(folder, "venv", "bin", "python")
            self.run_it(sys.executable, "-m", "venv", "--system-site-packages", os.path.join(folder, "venv"))
            self.run_it(python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder,
                        os.path.join(SOURCE, "tuner", "api", "python"), env=env)
            wheels = [n for n in os.listdir(folder) if n.endswith(".whl")]
            self.assertEqual(len(wheels), 1)
            self.assertIn("linux_", wheels[0])
            wheel = os.path.join(folder, wheels[0])
            unpacked = os.path.join(folder, "unpacked")
            with zipfile.ZipFile(wheel) as file:
                file.extractall(unpacked)
            names = {file.name.split(".")[0] for file in runpaths.loadable(unpacked)}
            self.assertEqual(
                names, {"_hone", "_te", "libhone", "tracker", "device-agent", "hone-builder", "hone-runner"})
            self.assertEqual(runpaths.faults(unpacked), [])
            self.run_it(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel, env=env)
            env["HONE_DB"] = os.path.join(folder, "hub.db")
            code = (
                "import hone, numpy as np\n"
                "assert hone.__file__.startswith({0!r}), hone.__file__\n"
                "f = hone.compile('dense(m=4,n=8,k=16)', threads=1)\n"
                "assert (f(np.ones((4, 16), np.float32), np.ones((8, 16), np.float32)) == 16).all()\n"
                "lines = []\n"
                "hone.compile('conv2d(ci=64,h=56,w=56,co=64,kh=3,kw=3)', threads=1, on_line=lines.append)\n"
                "print(lines)\n"
                "print(hone.tune('dense(m=4,n=8,k=16)', trials=2, threads=1, progress=False)['trials'])\n"
                "from hone import te\n"
                "x = te.placeholder((3,), name='x')\n"
                "print(hone.build(te.Schedule(te.compute((3,), lambda i: x[i] + 1)))(np.zeros(3, np.float32)))\n"
            ).format(folder)
            printed = self.run_it(python, "-c", code, env=env, cwd=folder)
            self.assertTrue(printed.endswith("2\n[1. 1. 1.]\n"), printed)
            self.run_it(python, "-m", "pip", "uninstall", "-y", "hone", env=env)
            left = subprocess.run([python, "-c", "import hone"], capture_output=True, env=env, cwd=folder, check=False)
            self.assertNotEqual(left.returncode, 0)


if __name__ == "__main__":
    unittest.main()
