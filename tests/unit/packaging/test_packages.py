"""What packages are made of, before anything is built: what package managers read must be what they understand."""

import configparser
import importlib
import json
import os
import plistlib
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.cli.program import parser
from core.system.startup import LABEL, SCHEME, Startup, start_at_login

ROOT = Path(__file__).parents[3]
LINUX = ROOT / "packaging" / "linux"
NAMES = (
    "steps",
    "lock_files",
    "environment",
    "lock",
    "system_libraries",
    "contents",
    "texts",
    "icons",
    "deb",
    "appimage",
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packages of Linux")


@pytest.fixture
def made(monkeypatch):
    """The modules of packaging/ that make packages."""
    for folder in (ROOT / "packaging", LINUX):
        monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    for name in NAMES:
        sys.modules.pop(name, None)


def test_changelog_begins_with_this_version(made):
    assert made.texts.changes()[0].version == made.texts.version()
    assert f"potluck ({made.deb.version()}) stable; urgency=medium\n\n  * " in made.texts.debian_changelog(
        made.deb.version()
    )


def test_changelog_without_this_version_is_refused(made, tmp_path, monkeypatch):
    (tmp_path / "CHANGELOG.md").write_text("## [0.0.1] - 2020-01-01\n- old\n")
    monkeypatch.setattr(made.texts, "ROOT", tmp_path)
    with pytest.raises(made.steps.SetupProblem, match="has no section"):
        made.texts.changes()


def test_man_page_has_every_command(made):
    page = made.texts.man_page((ROOT / "docs/commands.md").read_text("utf-8"))
    for command in ("demo", "startup", "remote"):
        assert f".SH POTLUCK {command.upper()}\n" in page
    assert "|" not in page.replace("no|window", "").split(".SH")[1]
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""


def test_package_depends_on_what_libraries_ask_for(made):
    assert made.deb.depends({"libxcb.so.1", "libX11-xcb.so.1", "libm.so.6"})[2:] == [
        "libc6 (>= 2.34)",
        "libx11-xcb1",
        "libxcb1",
    ]
    with pytest.raises(made.steps.SetupProblem, match=r"libstrange\.so\.1"):
        made.deb.depends({"libstrange.so.1"})


def test_unit_of_the_package_is_the_one_at_login(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if shutil.which("systemctl") is None:
        pytest.skip("without systemd no unit is written")
    start_at_login(Startup.ENGINE, ["/usr/bin/potluck"], tmp_path)
    own = (tmp_path / ".config/systemd/user/potluck.service").read_text("utf-8")
    directives = [line for line in own.splitlines() if not line.startswith("#")]
    assert (LINUX / "potluck.service").read_text("utf-8").splitlines() == directives


def test_menu_entry_opens_links(tmp_path):
    read = configparser.RawConfigParser()
    read.read(LINUX / "potluck.desktop", encoding="utf-8")
    assert read["Desktop Entry"]["MimeType"] == "x-scheme-handler/potluck;"
    if shutil.which("desktop-file-validate"):
        subprocess.run(["desktop-file-validate", LINUX / "potluck.desktop"], check=True)


def test_software_centres_show_what_is_new(made):
    shown = made.texts.METAINFO.read_text("utf-8")
    assert shown == made.texts.metainfo(shown), "python3 packaging/texts.py writes it anew"


@pytest.mark.skipif(shutil.which("appstreamcli") is None, reason="asks AppStream's validator")
def test_software_centres_understand_what_they_show(made):
    command = ["appstreamcli", "validate", "--no-net", made.texts.METAINFO]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("flatpak-builder") is None, reason="asks flatpak-builder")
def test_flatpak_manifest_is_one_that_its_builder_reads(tmp_path):
    command = ["flatpak-builder", "--show-manifest", ROOT / "packaging/flatpak/org.potluck.Potluck.yaml"]
    shown = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)
    assert {"--share=network", "--talk-name=org.freedesktop.ScreenSaver"} <= set(shown["finish-args"])


