#!/bin/sh
# Before removing for good, not before an upgrade: deb says "remove", rpm 0.
set -e
[ -z "$DPKG_ROOT" ] || exit 0
[ -d /run/systemd/system ] || exit 0
if [ "$1" = remove ] || [ "$1" = 0 ]; then
    systemctl disable --now bellwether.service || true
fi
