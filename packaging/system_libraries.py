"""Libraries of the system that Qt needs on Linux: which are missing, and what installs them.

Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from steps import Progress, SetupProblem, Steps, last_lines, run_quietly

# By file name: packages of Debian and Ubuntu, of Fedora, of Arch.
PACKAGES = {
    "libEGL.so.1": ("libegl1", "libglvnd-egl", "libglvnd"),
    "libGL.so.1": ("libgl1", "libglvnd-glx", "libglvnd"),
    "libGLX.so.0": ("libglx0", "libglvnd-glx", "libglvnd"),
    "libOpenGL.so.0": ("libopengl0", "libglvnd-opengl", "libglvnd"),
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb", "libx11"),
    "libX11.so.6": ("libx11-6", "libX11", "libx11"),
    "libbrotlicommon.so.1": ("libbrotli1", "libbrotli", "brotli"),
    "libbrotlidec.so.1": ("libbrotli1", "libbrotli", "brotli"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs", "dbus"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig", "fontconfig"),
    "libfreetype.so.6": ("libfreetype6", "freetype", "freetype2"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2", "glib2"),
    "libgthread-2.0.so.0": ("libglib2.0-0", "glib2", "glib2"),
    "libgssapi_krb5.so.2": ("libgssapi-krb5-2", "krb5-libs", "krb5"),
    "libstdc++.so.6": ("libstdc++6", "libstdc++", "gcc-libs"),
    "libwayland-client.so.0": ("libwayland-client0", "libwayland-client", "wayland"),
    "libwayland-cursor.so.0": ("libwayland-cursor0", "libwayland-cursor", "wayland"),
    "libwayland-egl.so.1": ("libwayland-egl1", "libwayland-egl", "wayland"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm", "xcb-util-wm"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image", "xcb-util-image"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb", "libxcb"),
    "libxcb-render-util.so.0": ("libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil"),
    "libxcb-render.so.0": ("libxcb-render0", "libxcb", "libxcb"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb", "libxcb"),
    "libxcb-shm.so.0": ("libxcb-shm0", "libxcb", "libxcb"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb", "libxcb"),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util", "xcb-util"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb", "libxcb"),
    "libxcb-xinerama.so.0": ("libxcb-xinerama0", "libxcb", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb", "libxcb"),
    "libxcb.so.1": ("libxcb1", "libxcb", "libxcb"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    "libz.so.1": ("zlib1g", "zlib", "zlib"),
}

FONTS = ("fonts-dejavu-core", "dejavu-sans-fonts", "ttf-dejavu")
"""Without any font a window has no words."""
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")

# Programs with which tests type, look and speak on a bus, and what they are packed in.
TEST_PROGRAMS = {
    "Xvfb": ("xvfb", "xorg-x11-server-Xvfb", "xorg-server-xvfb"),
    "openbox": ("openbox", "openbox", "openbox"),
    "xdotool": ("xdotool", "xdotool", "xdotool"),
    "trayer": ("trayer", "trayer", "trayer"),
    "dbus-daemon": ("dbus-daemon", "dbus-daemon", "dbus"),
    "dbusmock": ("python3-dbusmock", "python3-dbusmock", "python-dbusmock"),
}

# The program that installs, in the order of the columns above, and its words.
INSTALLERS = {
    "apt-get": ["apt-get", "install", "-y", "--no-install-recommends"],
    "dnf": ["dnf", "install", "-y"],
    "pacman": ["pacman", "-S", "--needed", "--noconfirm"],
}

WAYLAND_PLUGINS = ("libqwayland.so", "libqwayland-generic.so")
X11_PLUGINS = ("libqxcb.so",)
TEST_PLUGINS = ("libqoffscreen.so", *X11_PLUGINS)

_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


def missing_in(ldd_output: str) -> list[str]:
    """The libraries that `ldd` did not find, each once, sorted; Qt's own are left out (they lie beside the plugin)."""
    return sorted({name for name in _NOT_FOUND.findall(ldd_output) if not name.startswith("libQt6")})


def installer() -> str | None:
    """The program that installs packages on this system, if it is one that we know."""
    return next((name for name in INSTALLERS if shutil.which(name)), None)


def packages_for(libraries: list[str], program: str) -> list[str]:
    """The packages that bring these libraries; a library that we do not know is left out."""
    column = list(INSTALLERS).index(program)
    return sorted({PACKAGES[name][column] for name in libraries if name in PACKAGES})