def test_application_of_macos_opens_links():
    about = plistlib.loads((ROOT / "packaging/macos/Info.plist").read_bytes())
    assert about["CFBundleURLTypes"][0]["CFBundleURLSchemes"] == [SCHEME]
    assert about["CFBundleIdentifier"] == LABEL
    assert plistlib.loads((ROOT / "packaging/macos/entitlements.plist").read_bytes())


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="asks shellcheck")
def test_scripts_of_packages_pass_shellcheck():
    scripts = [
        LINUX / "potluck",
        LINUX / "AppRun",
        LINUX / "postinst",
        LINUX / "prerm",
        ROOT / "packaging/macos/dmg.sh",
    ]
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("makensis") is None, reason="compiles with NSIS")
def test_installer_for_windows_compiles(made, tmp_path):
    import PySide6

    pictures = made.icons.draw(tmp_path / "drawn", Path(PySide6.__file__).parents[1])
    (tmp_path / "potluck.ico").write_bytes(made.icons.ico(pictures))
    (tmp_path / "folder" / "_internal").mkdir(parents=True)
    (tmp_path / "folder" / "potluck.exe").write_text("a program")
    (tmp_path / "folder" / "_internal" / "a.dll").write_text("a library")
    told = {"VERSION": "0.1.0", "FOLDER": "folder", "ICON": "potluck.ico", "OUT": "potluck-0.1.0-setup.exe"}
    told = {name: value if name == "VERSION" else str(tmp_path / value) for name, value in told.items()}
    words = [f"-D{name}={value}" for name, value in told.items()]
    command = ["makensis", "-V2", "-WX", *words, ROOT / "packaging/windows/potluck.nsi"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "potluck-0.1.0-setup.exe").read_bytes()[:2] == b"MZ"


def test_frozen_program_runs_modules_as_python_does(tmp_path):
    (tmp_path / "inner.py").write_text("import sys; print(__name__, sys.argv[1:], hasattr(sys, 'frozen'))")
    path = str(ROOT / "packaging/frozen.py")
    program = f"import sys, runpy; sys.frozen = True; runpy.run_path({path!r}, run_name='__main__')"
    run = [sys.executable, "-c", program, "-m", "inner", "a"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "__main__ ['a'] False\n", done.stderr


def test_frozen_program_leaves_its_children_other_libraries(tmp_path):
    """PyInstaller's loader has set these variables when the program begins."""
    shown = "{name: os.environ.get(name) for name in ('LD_LIBRARY_PATH', '_PYI_ARCHIVE_FILE')}"
    path = str(ROOT / "packaging/frozen.py")
    program = f"import sys, runpy; sys.frozen = True; runpy.run_path({path!r}, run_name='__main__')"
    run = [sys.executable, "-c", program, "-c", f"import os; print({shown})"]
    told = {"_PYI_ARCHIVE_FILE": str(tmp_path / "potluck"), "LD_LIBRARY_PATH": f"{tmp_path / '_internal'}:{tmp_path}"}
    for given, left in ({"LD_LIBRARY_PATH_ORIG": str(tmp_path)}, str(tmp_path)), ({}, None):
        environment = {**os.environ, **told, **given}
        done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
        assert done.stdout == f"{{'LD_LIBRARY_PATH': {left!r}, '_PYI_ARCHIVE_FILE': None}}\n", done.stderr


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="makes a package with dpkg-deb")
def test_package_has_the_same_bytes_twice(made, tmp_path, monkeypatch):
    monkeypatch.setattr(made.deb, "share", lambda folder, site: None)
    packages = []
    for turn, umask in (("one", 0o022), ("two", 0o077)):
        site, out = tmp_path / turn / "site", tmp_path / turn
        site.mkdir(parents=True)
        for name in ("b", "a")[:: 1 if turn == "one" else -1]:
            (site / f"{name}.py").write_text(name)
            (site / f"{name}.py").chmod(0o666 & ~umask)
        made.deb.lay_out(out / "tree", site)
        packages.append(made.deb.make(out, out / "tree").read_bytes())
    assert packages[0] == packages[1]


def program_of_elf(mark: bytes) -> bytes:
    """A program of 64 bits without code: its header, and a table of one empty section after 32 bytes."""
    head = b"\x7fELF\x02\x01\x01\x00" + mark
    return head.ljust(0x28, b"\0") + struct.pack("<QIHHHHHH", 96, 0, 64, 0, 0, 64, 1, 0) + bytes(32 + 64)


