"""`pip wheel --no-build-isolation tuner/api/python`: the package with libhone, the programs that it starts to tune, and
the shipped configs. CMake builds what is missing, in the folder that HONE_BUILD names (default: one of pip's own, which
takes as long as building Hone does)."""

import os
import pathlib
import re
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = pathlib.Path(__file__).resolve().parents[3]


def version():
    found = re.search(r"project\(hone VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))
    return found.group(1)


class Build(build_ext):
    """The files that CMake builds, put into the package as CMake installs it."""

    def run(self):
        given = os.environ.get("HONE_BUILD")
        build = pathlib.Path(given or self.build_temp).resolve()
        if not (build / "CMakeCache.txt").exists():
            build.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                ["cmake", "-S", SOURCE, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DHONE_TESTS=OFF",
                 "-DHONE_BENCH=OFF", "-DHONE_PYTHON=ON", f"-DPython3_EXECUTABLE={sys.executable}"],
                check=True,
            )
        subprocess.run(["cmake", "--build", build, "--target", "wheel_files"], check=True)
        for name in ("_hone", "_te"):
            module = build / "python" / "hone" / (name + sysconfig.get_config_var("EXT_SUFFIX"))
            if not module.exists():
                raise SystemExit(f"{build} is built for another Python: it has no {module.name}")
        folder = pathlib.Path(self.build_lib).resolve()
        subprocess.run(["cmake", "--install", build, "--component", "wheel", "--prefix", folder], check=True)

    def get_outputs(self):
        return [str(p) for p in (pathlib.Path(self.build_lib) / "hone").rglob("*") if p.is_file()]


setup(
    version=version(),
    packages=["hone"],
    package_data={"hone": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("hone._hone", [])],  # the wheel is of this platform; Build makes it
    cmdclass={"build_ext": Build},
)
