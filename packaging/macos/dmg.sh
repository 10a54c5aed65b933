#!/bin/sh
# Makes the disk image of Potluck.app, signs it and has Apple notarise it.
#
#     packaging/macos/dmg.sh dist/Potluck.app OUT.dmg
#
# POTLUCK_IDENTITY: the certificate "Developer ID Application: ..."; without it nothing is signed, and macOS opens the
# application only after a right click. POTLUCK_NOTARY: the profile that `xcrun notarytool store-credentials` has kept.
set -eu
app=$1
image=$2
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${POTLUCK_IDENTITY:-}" ]; then
    # Inside out: codesign --deep is not to be relied on.
    find "$app" -type f \( -name '*.so' -o -name '*.dylib' \) -exec \
        codesign --force --options runtime --timestamp --sign "$POTLUCK_IDENTITY" {} +
    codesign --force --options runtime --timestamp --entitlements "$here/entitlements.plist" \
        --sign "$POTLUCK_IDENTITY" "$app"
    codesign --verify --strict --deep "$app"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -R "$app" "$folder/"
ln -s /Applications "$folder/Applications"
hdiutil create -volname Potluck -srcfolder "$folder" -format ULFO -ov "$image"
if [ -n "${POTLUCK_IDENTITY:-}" ]; then
    codesign --timestamp --sign "$POTLUCK_IDENTITY" "$image"
fi
if [ -n "${POTLUCK_NOTARY:-}" ]; then
    xcrun notarytool submit "$image" --keychain-profile "$POTLUCK_NOTARY" --wait
    xcrun stapler staple "$image"
fi