@pytest.mark.skipif(shutil.which("unsquashfs") is None, reason="packs with squashfs-tools")
def test_appimage_is_its_runtime_and_what_that_mounts(made, tmp_path):
    (tmp_path / "runtime").write_bytes(program_of_elf(b"AI\x02") + b"the rest of another AppImage")
    (tmp_path / "program" / "_internal").mkdir(parents=True)
    (tmp_path / "program" / "potluck").write_text('#!/bin/sh\necho "$POTLUCK_LAUNCHER" "$@"\n')
    (tmp_path / "program" / "potluck").chmod(0o755)
    runtime = made.appimage.runtime_of(tmp_path / "runtime")
    assert runtime == program_of_elf(b"AI\x02")
    packed = made.appimage.make(tmp_path / "program", runtime, tmp_path).read_bytes()
    assert packed == made.appimage.make(tmp_path / "program", runtime, tmp_path).read_bytes()
    assert packed.startswith(runtime + b"hsqs")
    (tmp_path / "packed").write_bytes(packed[len(runtime) :])
    subprocess.run(["unsquashfs", "-q", "-n", "-d", tmp_path / "root", tmp_path / "packed"], check=True)
    names = {path.name for path in (tmp_path / "root").iterdir()}
    assert names == {"AppRun", "potluck", "potluck.desktop", "potluck.svg", ".DirIcon", "usr"}
    for file, launcher in (
        ({"APPIMAGE": "/home/ada/x", "APPDIR": str(tmp_path / "root")}, "/home/ada/x"),
        ({"APPIMAGE": "/home/ada/terminal", "APPDIR": "/tmp/.mount_terminal"}, str(tmp_path / "root/AppRun")),
        ({"APPIMAGE": ""}, str(tmp_path / "root/AppRun")),
    ):
        words = [tmp_path / "root" / "AppRun", "engine", "a b"]
        done = subprocess.run(words, env={**os.environ, **file}, capture_output=True, text=True, check=True)
        assert done.stdout == f"{launcher} engine a b\n"


def test_file_that_is_not_a_runtime_is_refused(made, tmp_path, capsys):
    for name, text in ("text", b"#!/bin/sh"), ("program", program_of_elf(b"\0\0\0")):
        (tmp_path / name).write_bytes(text)
        assert made.appimage.main([str(tmp_path), str(tmp_path / name), str(tmp_path / "out")]) == 2
        assert "is not the runtime of an AppImage" in capsys.readouterr().err


def test_record_of_a_library_names_only_what_is_left(made, tmp_path, monkeypatch):
    monkeypatch.setattr(made.contents, "trim_qt", lambda pyside: None)
    record = tmp_path / "a-1.dist-info" / "RECORD"
    record.parent.mkdir()
    for name in ("a.py", "tests/test_a.py"):
        (tmp_path / "a" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / name).write_text("")
    lines = [
        "a/a.py,sha256=x,0",
        "a/tests/test_a.py,sha256=y,0",
        "../../bin/a,sha256=THIS-BUILD,9",
        "a-1.dist-info/RECORD,,",
    ]
    record.write_text("\n".join(lines) + "\n")
    made.contents.trim(tmp_path)
    assert record.read_text().splitlines() == [lines[0], lines[3]]


def test_trimmed_qt_keeps_what_is_asked_for(made, tmp_path):
    pyside = tmp_path / "PySide6"
    kept = ("Qt/plugins/platforms/libqoffscreen.so", "Qt/lib/libQt6Core.so.6", "QtCore.abi3.so", "__init__.py")
    for name in (*kept, "QtQuick.abi3.so", "Qt/qml/a.qml", "Qt/lib/libQt6Quick.so.6", "designer"):
        (pyside / name).parent.mkdir(parents=True, exist_ok=True)
        (pyside / name).write_text("")
    made.contents.needed_by = lambda objects: {"libQt6Core.so.6", "libc.so.6"}
    made.contents.trim_qt(pyside)
    assert {str(path.relative_to(pyside)) for path in pyside.rglob("*") if path.is_file()} == set(kept)


def test_icons_are_files_that_systems_read(made, tmp_path):
    import PySide6

    pictures = made.icons.draw(tmp_path, Path(PySide6.__file__).parents[1])
    assert struct.unpack(">II", pictures[48].read_bytes()[16:24]) == (48, 48)
    ico = made.icons.ico(pictures)
    count = struct.unpack("<HHH", ico[:6])[2]
    length, offset = struct.unpack("<II", ico[6 + 16 * count - 8 : 6 + 16 * count])
    assert offset + length == len(ico)
    icns = made.icons.icns(pictures)
    assert struct.unpack(">I", icns[4:8])[0] == len(icns)


def test_container_installs_and_starts_what_there_is(made):
    said = (ROOT / "packaging/container/Containerfile").read_text("utf-8")
    pages = said + "".join((ROOT / "docs" / page).read_text("utf-8") for page in ("servers.md", "organiser.md"))
    kinds = re.findall(r"\bFOR=(\w+)", pages)
    assert {"server", "organiser"} == set(kinds) < set(made.lock_files.SETS)
    command = json.loads(re.findall(r"^CMD (.*)$", said, re.MULTILINE)[0])
    assert parser().parse_args(command).run