def install_command(packages: list[str], program: str) -> list[str]:
    """What installs these packages."""
    return [*INSTALLERS[program], *packages]


def qt_files(site_packages: Path, plugins: tuple[str, ...]) -> list[Path]:
    """The files of Qt whose libraries must be there for windows on these plugins."""
    qt = site_packages / "PySide6" / "Qt"
    wanted = [qt / "plugins" / "platforms" / name for name in plugins]
    modules = ("Widgets", "Gui", "Network", "Svg")
    wanted += [qt / "lib" / f"libQt6{name}.so.6" for name in modules]
    return [path for path in wanted if path.is_file()]


def has_fonts() -> bool:
    """Whether this system has a font that Qt can use."""
    folders = [Path(name).expanduser() for name in FONT_FOLDERS]
    return any(path for folder in folders for kind in ("ttf", "otf", "ttc") for path in folder.rglob(f"*.{kind}"))


def missing_libraries(files: list[Path]) -> list[str]:
    """The libraries of the system that these files need and do not find."""
    if not files or shutil.which("ldd") is None:
        return []
    done = subprocess.run(
        ["ldd", *map(str, files)],  # noqa: S607 - the system's own
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    return missing_in(done.stdout)


def install_missing(python: Path, plugins: tuple[str, ...], steps: Steps) -> None:
    """Install the libraries of the system that Qt needs, where we may.

    Raises:
        SetupProblem: some are missing, and the person must install them.
    """
    if sys.platform != "linux":
        return
    question = "import sysconfig; print(sysconfig.get_path('platlib'))"
    done = subprocess.run([str(python), "-c", question], capture_output=True, text=True, check=True)
    files = qt_files(Path(done.stdout.strip()), plugins)
    missing = missing_libraries(files)
    fonts = files and not has_fonts()
    if not missing and not fonts:
        return
    program = installer()
    if program is None:
        lacking = [*missing, *(["a font"] if fonts else [])]
        raise SetupProblem(f"The window needs what this system lacks. Install: {', '.join(lacking)}")
    extra = [FONTS[list(INSTALLERS).index(program)]] if fonts else []
    system_install([*packages_for(missing, program), *extra], "the window needs libraries of the system", steps)
    left = missing_libraries(files)
    if left:
        raise SetupProblem(f"The window needs libraries that this system still lacks: {', '.join(left)}")


def install_test_programs(steps: Steps) -> None:
    """Install the programs that some tests need, where we may; without them these tests are skipped."""
    if sys.platform != "linux":
        return
    missing = [name for name in TEST_PROGRAMS if not has_program(name)]
    program = installer()
    if not missing or program is None or os.geteuid() != 0:
        return
    column = list(INSTALLERS).index(program)
    try:
        system_install([TEST_PROGRAMS[name][column] for name in missing], "tests use programs of the system", steps)
    except SetupProblem:
        steps.say(f"not installed, so that some tests are skipped: {', '.join(missing)}")


def has_program(name: str) -> bool:
    """Whether a program is here, or dbusmock, a module of the system's own Python."""
    if name != "dbusmock":
        return shutil.which(name) is not None
    question = ["/usr/bin/python3", "-c", "import dbusmock"]
    try:
        return subprocess.run(question, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def system_install(packages: list[str], why: str, steps: Steps) -> None:
    """Install packages of the system if we are root.

    Raises:
        SetupProblem: we are not, or it failed; the message holds the exact command.
    """
    program = installer()
    if program is None:
        raise SetupProblem(f"{why.capitalize()}. Install: {' '.join(packages)}")
    command = install_command(packages, program)
    if os.geteuid() != 0:
        raise SetupProblem(f"{why.capitalize()}. Install it, then start again:\n    sudo {' '.join(command)}")
    steps.say(f"{why}: {' '.join(packages)}")
    log = Path(tempfile.mkdtemp(prefix="potluck-")) / "system.log"
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    code = run_quietly(command, log, steps, Progress(f"{program} installs them"))
    if code != 0 and program == "apt-get":
        run_quietly(["apt-get", "update"], log, steps, Progress("apt-get asks what is new"))
        code = run_quietly(command, log, steps, Progress(f"{program} installs them"))
    if code != 0:
        raise SetupProblem(f"This failed: {' '.join(command)}\n{last_lines(log)}")
    shutil.rmtree(log.parent)
