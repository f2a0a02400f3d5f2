#!/bin/sh
# Signs Bellwether.app, has Apple notarise it, and packs it: run on a Mac, with
# what `go run ./build package --only macos --binaries FOLDER` laid out.
#
#   sh build/macos/sign.sh dist/unfinished/Bellwether.app 1.2.3 FOLDER
#
# CODESIGN_ID   "Developer ID Application: NAME (TEAM)"
# NOTARY        keychain profile of notarytool (xcrun notarytool store-credentials)
#
# Without NOTARY it is signed and not notarised; CODESIGN_ID=- makes an app for
# this Mac alone.
set -eu
app=$1 version=$2 out=$3
: "${CODESIGN_ID:?names the certificate, as \"Developer ID Application: NAME (TEAM)\"}"

sign() {
    if [ "$CODESIGN_ID" = - ]; then
        codesign --force --options runtime --sign - "$1"
    else
        codesign --force --options runtime --timestamp --sign "$CODESIGN_ID" "$1"
    fi
}
# From the inside out: a signature covers what is within as it then is.
sign "$app/Contents/Helpers/Bellwether Window.app"
sign "$app"
codesign --verify --deep --strict --verbose=2 "$app"

mkdir -p "$out"
zip=$out/bellwether_${version}_macos_universal.zip
if [ -n "${NOTARY:-}" ]; then
    ditto -c -k --keepParent "$app" "$out/notarise.zip"
    xcrun notarytool submit "$out/notarise.zip" --keychain-profile "$NOTARY" --wait
    rm "$out/notarise.zip"
    xcrun stapler staple "$app"
    spctl --assess --type execute --verbose "$app"
else
    echo "Not notarised: elsewhere macOS opens it only after xattr -dr com.apple.quarantine Bellwether.app" >&2
fi
ditto -c -k --keepParent "$app" "$zip"
(cd "$out" && shasum -a 256 "${zip##*/}")
