"""Makes the package for Debian and systems like it, for the release whose Python makes it.

    python3.11 packaging/linux/deb.py DIR        for Debian 12
    python3.13 packaging/linux/deb.py DIR        for Debian 13

Why it is made like this: docs/decisions/0026-packages.md.  Needs git, binutils and dpkg-deb.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import contents
import icons
import texts
from steps import ROOT, SetupProblem
from system_libraries import PACKAGES

HERE = Path(__file__).parent
LIB = Path("usr/lib/potluck")
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
ABOVE = f"{sys.version_info[0]}.{sys.version_info[1] + 1}"
PART_OF_LIBC = ("ld-linux", "libc.", "libdl.", "libm.", "libpthread.", "libresolv.", "librt.")
FURTHER = {"libgcc_s.so.1": "libgcc-s1", "libxcb-glx.so.0": "libxcb-glx0", "libzstd.so.1": "libzstd1"}
"""Packages of libraries that pip's bootstrap never has to install: other ones bring them along."""
LEVEL = 4
"""Level of compression by xz: higher ones take minutes more and save little."""

CONTROL = """Package: potluck
Version: {version}
Section: science
Priority: optional
Architecture: {architecture}
Installed-Size: {kilobytes}
Maintainer: {maintainer}
Depends: {depends}
Recommends: ca-certificates
Suggests: xdg-utils, gnome-keyring | kwalletmanager, fonts-beng | fonts-noto-core
Description: train one neural network together with others
 People bring their idle computers and train one neural network together,
 without a data centre, a token or a company that owns it. This package has
 the window, the engine and the command line.
 .
 The part that trains, which fits the computer and its graphics card, is
 downloaded at first use, when the person has said yes, into their own folder.
"""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Potluck
Source: {maintainer}
Comment: The libraries below /usr/lib/potluck come as their authors published
 them on PyPI. Each has its licence in its folder NAME.dist-info there.

Files: *
Copyright: 2026 The Potluck maintainers
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
"""


def version() -> str:
    """The version of the package: a newer Debian's Python makes a newer package of the same Potluck."""
    return f"{texts.version()}+{PYTHON.replace('python', 'py')}"


def depends(needed: set[str]) -> list[str]:
    """What the package depends on.

    Args:
        needed: Names of the system's libraries.

    Raises:
        SetupProblem: it is not known which package brings one of them.
    """
    known = {**{name: row[0] for name, row in PACKAGES.items()}, **FURTHER}
    libraries = {name for name in needed if not name.startswith(PART_OF_LIBC)}
    if unknown := sorted(libraries - known.keys()):
        raise SetupProblem(f"Which package of Debian brings {', '.join(unknown)}? Add it to packaging/linux/deb.py.")
    python = [f"python3 (>= {PYTHON[6:]})", f"python3 (<< {ABOVE})"]
    return [*python, "libc6 (>= 2.34)", *sorted({known[name] for name in libraries})]


def lay_out(tree: Path, site: Path) -> None:
    """Make the tree of what is installed.

    Args:
        tree: An empty folder, the root of it.
        site: The folder of packages, which is moved there.
    """
    packages = tree / LIB / "lib" / PYTHON / "site-packages"
    packages.parent.mkdir(parents=True)
    shutil.move(site, packages)
    (tree / LIB / "bin").mkdir()
    for name, target in (("python3", f"../../../bin/{PYTHON}"), ("python", "python3")):
        (tree / LIB / "bin" / name).symlink_to(target)
    settings = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON[6:]}\n"
    put(tree / LIB / "pyvenv.cfg", settings)
    put(tree / "usr/bin/potluck", (HERE / "potluck").read_text("utf-8"), mode=0o755)
    share(tree / "usr/share", packages)
    put(tree / "usr/lib/systemd/user/potluck.service", (HERE / "potluck.service").read_text("utf-8"))
    put(tree / "usr/share/lintian/overrides/potluck", (HERE / "lintian-overrides").read_text("utf-8"))
    about = tree / "usr/share/doc/potluck"
    put(about / "copyright", COPYRIGHT.format(maintainer=texts.MAINTAINER))
    put_zipped(about / "changelog.gz", texts.debian_changelog(version()))
    put_zipped(tree / "usr/share/man/man1/potluck.1.gz", texts.man_page((ROOT / "docs/commands.md").read_text("utf-8")))


def share(folder: Path, site: Path) -> None:
    """Put in what every desktop on Linux reads: the entry of the menu, icons, and what software centres show.

    Args:
        folder: What is usr/share in the package.
        site: A folder of packages with Qt.
    """
    put(folder / "applications/potluck.desktop", (HERE / "potluck.desktop").read_text("utf-8"))
    put(folder / "metainfo" / texts.METAINFO.name, texts.METAINFO.read_text("utf-8"))
    themed = folder / "icons/hicolor"
    put(themed / "scalable/apps/potluck.svg", icons.PICTURE.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as drawn:
        for size, picture in icons.draw(Path(drawn), site).items():
            place = themed / f"{size}x{size}" / "apps" / "potluck.png"
            place.parent.mkdir(parents=True)
            shutil.copyfile(picture, place)


def put(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file of the package."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def put_zipped(path: Path, text: str) -> None:
    """Write a compressed file of the package, without the time at which that was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def make(out: Path, tree: Path) -> Path:
    """Make the package of a tree that is laid out.

    Args:
        out: Where it comes to lie.
        tree: The root of what is installed.
    """
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files)  # noqa: S324 - dpkg asks for it
    architecture = contents.run(["dpkg", "--print-architecture"]).strip()
    control = CONTROL.format(
        version=version(),
        architecture=architecture,
        kilobytes=sum(-(-path.stat().st_size // 1024) for path in files),
        maintainer=texts.MAINTAINER,
        depends=", ".join(depends(contents.needed_of_system(tree / LIB))),
    )
    put(tree / "DEBIAN/control", control)
    put(tree / "DEBIAN/md5sums", sums)
    for script in ("postinst", "prerm"):
        put(tree / "DEBIAN" / script, (HERE / script).read_text("utf-8"), mode=0o755)
    contents.settle(tree)
    package = out / f"potluck_{version()}_{architecture}.deb"
    options = ("--root-owner-group", "-Zxz", f"-z{LEVEL}", "--threads-max=1")
    contents.run(["dpkg-deb", *options, "--build", str(tree), str(package)])
    return package


def build(out: Path, site: Path) -> Path:
    """Make the package of a folder of packages, which is used up.

    Args:
        out: Where it comes to lie.
        site: The folder of packages.
    """
    with tempfile.TemporaryDirectory(dir=out) as folder:
        tree = Path(folder) / "tree"
        lay_out(tree, site)
        return make(out, tree)


def make_package(out: Path, packages: contents.Packages) -> str:
    """Make the package; returns its name and size."""
    package = build(out, packages.site)
    return f"{package.name}: {package.stat().st_size / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(contents.main(sys.argv[1:], __doc__, make_package))
